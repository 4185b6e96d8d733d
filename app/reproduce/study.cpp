#include "app/reproduce/study.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/run_plan.hpp"
#include "scenarios/shipped.hpp"

namespace refit {

Study::Study(const Console& console, Device& device, const Scenario& scenario, Words budget)
    : console_(console),
      device_(device),
      scenario_(scenario),
      budget_(budget),
      plan_(make_plan(scenario, 1, 1)) {
    plan_.faults.clear();
}

Status Study::open(const std::string& model) {
    if (model_ == model) return Done{};
    measured_.clear();
    REFIT_TRY(file, find_architecture(model, {}, console_.data_root));
    REFIT_TRY(bits, ModelBits::open(file, scenario_.delta));
    for (const TreeNode& node : derive_tree(scenario_.topology).nodes) {
        if (node.role != NodeRole::replica) continue;
        const ReplicaSpec& spec = scenario_.topology.sites[node.site].replicas[node.replica];
        REFIT_TRY(first, bits.add_layout(spec.layout));
        REFIT_ASSERT(first == 0);
        break;  // one layout checks the bits; all of them would only repeat it
    }
    open_ = std::move(bits);
    model_ = model;
    return Done{};
}

Result<const StudyDelta*> Study::bits(const std::string& model,
                                      const ChangeSpec& change,
                                      const std::string& codec) {
    REFIT_CHECK(open(model));
    const std::string key =
        fmt::format("{} {:.6f} {} {}", change.profile, change.changed, change.seed, codec);
    const auto known = measured_.find(key);
    if (known != measured_.end()) return &known->second;
    if (measured_.empty() || open_->change() != change) REFIT_CHECK(open_->choose(change));
    REFIT_TRY(measured, open_->measure(device_, codec, budget_, 1,
                                       [this](Words) { console_.check_interrupt(); }));
    sampled_ += measured.sample.words();
    StudyDelta result;
    result.row.model = model;
    result.row.parameters = open_->catalog().words().count;
    result.row.profile = change.profile;
    result.row.asked = change.changed;
    result.row.changed = estimate_changed(measured.sample, measured.measures).value /
                         static_cast<double>(result.row.parameters);
    result.row.codec = codec;
    result.row.payload = measured.payload;
    result.row.bound_bits_per_parameter =
        measured.measures.bound_bits / static_cast<double>(result.row.parameters);
    result.delta = open_->expanded(measured, measured.payload.value, 1).delta;
    result.low = open_->expanded(measured, measured.payload.low, 1).delta;
    result.high = open_->expanded(measured, measured.payload.high, 1).delta;
    if (anchor_.units.size() != result.delta.units.size()) {
        // Every replica has loaded version 0 before the clock starts, whatever that took.
        anchor_ = result.delta;
        anchor_.next_version = sha256(as_byte_span("version 0"));
    }
    return &measured_.emplace(key, std::move(result)).first->second;
}

Result<RunResult> Study::run(const RecordedDelta& delta, const WorldPlan& plan) {
    const std::size_t replicas = derive_tree(plan.topology).nodes.size();
    const RecordedRun run =
        open_->recorded(anchor_, {delta}, std::vector<std::size_t>(replicas, 0), {Bytes{}});
    return time_pass(run, plan, [this] { console_.check_interrupt(); });
}

Result<CodecTime> Study::time(const StudyDelta& delta) {
    CodecTime row = delta.row;
    REFIT_TRY(run, this->run(delta.delta, plan_));
    const RefitTimes& times = run.refits.front();
    row.encode_seconds = to_seconds(times.encode());
    row.wire_seconds = to_seconds(times.wire());
    row.stage_seconds = to_seconds(times.stage());
    row.pause_seconds = to_seconds(times.pause());
    row.seconds.value = row.seconds.low = row.seconds.high = to_seconds(times.seconds());
    if (row.payload.low < row.payload.high) {
        REFIT_TRY(low, this->run(delta.low, plan_));
        REFIT_TRY(high, this->run(delta.high, plan_));
        row.seconds.low = to_seconds(low.refits.front().seconds());
        row.seconds.high = to_seconds(high.refits.front().seconds());
    }
    return row;
}

Result<double> Study::seconds(const StudyDelta& delta, const WorldPlan& plan) {
    REFIT_TRY(run, this->run(delta.delta, plan));
    return to_seconds(run.refits.front().seconds());
}

}  // namespace refit
