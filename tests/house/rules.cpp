#include "tests/house/rules.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>

namespace refit::house {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLayers[] = {"kernels",   "engine", "workloads",
                                        "scenarios", "viz",    "app"};
constexpr std::string_view kTopLevel[] = {
    "CMakeLists.txt", "CMakePresets.json", "README.md", "app", "engine",   "kernels",
    "results",        "scenarios",         "tests",     "viz", "workloads"};
constexpr std::size_t kLinesMax = 500;
constexpr std::size_t kColumnsMax = 100;
constexpr std::size_t kFunctionMax = 70;

std::string read(const fs::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::size_t start = 0;
    while (start < text.size()) {
        const std::size_t end = std::min(text.find('\n', start), text.size());
        lines.push_back(text.substr(start, end - start));
        start = end + 1;
    }
    return lines;
}

std::string name_in(const fs::path& root, const fs::path& file) {
    return file.lexically_relative(root).generic_string();
}

bool has_extension(const fs::path& file, std::initializer_list<std::string_view> extensions) {
    const std::string extension = file.extension().string();
    return std::find(extensions.begin(), extensions.end(), extension) != extensions.end();
}

bool is_source(const fs::path& file) {
    return has_extension(file, {".cpp", ".hpp", ".cu", ".cuh", ".h"});
}

/// Every file below the layers and tests, sorted.
std::vector<fs::path> project_files(const fs::path& root) {
    std::vector<fs::path> files;
    std::vector<std::string> folders(std::begin(kLayers), std::end(kLayers));
    folders.insert(folders.end(), {"tests", "results"});
    for (const std::string& folder : folders) {
        if (!fs::is_directory(root / folder)) continue;
        for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
            if (entry.is_regular_file()) files.push_back(entry.path());
        }
    }
    std::sort(files.begin(), files.end());
    return files;
}

/// The layer's height; tests stand above all, unknown folders are -1.
int height(std::string_view folder) {
    if (folder == "tests") return static_cast<int>(std::size(kLayers));
    const auto* found = std::find(std::begin(kLayers), std::end(kLayers), folder);
    return found == std::end(kLayers) ? -1 : static_cast<int>(found - std::begin(kLayers));
}

std::string first_part(const std::string& path) { return path.substr(0, path.find('/')); }

std::string at_line(const std::string& file, std::size_t index, const std::string& what) {
    return file + ":" + std::to_string(index + 1) + ": " + what;
}

std::size_t columns(const std::string& line) {
    return static_cast<std::size_t>(std::count_if(line.begin(), line.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    }));
}

/// Does the text before a brace open a function's body?
bool opens_function(const std::string& header) {
    static const std::regex other(R"(^\s*(namespace|class|struct|enum|union|extern)\b)");
    static const std::regex assignment(R"([^=<>!]=\s*$)");
    return header.find('(') != std::string::npos && !std::regex_search(header, other) &&
           !std::regex_search(header, assignment);
}

/// Functions that are too long, by braces alone.
void check_functions(const std::string& file, const std::string& code, Violations& found) {
    std::size_t line = 0;
    std::size_t depth = 0;
    std::size_t function_depth = 0;  // 0: outside
    std::size_t start = 0;
    std::size_t header_line = 0;
    std::string header;
    for (const char c : code) {
        if (c == '\n') ++line;
        if (c == '{') {
            ++depth;
            if (function_depth == 0 && opens_function(header)) {
                function_depth = depth;
                start = header_line;
            }
        }
        if (c == '}') {
            if (depth > 0 && depth == function_depth) {
                function_depth = 0;
                const std::size_t length = line - start + 1;
                if (length > kFunctionMax)
                    found.push_back(
                        at_line(file, start, "a function of " + std::to_string(length) + " lines"));
            }
            if (depth > 0) --depth;
        }
        if (c == '{' || c == '}' || c == ';') {
            header.clear();
        } else if (!header.empty() || (c != ' ' && c != '\n')) {
            if (header.empty()) header_line = line;
            header += c;
        }
    }
}

}  // namespace

std::vector<fs::path> sources(const fs::path& root) {
    std::vector<fs::path> files = project_files(root);
    std::erase_if(files, [](const fs::path& file) { return !is_source(file); });
    return files;
}

Violations check_includes(const fs::path& root) {
    static const std::regex include(R"re(^\s*#\s*include\s*"([^"]+)")re");
    Violations found;
    for (const fs::path& path : sources(root)) {
        const std::string file = name_in(root, path);
        const int own = height(first_part(file));
        const auto lines = lines_of(read(path));
        for (std::size_t i = 0; i < lines.size(); ++i) {
            std::smatch match;
            if (!std::regex_search(lines[i], match, include)) continue;
            const std::string folder = first_part(match[1]);
            const int other = height(folder);
            if (other < 0 || std::string(match[1]).find('/') == std::string::npos) {
                found.push_back(at_line(file, i, "an include that is not from the root"));
            } else if (other > own) {
                found.push_back(at_line(file, i, first_part(file) + " includes " + folder));
            }
        }
    }
    return found;
}

Violations check_sizes(const fs::path& root) {
    Violations found;
    for (const fs::path& path : sources(root)) {
        const std::string file = name_in(root, path);
        const std::string text = read(path);
        const auto lines = lines_of(text);
        if (lines.size() >= kLinesMax)
            found.push_back(file + ": " + std::to_string(lines.size()) + " lines");
        for (std::size_t i = 0; i < lines.size(); ++i) {
            if (columns(lines[i]) > kColumnsMax)
                found.push_back(at_line(file, i, std::to_string(columns(lines[i])) + " columns"));
        }
        check_functions(file, blank_out(text), found);
    }
    return found;
}

Violations check_build_lists(const fs::path& root) {
    Violations found;
    for (const fs::path& path : sources(root)) {
        if (!has_extension(path, {".cpp", ".cu"})) continue;
        bool listed = false;
        for (fs::path folder = path.parent_path(); !listed; folder = folder.parent_path()) {
            const std::string name = name_in(folder, path);
            std::string text = read(folder / "CMakeLists.txt");
            std::replace_if(
                text.begin(), text.end(), [](char c) { return c == '\n' || c == '(' || c == ')'; },
                ' ');
            listed = (" " + text + " ").find(" " + name + " ") != std::string::npos;
            if (folder == root) break;
        }
        if (!listed) found.push_back(name_in(root, path) + ": in no CMakeLists.txt");
    }
    return found;
}

Violations check_headers(const fs::path& root) {
    Violations found;
    for (const fs::path& path : sources(root)) {
        if (!has_extension(path, {".hpp", ".cuh", ".h"})) continue;
        const std::string text = read(path);
        const std::string file = name_in(root, path);
        if (!text.starts_with("// ")) found.push_back(file + ":1: does not begin with a comment");
        if (text.find("\n#pragma once\n") == std::string::npos)
            found.push_back(file + ":1: has no include guard");
    }
    return found;
}

Violations check_words(const fs::path& root) {
    // Spelled in pieces, so that this file keeps its own rule.
    static const std::regex words(
        "\\b(spar"
        "sity|TO"
        "DO|FIX"
        "ME|XX"
        "X|st"
        "ub|place"
        "holder|not imple"
        "mented)\\b",
        std::regex::icase);
    static const std::regex identifiers(
        "\\b(sr"
        "c|ds"
        "t)(_\\w+)?\\b|_(sr"
        "c|ds"
        "t)\\b");
    Violations found;
    std::vector<fs::path> files = project_files(root);
    if (fs::exists(root / "README.md")) files.push_back(root / "README.md");
    for (const fs::path& path : files) {
        const bool text = is_source(path) || has_extension(path, {".md", ".toml", ".txt", ".sh"});
        if (!text) continue;
        const auto lines = lines_of(read(path));
        for (std::size_t i = 0; i < lines.size(); ++i) {
            std::smatch match;
            if (std::regex_search(lines[i], match, words) ||
                (is_source(path) && std::regex_search(lines[i], match, identifiers)))
                found.push_back(at_line(name_in(root, path), i, "the word " + match.str()));
        }
    }
    return found;
}

Violations check_top_level(const fs::path& root) {
    Violations found;
    for (const auto& entry : fs::directory_iterator(root)) {
        const std::string name = entry.path().filename().string();
        const bool known =
            std::find(std::begin(kTopLevel), std::end(kTopLevel), name) != std::end(kTopLevel);
        const bool ignored = name.starts_with(".") || name.starts_with("build");
        if (!known && !ignored) found.push_back(name + ": not what the customer asked for");
    }
    return found;
}

Violations check_modules(const fs::path& root) {
    static const std::regex row(R"(^\| `([a-z_/]+)` \|)");
    std::set<std::string> listed;
    Violations found;
    for (const std::string& line : lines_of(read(root / "engine" / "ARCHITECTURE.md"))) {
        std::smatch match;
        if (std::regex_search(line, match, row)) listed.insert(match[1]);
    }
    std::set<std::string> folders;
    for (const fs::path& path : sources(root)) {
        const std::string folder = name_in(root, path.parent_path());
        if (first_part(folder) != "tests") folders.insert(folder);
    }
    for (const std::string& folder : folders) {
        if (!listed.contains(folder))
            found.push_back(folder + ": not in the module list of engine/ARCHITECTURE.md");
    }
    for (const std::string& module : listed) {
        if (!folders.contains(module))
            found.push_back("engine/ARCHITECTURE.md: lists " + module + ", which has no sources");
    }
    return found;
}

Violations check_readme_commands(const fs::path& root) {
    if (!fs::exists(root / "README.md")) return {"README.md: missing"};
    std::string tests;
    for (const fs::path& path : project_files(root)) {
        if (first_part(name_in(root, path)) == "tests") tests += read(path);
    }
    tests += read(root / ".ci" / "run");
    Violations found;
    bool shell = false;
    const auto lines = lines_of(read(root / "README.md"));
    for (std::size_t i = 0; i < lines.size(); ++i) {
        if (lines[i].starts_with("```")) {
            shell = lines[i] == "```sh" || lines[i] == "```bash";
            continue;
        }
        std::string command = lines[i].substr(0, lines[i].find(" #"));
        command.erase(command.find_last_not_of(' ') + 1);
        if (!shell || command.empty() || command.starts_with("#")) continue;
        if (tests.find(command) == std::string::npos)
            found.push_back(at_line("README.md", i, "nothing under tests runs: " + command));
    }
    return found;
}

}  // namespace refit::house
