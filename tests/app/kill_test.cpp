// kill -9 of a real process at every call that changes what the disk holds, just before it and just
// after: the target shows old, nothing or new, and the next run makes it new and leaves nothing.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "tests/engine/in_place_fixture.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;

/// A way to have the update of a case made by another process.
struct Program {
    std::vector<std::string> command;
};

enum class Ended : std::uint8_t { well, killed, otherwise };

struct Kill {
    long at = 0;  // the call, from 1; 0: none
    bool after = false;
};

Ended run(const Program& program, const Kill& kill, const fs::path& errors) {
    const pid_t child = fork();
    if (child == 0) {
        const int file = open(errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        dup2(file, STDERR_FILENO);
        dup2(file, STDOUT_FILENO);
        setenv("LD_PRELOAD", REFIT_KILL_SHIM, 1);
        setenv("REFIT_KILL_AT", std::to_string(kill.at).c_str(), 1);
        if (kill.after) setenv("REFIT_KILL_AFTER", "1", 1);
        std::vector<char*> arguments;
        for (const std::string& argument : program.command)
            arguments.push_back(const_cast<char*>(argument.c_str()));
        arguments.push_back(nullptr);
        execv(arguments[0], arguments.data());
        _exit(126);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return Ended::well;
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? Ended::killed : Ended::otherwise;
}

void write_files(const fs::path& folder, const Files& files) {
    fs::remove_all(folder);
    fs::create_directories(folder);
    for (const auto& [name, content] : files) write_text_file(folder / name, content);
}

std::string names_of(const Files& files) {
    std::string names;
    for (const auto& [name, content] : files) names += name + " ";
    return names;
}

class Kills {
public:
    Kills(const UpdateCase& files, Program program, const fs::path& folder)
        : case_(files), program_(std::move(program)), folder_(folder) {}

    /// The number of calls of an undisturbed run: K.
    long sweep(bool after) {
        for (long at = 1;; ++at) {
            write_files(folder_, case_.old_files);
            const Ended ended = run(program_, {at, after}, errors());
            if (ended == Ended::well) {
                expect_new();
                return at - 1;
            }
            EXPECT_EQ(ended, Ended::killed) << read_text_file(errors());
            expect_no_mix(at);
            // Killed once more on its way forward, then left alone.
            if (run(program_, {1 + at % 7, !after}, errors()) == Ended::killed) expect_no_mix(at);
            EXPECT_EQ(run(program_, {}, errors()), Ended::well) << read_text_file(errors());
            expect_new();
            if (testing::Test::HasFailure()) {
                ADD_FAILURE() << case_.name << ", killed at call " << at;
                return at;
            }
        }
    }

private:
    fs::path errors() const { return folder_.string() + ".errors"; }

    void expect_no_mix(long at) const {
        const FolderReader reader(case_, folder_);
        EXPECT_NE(reader.shown(), Shown::mix) << at << ": " << names_of(reader.contents());
    }

    void expect_new() const {
        const FolderReader reader(case_, folder_);
        EXPECT_TRUE(reader.holds(case_.new_files)) << names_of(reader.contents());
    }

    const UpdateCase& case_;
    Program program_;
    fs::path folder_;
};

void sweep_both(const UpdateCase& files, const Program& program, const fs::path& folder) {
    Kills kills(files, program, folder);
    const long before = kills.sweep(false);
    const long after = kills.sweep(true);
    EXPECT_EQ(before, after);
    EXPECT_GE(before, 5);
    std::printf("%s: K = %ld\n", files.name.c_str(), before);
}

/// A killed process loses nothing the kernel has: a folder in memory shows the same, in less time.
void work_in_memory() {
    if (::access("/dev/shm", W_OK) == 0) setenv("TMPDIR", "/dev/shm", 1);
}

TEST(Kill, AtEveryDurablePointOfAnUpdateLeavesOldNothingOrNew) {
    work_in_memory();
    const std::vector<UpdateCase> cases = update_cases();
    const auto numbers =
        kSanitized ? std::vector<std::size_t>{0, 2} : std::vector<std::size_t>{0, 1, 2, 5, 7};
    for (const std::size_t number : numbers) {
        const TestFolder folder;
        const fs::path target = folder / "checkpoint";
        sweep_both(cases[number], {{REFIT_KILL_HELPER, std::to_string(number), target.string()}},
                   target);
    }
}

/// Two versions as safetensors files, for the program itself.
UpdateCase real_directory() {
    const auto index = [](const std::string& map) {
        return R"({"metadata":{},"weight_map":{)" + map + "}}";
    };
    const auto changed = [](std::string file) {
        for (std::size_t at = file.size() - 8000; at < file.size(); at += 100) file[at] ^= 1;
        return file;
    };
    const std::string a = small_safetensors("a", 1, 5000);
    const std::string b = small_safetensors("b", 7, 5000);
    const std::string c = small_safetensors("c", 9, 3000);
    UpdateCase files{"refit apply, directory", {}, {}};
    files.old_files = {
        {kIndex, index(R"("a":"a.safetensors","b":"b.safetensors","c":"c.safetensors")")},
        {"a.safetensors", a},
        {"b.safetensors", b},
        {"c.safetensors", c}};
    files.new_files = {
        {kIndex, index(R"("a":"a.safetensors","b":"b.safetensors","c":"d.safetensors")")},
        {"a.safetensors", changed(a)},
        {"b.safetensors", b},
        {"d.safetensors", changed(small_safetensors("c", 10, 3000))}};
    return files;
}

UpdateCase real_file() {
    const UpdateCase whole = real_directory();
    const std::string name = "a.safetensors";
    return {"refit apply, file",
            {{name, whole.old_files.at(name)}},
            {{name, whole.new_files.at(name)}},
            true};
}

TEST(Kill, AtEveryDurablePointOfTheProgramLeavesOldNothingOrNew) {
    work_in_memory();
    for (const UpdateCase& files : {real_file(), real_directory()}) {
        const TestFolder folder;
        write_files(folder / "base", files.old_files);
        write_files(folder / "next", files.new_files);
        const auto path = [&](const char* name) {
            return files.target(folder / name).path.string();
        };
        const std::string delta = (folder / "delta.rfd").string();
        const Program encode{
            {REFIT_PROGRAM, "encode", "--base", path("base"), "--new", path("next"), "-o", delta}};
        ASSERT_EQ(run(encode, {}, folder / "errors"), Ended::well)
            << read_text_file(folder / "errors");
        sweep_both(
            files,
            {{REFIT_PROGRAM, "apply", "--base", path("target"), "--delta", delta, "--in-place"}},
            folder / "target");
    }
}

}  // namespace
}  // namespace refit
