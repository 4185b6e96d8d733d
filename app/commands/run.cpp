#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "app/backend.hpp"
#include "app/commands/commands.hpp"
#include "app/compose.hpp"
#include "app/fraction.hpp"
#include "app/run_folder.hpp"
#include "app/run_request.hpp"
#include "app/run_text.hpp"
#include "scenarios/requirement.hpp"
#include "scenarios/shipped.hpp"

namespace refit {
namespace {

struct RunFlags {
    std::string scenario;  // empty: the shipped one that fits the source
    std::string model;
    std::string preset;
    std::string profile;
    std::string changed;  // a fraction
    std::string sample;   // a fraction
    bool full = false;
    std::string compute;  // a time
    std::string base;
    std::vector<std::string> next;
    std::string topology;
    std::string codec;
    std::uint64_t steps = 0;
    std::uint64_t seed = 0;
    bool seed_given = false;
    BackendFlags backend;
    std::vector<std::string> set;
    std::vector<std::string> require;
    std::string out;
    std::string resume;
};

/// A path is meant as it was typed; in the scenario it would be relative to the file.
std::string as_typed(const std::string& path) { return std::filesystem::absolute(path).string(); }

std::vector<std::pair<std::string, std::string>> overrides_of(const RunFlags& flags) {
    std::vector<std::pair<std::string, std::string>> overrides;
    for (const std::string& text : flags.set) {
        const std::size_t equals = text.find('=');
        overrides.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
    const auto quoted = [](const std::string& text) { return "\"" + text + "\""; };
    if (!flags.model.empty()) {
        const std::string name = is_file(flags.model) ? as_typed(flags.model) : flags.model;
        overrides.emplace_back("source", "{ model = { name = " + quoted(name) + " } }");
        overrides.emplace_back("stands_for_parameters", "0");
    }
    if (!flags.preset.empty()) overrides.emplace_back("source.model.preset", quoted(flags.preset));
    if (is_file(flags.profile))
        overrides.emplace_back("source.model.rates", quoted(as_typed(flags.profile)));
    else if (!flags.profile.empty())
        overrides.emplace_back("source.model.profile", quoted(flags.profile));
    if (!flags.changed.empty()) overrides.emplace_back("source.model.changed", flags.changed);
    if (!flags.sample.empty()) overrides.emplace_back("source.model.sample", flags.sample);
    if (flags.full) overrides.emplace_back("source.model.full", "true");
    if (!flags.compute.empty()) overrides.emplace_back("compute.seconds", quoted(flags.compute));
    if (!flags.topology.empty()) overrides.emplace_back("topology", flags.topology);
    if (!flags.codec.empty()) overrides.emplace_back("delta.codec", flags.codec);
    if (flags.steps > 0) overrides.emplace_back("source.max_refits", std::to_string(flags.steps));
    if (flags.seed_given) overrides.emplace_back("seed", std::to_string(flags.seed));
    return overrides;
}

/// Whoever asks for fewer refits than the scenario has does not mean its later faults.
void drop_later_faults(const RunFlags& flags, const Console& console, Scenario& scenario) {
    std::uint64_t refits = flags.base.empty() ? flags.steps : flags.next.size();
    if (refits == 0) return;
    if (flags.steps > 0) refits = std::min(refits, flags.steps);
    const auto dropped = std::erase_if(
        scenario.faults, [refits](const FaultSpec& fault) { return fault.refit > refits; });
    if (dropped > 0)
        console.note(fmt::format("left out {} of the scenario's faults: they strike after refit {}",
                                 dropped, refits));
}

bool model_flags(const RunFlags& flags) {
    return !flags.model.empty() || !flags.preset.empty() || !flags.profile.empty() ||
           !flags.changed.empty() || !flags.sample.empty() || flags.full;
}

Result<RunRequest> request_of(const RunFlags& flags, const Console& console) {
    if (is_file(flags.profile) && !(flags.changed.empty() && flags.preset.empty()))
        return Error{ErrorCode::invalid_input,
                     "has rates of its own: leave out --changed, --preset", flags.profile};
    if (!flags.resume.empty())
        return load_request(std::filesystem::path(flags.resume) / kRequestFile);
    const std::string fitting = model_flags(flags) ? "model" : "first";
    REFIT_TRY(file,
              find_scenario(flags.scenario.empty() ? fitting : flags.scenario, console.data_root));
    RunRequest request{std::filesystem::absolute(file), overrides_of(flags), flags.require, {}};
    if (!flags.base.empty()) request.versions.emplace_back(flags.base);
    for (const std::string& next : flags.next) request.versions.emplace_back(next);
    return request;
}

Result<Scenario> scenario_of(const RunFlags& flags,
                             const RunRequest& request,
                             const Console& console) {
    REFIT_TRY(scenario, request.scenario(console.data_root));
    drop_later_faults(flags, console, scenario);
    REFIT_CHECK(validate(scenario));
    scenario.require.insert(scenario.require.end(), request.require.begin(), request.require.end());
    return scenario;
}

/// Exit code missed names the first requirement that does not hold.
Result<ExitCode> judge(const Console& console,
                       const std::vector<Requirement>& requirements,
                       const nlohmann::ordered_json& record) {
    ExitCode code = ExitCode::success;
    for (const Requirement& requirement : requirements) {
        REFIT_TRY(value, record_value(record, requirement.figure));
        if (requirement.holds(value)) continue;
        console.note(
            fmt::format("refit: requirement {} missed: it is {:g}", requirement.text, value));
        code = ExitCode::missed;
    }
    if (!record["verify"]["exact"].get<bool>()) code = ExitCode::mismatch;
    return code;
}

Result<ExitCode> run(const Console& console, const RunFlags& flags) {
    const auto start = std::chrono::steady_clock::now();
    REFIT_TRY(request, request_of(flags, console));
    REFIT_TRY(scenario, scenario_of(flags, request, console));
    std::vector<Requirement> requirements;
    for (const std::string& text : scenario.require) {
        REFIT_TRY(requirement, parse_requirement(text));
        requirements.push_back(requirement);
    }
    const bool resumable = scenario.source.model.full;
    REFIT_TRY(folder, flags.resume.empty() ? RunFolder::create(flags.out, resumable)
                                           : RunFolder::reopen(flags.resume));
    if (flags.resume.empty()) folder.write(kRequestFile, to_text(request));
    if (resumable && flags.resume.empty())
        console.note("if it is interrupted, go on with: refit run --resume " +
                     folder.place().string());
    const OpenedDevice opened = open_device(flags.backend, console);
    REFIT_TRY(record, run_scenario(console, scenario, *opened.device, folder.working()));
    record.backend_reason = opened.reason;
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
    record.host.wall_seconds = wall.count();
    for (const StageTime& stage : opened.device->stage_times())
        record.host.device_seconds[std::string(stage.stage)] = stage.seconds;

    const nlohmann::ordered_json json = to_json(record);
    folder.write(kRecordFile, json.dump(2) + "\n");
    folder.keep();
    console.document(json);
    for (const std::string& line : run_text(record)) console.say(line);
    console.note("kept; look again with: refit inspect " + folder.place().string());
    return judge(console, requirements, json);
}

void add_model_flags(CLI::App* command, CLI::Option* base, const std::shared_ptr<RunFlags>& flags) {
    command
        ->add_option("--model", flags->model,
                     "An architecture (refit list models), or a config.json: its words are made")
        ->excludes(base);
    command
        ->add_option("--preset", flags->preset,
                     "A rate and how it came about: refit list presets; other flags change it")
        ->excludes(base);
    command->add_option("--changed", flags->changed, "Share of words a refit changes: 3%")
        ->transform(CLI::Validator(check_fraction, "FRACTION"))
        ->excludes(base);
    command
        ->add_option("--profile", flags->profile,
                     "Which words change: refit list profiles; or a file of refit profile -o")
        ->excludes(base);
    CLI::Option* sample =
        command
            ->add_option("--sample", flags->sample,
                         "Share of the model's words to process; default 128 Mi words")
            ->transform(CLI::Validator(check_fraction, "FRACTION"))
            ->excludes(base);
    command->add_flag("--full", flags->full, "Process every word of the model")
        ->excludes(sample)
        ->excludes(base);
}

/// What was asked of a run is kept with it; only how it is worked on may change.
void add_resume(CLI::App* command, const std::shared_ptr<RunFlags>& flags) {
    CLI::Option* resume =
        command
            ->add_option("--resume", flags->resume,
                         "Go on with an interrupted full run in this folder, to the same record")
            ->type_name("RUN_DIR");
    static constexpr const char* kMayChange[] = {"--help", "--resume", "--backend", "--devices",
                                                 "--threads"};
    for (CLI::Option* option : command->get_options()) {
        if (std::ranges::none_of(kMayChange,
                                 [&](const char* name) { return option->check_name(name); }))
            resume->excludes(option);
    }
}

}  // namespace

Command add_run(CLI::App& program, const Console& console) {
    CLI::App* command = program.add_subcommand(
        "run", "Run refits end to end: a scenario, or your own checkpoints with --base and --new");
    const auto flags = std::make_shared<RunFlags>();
    command
        ->add_option("SCENARIO", flags->scenario,
                     "A shipped scenario's name or a .toml file; first, or model with the flags of "
                     "a model")
        ->type_name("");
    CLI::Option* base = command->add_option("--base", flags->base, "Version 0: a checkpoint");
    CLI::Option* next = command->add_option("--new", flags->next, "The next version; repeatable")
                            ->expected(1)
                            ->take_all();
    base->needs(next);
    next->needs(base);
    add_model_flags(command, base, flags);
    command
        ->add_option("--compute", flags->compute,
                     "Of a model: so long a load of its matrix products here, alone and beside the "
                     "codec: 2s")
        ->type_name("TIME")
        ->excludes(base);
    command->add_option("--topology", flags->topology, "A shipped topology's name or a file");
    command->add_option("--codec", flags->codec, "See refit list codecs");
    command->add_option("--steps", flags->steps, "At most so many refits")
        ->check(CLI::PositiveNumber);
    CLI::Option* seed = command->add_option("--seed", flags->seed, "One seed makes the whole run");
    add_backend_flags(*command, flags->backend);
    command
        ->add_option("--set", flags->set, "Override a scenario key: delta.chunk=2KiB; repeatable")
        ->expected(1)
        ->take_all()
        ->check(CLI::Validator(
            [](const std::string& text) {
                const std::size_t equals = text.find('=');
                const bool good = equals != std::string::npos && equals > 0;
                return good ? std::string() : "takes KEY=VALUE, not '" + text + "'";
            },
            "KEY=VALUE"))
        ->type_name("");
    command->add_option("--require", flags->require, "Exit 5 unless it holds: 'speedup>=12'")
        ->expected(1)
        ->take_all();
    command->add_option("--out", flags->out, "Keep the run here instead of the state folder");
    add_resume(command, flags);
    return {command, [&console, flags, seed] {
                flags->seed_given = seed->count() > 0;
                return run(console, *flags);
            }};
}

}  // namespace refit
