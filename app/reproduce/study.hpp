// What `refit reproduce` measures and times: deltas of whole models, one codec at a time, over one
// plan in which only the codec differs.
//
// Bits     sampled bit passes (every sampled word checked on one layout); the payload of the model
//          with its 95 % interval.
// Times    time passes of the protocol over those sizes; nothing is added for anyone.
// Cache    the model opened last; what was measured of it by change and codec.
// Errors   unknown model, layout or codec; mismatch; Interrupted passes through.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "app/console.hpp"
#include "app/model_bits.hpp"
#include "scenarios/scenario.hpp"

namespace refit {

/// One codec on one change of one model.
struct CodecTime {
    std::string model;
    std::uint64_t parameters = 0;
    std::string profile;
    double asked = 0;    // share of words to change
    double changed = 0;  // estimate of what did
    std::string codec;
    Estimate payload;  // bytes
    double bound_bits_per_parameter = 0;
    Estimate seconds;  // at the payload and at both ends of its interval
    double encode_seconds = 0;
    double wire_seconds = 0;
    double stage_seconds = 0;
    double pause_seconds = 0;

    double bits_per_parameter() const {
        return payload.value * 8 / static_cast<double>(parameters);
    }
    double bits_per_change() const { return bits_per_parameter() / changed; }
    /// Of the link, by the payload.
    double bits_per_second() const { return payload.value * 8 / seconds.value; }
};

/// A delta of which the sizes are known, to be timed over other plans.
struct StudyDelta {
    CodecTime row;  // without times
    RecordedDelta delta;
    RecordedDelta low;
    RecordedDelta high;
};

class Study {
public:
    /// `scenario`: the plan; its model does not matter. `budget`: words sampled per measurement.
    Study(const Console& console, Device& device, const Scenario& scenario, Words budget);

    /// Measured once; the reference is valid until another model is asked for.
    Result<const StudyDelta*> bits(const std::string& model,
                                   const ChangeSpec& change,
                                   const std::string& codec);
    Result<CodecTime> time(const StudyDelta& delta);
    /// The same delta over another plan; only the estimate is timed.
    Result<double> seconds(const StudyDelta& delta, const WorldPlan& plan);

    const WorldPlan& plan() const { return plan_; }
    Words words_sampled() const { return sampled_; }

private:
    Status open(const std::string& model);
    Result<RunResult> run(const RecordedDelta& delta, const WorldPlan& plan);

    const Console& console_;
    Device& device_;
    const Scenario& scenario_;
    Words budget_;
    WorldPlan plan_;
    Words sampled_;
    std::string model_;
    std::optional<ModelBits> open_;
    std::map<std::string, StudyDelta> measured_;  // by profile, rate and codec
    RecordedDelta anchor_;
};

}  // namespace refit
