// How a command joins the program: one function that adds its flags and says what it runs.
//
// Use      write commands/<name>.cpp with `Command add_<name>(CLI::App&, const Console&)`, declare
//          it in commands/commands.hpp and name it in the one list in main.cpp.
// Errors   a Result error becomes one line `refit: FILE: reason` and its exit code. MachineError
//          and Interrupted pass through: main has the only catch.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Option.hpp>
#include <functional>
#include <string>

#include "app/console.hpp"
#include "engine/base/result.hpp"

namespace refit {

enum class ExitCode : int {
    success = 0,
    machine = 1,    // internal or machine failure: no space, no memory, no device
    usage = 2,      // the command line
    bad_input = 3,  // a file the user has to fix
    mismatch = 4,   // a verification found words that differ
    missed = 5,     // a requirement or published tolerance
    interrupted = 130
};

/// The exit code an error stands for.
ExitCode exit_code(ErrorCode code);

/// A subcommand and what it does once the command line is parsed.
struct Command {
    CLI::App* app;  // owned by the program's parser
    std::function<Result<ExitCode>()> run;
};

using AddCommand = Command (*)(CLI::App& program, const Console& console);

}  // namespace refit
