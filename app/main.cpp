// The program: global flags, the one list of commands, the only catch, and the exit codes.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>

#include "app/commands/commands.hpp"
#include "app/usage.hpp"

namespace refit {
namespace {

constexpr AddCommand kCommands[] = {add_run,    add_reproduce, add_plan,  add_profile, add_report,
                                    add_view,   add_compare,   add_bench, add_encode,  add_apply,
                                    add_verify, add_inspect,   add_map,   add_list,    add_doctor};

// A signal handler can reach nothing but a global; this is the only one.
volatile std::sig_atomic_t interrupt_flag = 0;  // NOLINT(*-avoid-non-const-global-variables)

void on_interrupt(int) { interrupt_flag = 1; }

void install_signals() {
    struct sigaction action = {};
    action.sa_handler = on_interrupt;
    // The second Ctrl-C is the user's way out of a command that does not answer the first.
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
    // Whoever started us may have blocked them; one that came meanwhile is delivered now.
    sigset_t handled;
    sigemptyset(&handled);
    sigaddset(&handled, SIGINT);
    sigaddset(&handled, SIGTERM);
    sigprocmask(SIG_UNBLOCK, &handled, nullptr);
    // A file size limit then fails the write like a full disk does, and cleaning up still runs.
    std::signal(SIGXFSZ, SIG_IGN);
}

/// Every shard of up to three checkpoints is open at once; the usual soft limit is 1024.
void allow_many_files() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

bool wants_color() {
    const char* no_color = std::getenv("NO_COLOR");
    const char* terminal = std::getenv("TERM");
    if (no_color != nullptr && *no_color != '\0') return false;
    return isatty(STDOUT_FILENO) == 1 && terminal != nullptr &&
           std::string_view(terminal) != "dumb";
}

int fail(ExitCode code, std::string line) {
    std::replace(line.begin(), line.end(), '\n', ' ');
    std::fprintf(stderr, "refit: %s\n", line.c_str());
    return static_cast<int>(code);
}

/// A result that did not reach stdout is no result.
int finish(ExitCode code) {
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
        return fail(ExitCode::machine, std::string("stdout: ") + std::strerror(errno));
    return static_cast<int>(code);
}

std::vector<Command> set_up(CLI::App& program, Console& console) {
    program.set_version_flag("--version", "refit " REFIT_VERSION);
    program.add_flag("--json", console.json, "Print exactly one JSON document on stdout");
    program.add_flag("--quiet", console.quiet, "No progress and no remarks");
    const std::map<std::string, ProgressMode> modes{{"auto", ProgressMode::automatic},
                                                    {"plain", ProgressMode::plain},
                                                    {"off", ProgressMode::off}};
    program
        .add_option("--progress", console.progress, "auto, plain or off; a bar needs a terminal")
        ->transform(CLI::CheckedTransformer(modes))
        ->type_name("MODE");
    program.fallthrough();
    program.require_subcommand(0, 1);
    std::vector<Command> commands;
    for (const AddCommand add : kCommands) commands.push_back(add(program, console));
    return commands;
}

int run_chosen(const CLI::App& program,
               const std::vector<Command>& commands,
               const Console& console) {
    for (const Command& command : commands) {
        if (!command.app->parsed()) continue;
        const Result<ExitCode> result = command.run();
        if (result.has_value()) return finish(result.value());
        const Error& error = result.error();
        const std::string where = error.where.empty() ? "" : error.where + ": ";
        return fail(exit_code(error.code), where + error.what);
    }
    REFIT_ASSERT(program.get_subcommands().empty());
    console.say(overview(commands));
    return finish(ExitCode::success);
}

int run_program(int argc, char** argv) {
    install_signals();
    allow_many_files();
    Console console(interrupt_flag);
    CLI::App program{"Refit: an RL weight refit end to end, bit-exact, with the time told",
                     "refit"};
    const std::vector<Command> commands = set_up(program, console);
    try {
        program.parse(argc, argv);
        console.color = wants_color();
        console.data_root = find_data_root();
        return run_chosen(program, commands, console);
    } catch (const CLI::Success& success) {
        program.exit(success);
        return finish(ExitCode::success);
    } catch (const CLI::ParseError& error) {
        return fail(ExitCode::usage, usage_error(program, error));
    } catch (const Interrupted&) {
        return fail(ExitCode::interrupted, "interrupted");
    } catch (const std::bad_alloc&) {
        return fail(ExitCode::machine, "out of memory");
    } catch (const std::exception& error) {
        return fail(ExitCode::machine, error.what());
    }
}

}  // namespace
}  // namespace refit

int main(int argc, char** argv) { return refit::run_program(argc, argv); }
