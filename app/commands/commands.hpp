// Every command of the program; main.cpp lists them in the order the help shows.
#pragma once

#include "app/command.hpp"

namespace refit {

Command add_run(CLI::App& program, const Console& console);
Command add_encode(CLI::App& program, const Console& console);
Command add_apply(CLI::App& program, const Console& console);
Command add_reproduce(CLI::App& program, const Console& console);
Command add_plan(CLI::App& program, const Console& console);
Command add_profile(CLI::App& program, const Console& console);
Command add_bench(CLI::App& program, const Console& console);
Command add_report(CLI::App& program, const Console& console);
Command add_view(CLI::App& program, const Console& console);
Command add_compare(CLI::App& program, const Console& console);
Command add_verify(CLI::App& program, const Console& console);
Command add_inspect(CLI::App& program, const Console& console);
Command add_map(CLI::App& program, const Console& console);
Command add_list(CLI::App& program, const Console& console);
Command add_doctor(CLI::App& program, const Console& console);

}  // namespace refit
