// The source tree keeps the house rules, and each rule is known to catch what it is there for.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>

#include "tests/house/rules.hpp"
#include "tests/support/files.hpp"

namespace refit::house {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = REFIT_SOURCE_DIR;

std::string joined(const Violations& found) {
    std::string text;
    for (const std::string& violation : found) text += "\n  " + violation;
    return text;
}

struct Planted {
    const char* file;
    std::string text;
    const char* caught;  // what the rule says; nullptr: the rule must stay silent
};

using Rule = Violations (*)(const fs::path& root);

/// The rule holds for this project, and for each planted tree says exactly what is expected.
void expect_rule(Rule rule, const std::vector<Planted>& plants) {
    EXPECT_TRUE(rule(kRoot).empty()) << joined(rule(kRoot));
    for (const Planted& plant : plants) {
        const TestFolder folder;
        write_text_file(folder / plant.file, plant.text);
        const Violations found = rule(folder.path());
        SCOPED_TRACE(plant.file + (": " + plant.text.substr(0, 80)));
        if (plant.caught == nullptr) {
            EXPECT_TRUE(found.empty()) << joined(found);
            continue;
        }
        ASSERT_EQ(found.size(), 1u) << joined(found);
        EXPECT_NE(found[0].find(plant.caught), std::string::npos) << found[0];
    }
}

std::string function_of(int lines) {
    std::string text = "int f(int a) {\n";
    for (int i = 0; i < lines - 2; ++i) text += "    if (a) { a += 1; }\n";
    return text + "}\n";
}

TEST(House, LayersIncludeOnlyDownwards) {
    expect_rule(
        check_includes,
        {{"kernels/a.hpp", "#include \"engine/b.hpp\"\n", "kernels includes engine"},
         {"engine/net/a.cpp", "#include \"workloads/b.hpp\"\n", "engine includes workloads"},
         {"scenarios/a.cpp", "\n #  include \"app/b.hpp\"\n", "a.cpp:2: scenarios includes"},
         {"app/a.cpp", "#include \"tests/b.hpp\"\n", "app includes tests"},
         {"engine/a.cpp", "#include \"b.hpp\"\n", "not from the root"},
         {"engine/a.cpp", "#include \"../b.hpp\"\n", "not from the root"},
         {"app/a.cpp", "#include \"kernels/b.hpp\"\n#include <engine>\n", nullptr},
         {"tests/a.cpp", "#include \"app/b.hpp\"\n", nullptr}});
}

TEST(House, FilesLinesAndFunctionsAreShort) {
    const std::string long_header =
        "int f(int a,\n      int b) {\n" + std::string(68, '\n') + "}\n";
    const std::string table = "const int kTable[] = {\n" + std::string(90, '\n') + "};\n";
    const std::string type = "class A {\n" + std::string(90, '\n') + "};\n";
    const std::string raw = "const char* a = R\"(\n{" + std::string(90, '\n') + ")\";\n";
    expect_rule(check_sizes,
                {{"app/a.cpp", std::string(499, '\n'), nullptr},
                 {"app/a.cpp", std::string(500, '\n'), "500 lines"},
                 {"app/a.cpp", "// " + std::string(97, 'x') + "\n", nullptr},
                 {"app/a.cpp", "// " + std::string(98, 'x') + "\n", "a.cpp:1: 101 columns"},
                 {"app/a.cpp", function_of(70), nullptr},
                 {"app/a.cpp", function_of(71), "a.cpp:1: a function of 71 lines"},
                 {"app/a.cpp", "namespace a {\n" + function_of(71) + "}\n", "a.cpp:2: a function"},
                 {"app/a.cpp", long_header, "a function of 71 lines"},
                 {"app/a.cpp", table, nullptr},
                 {"app/a.cpp", type, nullptr},
                 {"app/a.cpp", raw, nullptr}});
}

TEST(House, LongLinesAreCountedInCharacters) {
    std::string umlauts = "// ";
    for (int i = 0; i < 97; ++i) umlauts += "\xC3\xA4";
    const TestFolder folder;
    write_text_file(folder / "app/a.cpp", umlauts + "\n");
    EXPECT_TRUE(check_sizes(folder.path()).empty());
}

TEST(House, EverySourceIsBuilt) {
    expect_rule(check_build_lists,
                {{"app/a.cpp", "", "app/a.cpp: in no CMakeLists.txt"}, {"app/a.hpp", "", nullptr}});
    const TestFolder folder;
    write_text_file(folder / "app/a.cpp", "");
    write_text_file(folder / "app/commands/b.cpp", "");
    write_text_file(folder / "app/CMakeLists.txt", "target_sources(x PRIVATE\n aa.cpp)\n");
    EXPECT_EQ(check_build_lists(folder.path()).size(), 2u);
    write_text_file(folder / "app/CMakeLists.txt", "target_sources(x\n a.cpp\n commands/b.cpp)\n");
    EXPECT_TRUE(check_build_lists(folder.path()).empty());
}

TEST(House, HeadersSayWhatTheyAreAndAreGuarded) {
    expect_rule(check_headers, {{"app/a.hpp", "// A.\n#pragma once\n", nullptr},
                                {"app/a.hpp", "\n#pragma once\n", "begin with a comment"},
                                {"app/a.hpp", "// A.\n", "no include guard"}});
}

TEST(House, WordsAreOurs) {
    expect_rule(check_words, {{"app/a.cpp",
                               "// the spar"
                               "sity\n",
                               "a.cpp:1: the word"},
                              {"app/a.cpp",
                               "// TO"
                               "DO: later\n",
                               "the word"},
                              {"app/a.cpp",
                               "// fix"
                               "me\n",
                               "the word"},
                              {"app/a.md",
                               "a place"
                               "holder\n",
                               "the word"},
                              {"app/run.sh",
                               "# a st"
                               "ub\n",
                               "the word"},
                              {"README.md",
                               "not imple"
                               "mented\n",
                               "the word"},
                              {"app/a.cpp",
                               "int sr"
                               "c;\n",
                               "the word"},
                              {"app/a.cpp",
                               "int ds"
                               "t_size;\n",
                               "the word"},
                              {"app/a.cpp",
                               "int a_sr"
                               "c;\n",
                               "the word"},
                              {"app/a.cpp", "int source_of_stubs;\n", nullptr}});
}

TEST(House, TopLevelHoldsWhatWasAskedFor) {
    expect_rule(check_top_level, {{"tools/a.py", "", "tools: not what"},
                                  {"notes.md", "", "notes.md: not what"},
                                  {".clang-format", "", nullptr},
                                  {"build/x", "", nullptr},
                                  {"viz/a.cpp", "", nullptr}});
}

TEST(House, ModuleListAndFoldersAgree) {
    expect_rule(check_modules,
                {{"engine/net/a.cpp", "", "engine/net: not in the module list"},
                 {"engine/ARCHITECTURE.md", "| `engine/gone` | x |\n", "lists engine/gone"},
                 {"tests/net/a.cpp", "", nullptr}});
}

TEST(House, ReadmeCommandsAreRun) {
    expect_rule(check_readme_commands,
                {{"README.md", "```sh\nbuild/refit fly  # high\n```\n", "README.md:2: nothing"},
                 {"README.md", "```sh\n# only words\n\n```\n", nullptr},
                 {"README.md", "```\nbuild/refit fly\n```\n", nullptr},
                 {"app/a.cpp", "", "README.md: missing"}});
    const TestFolder folder;
    write_text_file(folder / "README.md", "```sh\nbuild/refit fly\n```\n");
    write_text_file(folder / "tests/fly.sh", "build/refit fly\n");
    EXPECT_TRUE(check_readme_commands(folder.path()).empty());
}

TEST(House, BlankOutKeepsCodeAndLines) {
    EXPECT_EQ(blank_out("a /* { */ b"), "a         b");
    EXPECT_EQ(blank_out("a // {\nb"), "a     \nb");
    EXPECT_EQ(blank_out("f(\"{\\\"\")"), "f(\"   \")");
    EXPECT_EQ(blank_out("f('{') + 1'000"), "f(' ') + 1'000");
    EXPECT_EQ(blank_out("R\"x({\n)x\";"), "     \n   ;");
}

struct Ran {
    int status;
    std::string output;
};

Ran run(const std::string& command) {
    Ran ran{-1, ""};
    std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
    if (pipe == nullptr) return ran;
    std::array<char, 4096> buffer{};
    while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe))
        ran.output.append(buffer.data(), count);
    ran.status = pclose(pipe);
    return ran;
}

TEST(House, SourcesAreFormatted) {
    const Ran version = run("clang-format --version");
    if (version.status != 0) GTEST_SKIP() << "clang-format is not installed";
    if (version.output.find("version 14.") == std::string::npos)
        GTEST_SKIP() << "clang-format 14 decides the layout; here is " << version.output;
    std::string command = "clang-format --dry-run --Werror --style=file";
    for (const fs::path& file : sources(kRoot)) command += " '" + file.string() + "'";
    const Ran check = run("cd '" + kRoot.string() + "' && " + command);
    EXPECT_EQ(check.status, 0) << check.output.substr(0, 4000);

    const TestFolder folder;
    write_text_file(folder / "a.cpp", "int  a;\n");
    fs::copy_file(kRoot / ".clang-format", folder / ".clang-format");
    EXPECT_NE(run("clang-format --dry-run --Werror '" + (folder / "a.cpp").string() + "'").status,
              0);
}

TEST(House, ScriptsPassShellcheck) {
    if (run("shellcheck --version").status != 0) GTEST_SKIP() << "shellcheck is not installed";
    const Ran check =
        run("cd '" + kRoot.string() +
            "' && shellcheck -x app/run.sh app/packages.sh app/cuda-from-pypi.sh tests/run.sh "
            "tests/gpu_check.sh "
            "tests/tools/other_tools.sh .ci/run");
    EXPECT_EQ(check.status, 0) << check.output;

    const TestFolder folder;
    write_text_file(folder / "a.sh", "#!/bin/sh\nrm $1\n");
    EXPECT_NE(run("shellcheck '" + (folder / "a.sh").string() + "'").status, 0);
}

}  // namespace
}  // namespace refit::house
