#include "tests/app/driver.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace refit {
namespace {

namespace fs = std::filesystem;

/// In the child: never returns.
[[noreturn]] void become_refit(const std::vector<std::string>& arguments,
                               const Start& start,
                               const fs::path& out,
                               const fs::path& err) {
    const int out_file = open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const int err_file = open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const int in_file = open("/dev/null", O_RDONLY);
    dup2(in_file, STDIN_FILENO);
    dup2(out_file, STDOUT_FILENO);
    dup2(err_file, STDERR_FILENO);
    if (chdir(start.folder.c_str()) != 0) _exit(125);
    for (const std::string& entry : start.extra) putenv(const_cast<char*>(entry.c_str()));
    if (start.file_limit > 0) {
        const rlimit limit{start.file_limit, start.file_limit};
        setrlimit(RLIMIT_FSIZE, &limit);
    }
    if (start.interrupted) {
        sigset_t blocked;
        sigemptyset(&blocked);
        sigaddset(&blocked, SIGINT);
        sigprocmask(SIG_BLOCK, &blocked, nullptr);
        raise(SIGINT);
    }
    std::vector<char*> argv;
    argv.push_back(const_cast<char*>("refit"));
    for (const std::string& argument : arguments)
        argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    execv(REFIT_PROGRAM, argv.data());
    _exit(126);
}

}  // namespace

void expect_refused(const Outcome& outcome, int code, const std::string& says) {
    EXPECT_EQ(outcome.code, code) << outcome.err;
    EXPECT_TRUE(outcome.out.empty()) << outcome.out;
    EXPECT_TRUE(outcome.one_line()) << outcome.err;
    EXPECT_NE(outcome.err.find(says), std::string::npos) << outcome.err;
}

std::set<std::string> keys_of(const nlohmann::json& object) {
    std::set<std::string> keys;
    for (const auto& [key, value] : object.items()) keys.insert(key);
    return keys;
}

Outcome run_refit(const std::vector<std::string>& arguments, const Start& start) {
    const TestFolder folder;
    const fs::path out = folder / "out";
    const fs::path err = folder / "err";
    const pid_t child = fork();
    if (child == 0) become_refit(arguments, start, out, err);
    int status = 0;
    rusage usage{};
    wait4(child, &status, 0, &usage);
    Outcome outcome;
    outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
    outcome.out = read_text_file(out);
    outcome.err = read_text_file(err);
    outcome.peak_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
    return outcome;
}

TracePair trace_pair(const TestFolder& folder) {
    const fs::path shared = fs::path(REFIT_SOURCE_DIR) / ".." / "shared" / "traces" / "dense";
    const TracePair whole{shared / "v0" / "model.safetensors", shared / "v1" / "model.safetensors"};
    if (fs::exists(whole.base) && fs::exists(whole.next)) return whole;
    const fs::path shipped = fs::path(REFIT_SOURCE_DIR) / "workloads" / "traces" / "dense";
    TracePair pair{shipped / "v0" / "model.safetensors", folder / "v1.safetensors"};
    fs::path delta;
    for (const auto& entry : fs::directory_iterator(shipped)) {
        const bool first = delta.empty() || entry.path() < delta;
        if (entry.path().extension() == ".rfd" && first) delta = entry.path();
    }
    const Outcome applied = run_refit({"apply", "--base", pair.base.string(), "--delta",
                                       delta.string(), "-o", pair.next.string()});
    EXPECT_EQ(applied.code, 0) << applied.err;
    return pair;
}

}  // namespace refit
