#include "app/plan/inputs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "engine/codec/codec.hpp"
#include "scenarios/nearest.hpp"
#include "scenarios/regions.hpp"
#include "scenarios/scenario.hpp"
#include "scenarios/shipped.hpp"
#include "workloads/architecture.hpp"
#include "workloads/change_profile.hpp"
#include "workloads/payloads.hpp"
#include "workloads/profile.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;

constexpr double kFullBits = 16;

Error bad_flag(const std::string& flag, std::string what) {
    return Error{ErrorCode::invalid_input, std::move(what), flag};
}

Error about(Error error, const std::string& flag) { return in_file(std::move(error), flag); }

std::string quoted(const std::string& text) { return fmt::format("\"{}\"", text); }

/// An architecture by its flag: the nearest name is worth more than all of them.
Result<fs::path> model_file(const std::string& name, const fs::path& data_root) {
    auto file = find_architecture(name, {}, data_root);
    if (file.has_value()) return file;
    const auto known = shipped_architectures(data_root);
    const std::string nearest = nearest_name(name, known);
    if (nearest.empty()) return file;
    return bad_flag("--model", fmt::format("no such file and no such model as {}; did you mean {}?",
                                           name.substr(0, 80), nearest));
}

Result<Scenario> scenario_of(const PlanFlags& flags, const fs::path& data_root) {
    REFIT_TRY(file, find_scenario(flags.scenario.empty() ? "model" : flags.scenario, data_root));
    std::vector<std::pair<std::string, std::string>> overrides;
    if (!flags.model.empty()) {
        REFIT_TRY(model, model_file(flags.model, data_root));
        overrides.emplace_back("source", fmt::format("{{ model = {{ name = {} }} }}",
                                                     quoted(fs::absolute(model).string())));
        overrides.emplace_back("stands_for_parameters", "0");
    }
    if (!flags.topology.empty()) overrides.emplace_back("topology", flags.topology);
    REFIT_TRY(scenario, load_scenario(file, data_root, overrides));
    if (scenario.source.model.name.empty())
        return bad_flag(file.string(),
                        "has no model: name one with --model, see refit list models");
    scenario.faults.clear();  // a plan has none, and those of the file name its own nodes
    if (!flags.step.empty()) {
        auto step = parse_duration(flags.step);
        if (!step.has_value()) return about(step.error(), "--step");
        scenario.loop.step = step.value();
    }
    return scenario;
}

Status add_model(const Scenario& scenario, PlanInputs& inputs) {
    REFIT_TRY(architecture, load_architecture(scenario.source.model.file));
    inputs.model = architecture.name;
    inputs.parameters = totals(architecture).all.parameters;
    return Done{};
}

// --- payloads --------------------------------------------------------------------------------

std::string percent(double fraction) { return fmt::format("{:.4g} %", 100 * fraction); }

/// A pair of checkpoints that somebody has: its codecs at its own rate.
Status add_measured(const PlanFlags& flags, PlanInputs& inputs) {
    if (!flags.changed.empty())
        return bad_flag("--changed",
                        fmt::format("the rate is that of the profile {}", flags.profile));
    REFIT_TRY(profile, load_profile(flags.profile));
    for (const CodecPayload& codec : profile.codecs)
        inputs.codecs.push_back({codec.name, bits_per_parameter(profile, codec)});
    const bool full = std::ranges::any_of(
        inputs.codecs, [](const CodecBits& bits) { return bits.codec == "full"; });
    if (!full) inputs.codecs.push_back({"full", kFullBits});
    inputs.changed = static_cast<double>(profile.changed) / static_cast<double>(profile.words);
    inputs.change =
        fmt::format("{} of words changed from {} to {}, {} step{}", percent(inputs.changed),
                    profile.base, profile.next, profile.steps, profile.steps == 1 ? "" : "s");
    inputs.payloads = fmt::format(
        "bits per parameter measured by {}; bytes extrapolated by "
        "parameters",
        flags.profile);
    return Done{};
}

/// Where the profile's bits at a rate are from.
std::string source_of(const PayloadBits& bits) {
    if (bits.below == bits.above) return fmt::format("measured at {}", percent(bits.below));
    return fmt::format("measured at {} and {}, interpolated", percent(bits.below),
                       percent(bits.above));
}

Status check_profile_name(const std::string& name) {
    if (find_profile(name) != nullptr) return Done{};
    std::vector<std::string> known;
    for (const Profile& profile : profiles()) known.emplace_back(profile.name);
    const std::string nearest = nearest_name(name, known);
    return bad_flag("--profile",
                    nearest.empty()
                        ? fmt::format("no such file and no such profile as {}; write one of {}",
                                      name.substr(0, 80), fmt::join(known, ", "))
                        : fmt::format("no such file and no such profile as {}; did you mean {}?",
                                      name.substr(0, 80), nearest));
}

Status add_made_up(const PlanFlags& flags,
                   const ModelSpec& model,
                   const fs::path& data_root,
                   PlanInputs& inputs) {
    const std::string name = flags.profile.empty() ? model.profile : flags.profile;
    REFIT_CHECK(check_profile_name(name));
    inputs.changed = model.changed;
    if (!flags.changed.empty())
        std::from_chars(flags.changed.data(), flags.changed.data() + flags.changed.size(),
                        inputs.changed);
    REFIT_TRY(table, load_payloads(data_root / "workloads" / "payloads.csv"));
    for (const auto& codec : builtin_codecs()) {
        auto bits = table.find(name, std::string(codec->name()), inputs.changed);
        if (!bits.has_value())
            return about(bits.error(), table.codecs(name).empty() ? "--profile" : "--changed");
        inputs.codecs.push_back({std::string(codec->name()), bits.value().bits_per_parameter});
        inputs.payloads = fmt::format(
            "bits per parameter {} on {}; bytes extrapolated by "
            "parameters",
            source_of(bits.value()), kPayloadModel);
    }
    inputs.change = fmt::format("{} of words changed, profile {}", percent(inputs.changed), name);
    return Done{};
}

// --- topology and prices ---------------------------------------------------------------------

/// The --to flags, and their GPUs added up.
Result<std::vector<RegionTarget>> targets_of(const PlanFlags& flags, std::uint64_t& gpus) {
    std::vector<RegionTarget> targets;
    gpus = 0;
    for (const std::string& text : flags.to) {
        auto target = parse_region_target(text);
        if (!target.has_value()) return about(target.error(), fmt::format("--to {}", text));
        const RegionTarget& parsed = target.value();
        gpus += parsed.gpus > 0 ? parsed.gpus : std::uint64_t{flags.gpus} * parsed.replicas;
        targets.push_back(parsed);
    }
    return targets;
}

Status add_regions(const PlanFlags& flags,
                   const Regions& regions,
                   const fs::path& data_root,
                   PlanInputs& inputs) {
    REFIT_TRY(targets, targets_of(flags, inputs.rollout_gpus));
    REFIT_TRY(defaults_file, find_topology("one-link", {}, data_root));
    REFIT_TRY(defaults, load_topology(defaults_file));
    auto topology = region_topology(regions, flags.from, targets, flags.paths, defaults);
    if (!topology.has_value()) return about(topology.error(), "--from, --to");
    inputs.topology = std::move(topology).value();
    return Done{};
}

std::uint64_t gpus_of(const Topology& topology, std::uint32_t per_replica) {
    std::uint64_t gpus = 0;
    for (const Site& site : topology.sites) gpus += site.replicas.size() * per_replica;
    return gpus;
}

Status add_prices(const PlanFlags& flags, const Regions& regions, PlanInputs& inputs) {
    const bool needed = flags.objective == PlanObjective::cost;
    for (Crossing& crossing : inputs.crossings) {
        const RegionLink* link = regions.find_link(crossing.from, crossing.to);
        if (flags.egress_price >= 0) {
            crossing.usd_per_gb = flags.egress_price;
        } else if (link != nullptr) {
            crossing.usd_per_gb = link->usd_per_gb;
        }
        if (needed && !crossing.usd_per_gb) {
            return bad_flag("--objective cost",
                            fmt::format("nobody has a price for {} to {}; give --egress-price",
                                        crossing.from, crossing.to));
        }
    }
    inputs.gpu = flags.gpu;
    if (flags.gpu_price > 0) {
        inputs.usd_per_gpu_hour = flags.gpu_price;
        inputs.gpu_price_source = "--gpu-price";
    } else if (const GpuPrice* price = regions.find_gpu(flags.gpu); price != nullptr) {
        inputs.usd_per_gpu_hour = price->usd_per_hour;
        inputs.gpu_price_source = price->source;
    } else if (needed) {
        std::vector<std::string> known;
        for (const GpuPrice& default_price : regions.gpu_defaults)
            known.push_back(default_price.gpu);
        return bad_flag("--gpu",
                        fmt::format("there is no price of {}, only of {}; give --gpu-price",
                                    flags.gpu.substr(0, 40), fmt::join(known, ", ")));
    }
    return Done{};
}

}  // namespace

Result<PlanInputs> plan_inputs(const PlanFlags& flags, const fs::path& data_root) {
    PlanInputs inputs;
    REFIT_TRY(scenario, scenario_of(flags, data_root));
    REFIT_TRY(regions, load_regions(regions_file(data_root)));
    if (!flags.from.empty()) {
        REFIT_CHECK(add_regions(flags, regions, data_root, inputs));
        scenario.topology = inputs.topology;
    } else {
        inputs.topology = scenario.topology;
        inputs.rollout_gpus = gpus_of(inputs.topology, flags.gpus);
    }
    REFIT_CHECK(validate(scenario));
    inputs.delta = scenario.delta;
    inputs.transport = scenario.transport;
    inputs.fleet = scenario.fleet;
    inputs.loop = scenario.loop;
    inputs.objective = flags.objective;
    REFIT_CHECK(add_model(scenario, inputs));
    if (!flags.profile.empty() && find_profile(flags.profile) == nullptr &&
        is_file(flags.profile)) {
        REFIT_CHECK(add_measured(flags, inputs));
    } else {
        REFIT_CHECK(add_made_up(flags, scenario.source.model, data_root, inputs));
    }
    inputs.crossings = crossings(inputs.topology);
    REFIT_CHECK(add_prices(flags, regions, inputs));
    return inputs;
}

}  // namespace refit
