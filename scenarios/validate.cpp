#include "engine/codec/delta.hpp"
#include "engine/net/relay_tree.hpp"
#include "scenarios/compute_spec.hpp"
#include "scenarios/requirement.hpp"
#include "scenarios/scenario.hpp"
#include "workloads/field_rate.hpp"
#include "workloads/layouts.hpp"
#include "workloads/profile.hpp"

namespace refit {
namespace {

Error invalid(const std::string& key, const std::string& reason) {
    return Error{ErrorCode::invalid_input, key + ": " + reason};
}

Status check_layout(const std::string& key, const std::string& layout) {
    Status status = check_layout_name(layout);
    if (!status.has_value()) return invalid(key, status.error().what);
    return Done{};
}

Status check_model(const ModelSpec& model) {
    const Profile* profile = find_profile(model.profile);
    if (profile == nullptr) {
        std::string known;
        for (const Profile& p : profiles())
            known += (known.empty() ? "" : ", ") + std::string(p.name);
        return invalid("source.model.profile",
                       "\"" + model.profile + "\" is unknown; write one of " + known);
    }
    if (!(model.changed >= 0 && model.changed <= 1))
        return invalid("source.model.changed", "must be 0 to 1");
    const Status rate = check_rate(*profile, static_cast<std::uint32_t>(model.changed * 1e6 + 0.5));
    if (!rate.has_value()) return invalid("source.model.changed", rate.error().what);
    const bool steps = profile->law == FieldLaw::drift || profile->law == FieldLaw::fresh;
    if (model.steps > kRateStepsMax)
        return invalid("source.model.steps", "must be at most " + std::to_string(kRateStepsMax));
    if (model.steps > 1 && !steps)
        return invalid("source.model.steps", "only adam, moe and real know steps");
    if (!(model.sample >= 0 && model.sample <= 1))
        return invalid("source.model.sample", "must be 0 to 1");
    return Done{};
}

Status check_source(const SourceSpec& source) {
    if (!source.model.name.empty()) return check_model(source.model);
    if (source.trace.empty() && source.versions.size() < 2)
        return invalid("source.versions", "a refit needs a base and at least one next version");
    return Done{};
}

Status check_delta(const DeltaSpec& delta) {
    auto codec = find_codec(delta.codec);
    if (!codec.has_value()) return invalid("delta.codec", codec.error().what);
    if (delta.chunk < Bytes{64} || delta.chunk > 1_GiB)
        return invalid("delta.chunk", "must be 64 B to 1 GiB");
    if (delta.chunks_per_part == 0 || delta.chunks_per_part > 4096)
        return invalid("delta.chunks_per_part", "must be 1 to 4096");
    if (delta.unit_words == 0) return invalid("delta.unit_words", "must be at least 1");
    const auto chunk = static_cast<std::uint32_t>(delta.chunk.count);
    auto size = check_part_size(delta.unit_words, chunk, delta.chunks_per_part);
    if (!size.has_value()) return invalid("delta", size.error().what);
    return Done{};
}

Status check_transport(const TransportSpec& transport) {
    if (transport.window == 0) return invalid("transport.window", "must be at least 1");
    if (!(transport.goodput > 0 && transport.goodput <= 1))
        return invalid("transport.goodput", "must be over 0 and at most 1");
    return Done{};
}

Status check_fleet(const Fleet& fleet) {
    const std::pair<const char*, const DeclaredRate*> rates[] = {{"encode", &fleet.encode},
                                                                 {"decode", &fleet.decode},
                                                                 {"overwrite", &fleet.overwrite},
                                                                 {"digest", &fleet.digest}};
    for (const auto& [name, rate] : rates) {
        if (rate->value.count == 0)
            return invalid("fleet." + std::string(name) + ".value", "must be over 0");
        if (rate->source.empty())
            return invalid("fleet." + std::string(name) + ".source", "must say who says so");
    }
    if (fleet.drain_source.empty()) return invalid("fleet.drain.source", "must say who says so");
    return Done{};
}

Status check_loop(const Loop& loop) {
    if (loop.shape == LoopShape::synchronous && loop.generation.count == 0)
        return invalid("loop.generation", "a synchronous loop needs the rollout time per version");
    if (loop.shape == LoopShape::asynchronous && loop.generation.count == 0)
        return invalid("loop.generation", "an asynchronous loop needs the rollout time per batch");
    if (loop.shape == LoopShape::asynchronous && loop.step.count == 0)
        return invalid("loop.step", "an asynchronous loop needs the trainer's time per step");
    return Done{};
}

Status check_fault(const Scenario& scenario, const RelayTree& tree, std::size_t index) {
    const FaultSpec& fault = scenario.faults[index];
    const std::string key = "fault[" + std::to_string(index) + "]";
    if (fault.at_percent < 1 || fault.at_percent > 99)
        return invalid(key + ".at_percent", "must be 1 to 99");
    if (fault.refit == 0) return invalid(key + ".refit", "1 is the first refit");
    std::uint64_t refits = scenario.source.max_refits;
    if (refits == 0 && !scenario.source.versions.empty())
        refits = scenario.source.versions.size() - 1;
    if (refits > 0 && fault.refit > refits) {
        return invalid(key + ".refit", "refit " + std::to_string(fault.refit) +
                                           " never happens: the run has " + std::to_string(refits));
    }
    const NodeId node = tree.find(fault.node);
    if (node == kNoNode) {
        std::string names;
        for (const TreeNode& known : tree.nodes) names += (names.empty() ? "" : ", ") + known.name;
        return invalid(key + ".node", "no node is named " + fault.node + " (" + names + ")");
    }
    const NodeId parent = tree.nodes[node].parent;
    if (parent == kNoNode) return invalid(key + ".node", "no edge leads into the source");
    if (fault.kind == FaultKind::cut && tree.nodes[parent].site == tree.nodes[node].site)
        return invalid(key + ".node", "the edge into " + fault.node + " crosses no WAN link");
    if (fault.kind == FaultKind::kill && tree.nodes[node].role == NodeRole::replica)
        return invalid(key + ".node",
                       "the group waits for its members: only a relay can be killed");
    if (fault.kind == FaultKind::kill && fault.duration.count > 0)
        return invalid(key + ".duration", "a killed node never returns; write crash");
    if (fault.kind != FaultKind::kill && fault.duration.count == 0)
        return invalid(key + ".duration", "a crash or cut needs one");
    return Done{};
}

Status check_all(const Scenario& scenario) {
    REFIT_CHECK(check_source(scenario.source));
    if (!scenario.source.model.name.empty() && scenario.stands_for_parameters > 0)
        return invalid("stands_for_parameters", "a model's times stand for the model itself");
    REFIT_CHECK(check_delta(scenario.delta));
    REFIT_CHECK(check_transport(scenario.transport));
    REFIT_CHECK(check_fleet(scenario.fleet));
    REFIT_CHECK(check_compute(scenario));
    REFIT_CHECK(check_loop(scenario.loop));
    auto topology = validate(scenario.topology);
    if (!topology.has_value()) return invalid("topology", topology.error().what);
    REFIT_CHECK(check_layout("trainer_layout", scenario.trainer_layout));
    for (const Site& site : scenario.topology.sites) {
        for (const ReplicaSpec& replica : site.replicas)
            REFIT_CHECK(check_layout("topology: " + site.name + "/" + replica.name + ".layout",
                                     replica.layout));
    }
    const RelayTree tree = derive_tree(scenario.topology);
    for (std::size_t i = 0; i < scenario.faults.size(); ++i)
        REFIT_CHECK(check_fault(scenario, tree, i));
    for (const std::string& text : scenario.require) {
        auto requirement = parse_requirement(text);
        if (!requirement.has_value()) return invalid("require", requirement.error().what);
    }
    return Done{};
}

}  // namespace

Status check_layout_name(const std::string& layout) {
    // The rules of a layout's name do not depend on the model, so a small one will do.
    REFIT_TRY(catalog, Catalog::make({TensorSpec{"w", WordType::bf16, {4096, 4096}}}));
    REFIT_TRY(map, make_layout(catalog, layout));
    REFIT_ASSERT(!map.ranks().empty());
    return Done{};
}

Status validate(const Scenario& scenario) {
    Status status = check_all(scenario);
    if (!status.has_value()) return in_file(status.error(), scenario.file.string());
    return Done{};
}

}  // namespace refit
