#include "app/commands/commands.hpp"
#include "app/plan/measure.hpp"

namespace refit {

Command add_plan(CLI::App& program, const Console& console) {
    CLI::App* command = program.add_subcommand("plan", "x");
    const auto file = std::make_shared<std::string>();
    command->add_option("--measure", *file, "x")->required();
    return {command, [&console, file]() -> Result<ExitCode> {
                const auto device = make_cpu_device(0);
                REFIT_CHECK(measure_payloads(console, *device, *file));
                return ExitCode::success;
            }};
}

}  // namespace refit
