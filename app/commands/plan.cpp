#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "app/commands/commands.hpp"
#include "app/fraction.hpp"
#include "app/plan/inputs.hpp"
#include "app/plan/measure.hpp"
#include "app/plan/report.hpp"

namespace refit {
namespace {

struct Flags {
    PlanFlags plan;
    bool explain = false;
    bool csv = false;
    std::string measure;
};

Result<ExitCode> run_plan(const Console& console, const Flags& flags) {
    if (!flags.measure.empty()) {
        const auto device = make_cpu_device(0);
        REFIT_CHECK(measure_payloads(console, *device, flags.measure));
        console.document({{"schema", "refit.payloads/1"}, {"output", flags.measure}});
        console.say(fmt::format("wrote {}", flags.measure));
        return ExitCode::success;
    }
    REFIT_TRY(inputs, plan_inputs(flags.plan, console.data_root));
    const RefitPlan plan = plan_refit(std::move(inputs));
    console.document(plan_document(plan, flags.explain));
    for (const std::string& line : flags.csv ? plan_csv(plan) : plan_text(plan)) console.say(line);
    if (flags.csv || !flags.explain) return ExitCode::success;
    const CodecPlan& best = plan.codecs.front();
    console.say(fmt::format("\n{} explained", best.codec));
    for (const std::string& line : explain(plan.inputs, best)) console.say(line);
    return ExitCode::success;
}

void add_prices(CLI::App& command, PlanFlags& plan) {
    command.add_option("--gpus", plan.gpus, "Rollout GPUs of a replica, for money alone")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str();
    command.add_option("--gpu", plan.gpu, "Whose price an idle hour has: refit list prices")
        ->capture_default_str();
    command.add_option("--gpu-price", plan.gpu_price, "$ a GPU-hour, in place of that of --gpu")
        ->check(CLI::Range(0.0001, 1000.0))
        ->type_name("USD");
    command
        .add_option("--egress-price", plan.egress_price,
                    "$ a GB on every link, in place of those of the regions")
        ->check(CLI::Range(0.0, 1000.0))
        ->type_name("USD");
}

void add_places(CLI::App& command, PlanFlags& plan) {
    CLI::Option* topology =
        command.add_option("--topology", plan.topology, "A shipped topology's name or a file");
    CLI::Option* from =
        command.add_option("--from", plan.from, "The trainer's region: refit list regions")
            ->excludes(topology)
            ->type_name("REGION");
    CLI::Option* to = command
                          .add_option("--to", plan.to,
                                      "Rollouts: REGION[,gpus=N][,replicas=K], N all together; "
                                      "repeatable")
                          ->expected(1)
                          ->take_all()
                          ->type_name("REGION");
    from->needs(to);
    to->needs(from);
    command.add_option("--paths", plan.paths, "Pairs of VMs in parallel on every link of regions")
        ->check(CLI::Range(1, 1000))
        ->needs(from)
        ->capture_default_str();
}

void add_change(CLI::App& command, PlanFlags& plan) {
    command.add_option("--model", plan.model, "An architecture (refit list models) or config.json");
    command.add_option("--changed", plan.changed, "Share of words a refit changes: 3%")
        ->transform(CLI::Validator(check_fraction, "FRACTION"));
    command.add_option("--profile", plan.profile,
                       "Which words change: adam, real, uniform, ..., or what refit profile -o "
                       "wrote");
    command.add_option("--step", plan.step, "The trainer's step: 15min")->type_name("TIME");
}

}  // namespace

Command add_plan(CLI::App& program, const Console& console) {
    CLI::App* command = program.add_subcommand(
        "plan", "How long, how idle, how much money: every codec in closed form, nothing is run");
    const auto flags = std::make_shared<Flags>();
    command
        ->add_option("SCENARIO", flags->plan.scenario,
                     "A shipped scenario's name or a .toml file; model by default")
        ->type_name("");
    add_change(*command, flags->plan);
    add_places(*command, flags->plan);
    const std::map<std::string, PlanObjective> objectives{{"time", PlanObjective::time},
                                                          {"idle", PlanObjective::idle},
                                                          {"cost", PlanObjective::cost}};
    command
        ->add_option("--objective", flags->plan.objective,
                     "Best is least time, idle (step at 99 % busy) or cost")
        ->transform(CLI::CheckedTransformer(objectives))
        ->type_name("");
    add_prices(*command, flags->plan);
    command->add_flag("--explain", flags->explain,
                      "The formula of the best codec, with its numbers");
    command->add_flag("--csv", flags->csv, "A line a codec, units in the header");
    CLI::Option* measure =
        command
            ->add_option("--measure", flags->measure,
                         "Measure the table of payloads again, into this file: minutes")
            ->type_name("FILE");
    for (CLI::Option* option : command->get_options())
        if (option != measure && !option->check_name("--help")) measure->excludes(option);
    return {command, [&console, flags] { return run_plan(console, *flags); }};
}

}  // namespace refit
