// The bits of a model that no memory holds: its tiles, its weight field, what its layouts hold,
// and what codecs make of its deltas. What runs, tables and plans of models are composed from.
//
// Cost     making one takes about a second at 1T; choosing another change profile takes less.
// Errors   as load_architecture(), make_catalog(), layouts. measure(): mismatch if a codec is not
//          exact on the sample.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/emulate/sample.hpp"
#include "engine/refit.hpp"
#include "workloads/architecture.hpp"
#include "workloads/field_pairs.hpp"

namespace refit {

/// Which words change.
struct ChangeSpec {
    std::string profile = "adam";
    double changed = 0.03;  // per refit
    std::uint64_t seed = 1;
    std::uint32_t steps = 0;  // optimizer steps per refit; 0: the profile's own
    KindRates kinds = {};     // over `changed`

    friend bool operator==(const ChangeSpec&, const ChangeSpec&) = default;
};

/// One codec on a sample of one refit.
struct Measured {
    TileSample sample;
    SampleMeasures measures;
    Estimate payload;
    BitPassTotals totals;
    BitPassTimes times;
};

class ModelBits {
public:
    using Between = std::function<void(Words)>;

    /// An architecture file or a config.json.
    static Result<ModelBits> open(const std::filesystem::path& file, const DeltaSpec& delta);

    /// A layout of the fleet, each only once; its index among layouts().
    Result<std::size_t> add_layout(const std::string& layout);
    /// Errors: an unknown profile, a rate that it does not reach on this model.
    Status choose(const ChangeSpec& change);

    const Architecture& architecture() const { return architecture_; }
    const Catalog& catalog() const { return *catalog_; }
    const Grid& grid() const { return *grid_; }
    const std::vector<ShardMap>& layouts() const { return layouts_; }
    const ChangeSpec& change() const { return change_; }
    DeltaContext context() const;
    /// The versions before and after a refit; 1 is the first.
    FieldPairs pairs(std::uint64_t refit) const { return {fields_, {refit - 1, 1}}; }
    std::vector<const ShardMap*> serving() const;

    /// The sample does not depend on the codec. Every layout is served and checked.
    Result<Measured> measure(Device& device,
                             const std::string& codec,
                             Words budget,
                             std::uint64_t refit,
                             const Between& between) const;

    /// The delta of the whole model, of so many bytes.
    ModelDelta expanded(const Measured& measured, double payload, std::uint64_t refit) const;
    /// A whole checkpoint as a delta from nothing.
    RecordedDelta anchor(const Measured& full) const;
    /// `gather`: what each layout gathers inside a replica.
    RecordedRun recorded(RecordedDelta anchor,
                         std::vector<RecordedDelta> deltas,
                         const std::vector<std::size_t>& layout_of_replica,
                         const std::vector<Bytes>& gather) const;

private:
    ModelBits() = default;

    Architecture architecture_;
    DeltaSpec delta_;
    std::unique_ptr<Catalog> catalog_;
    std::unique_ptr<Grid> grid_;
    std::vector<UnitRange> units_;
    std::vector<ShardMap> layouts_;
    ChangeSpec change_;
    std::vector<FieldTensor> fields_;
    std::vector<bool> still_;  // by tensor
};

/// The protocol over recorded sizes; store and register in memory.
Result<RunResult> time_pass(const RecordedRun& run,
                            const WorldPlan& plan,
                            const std::function<void()>& between_events,
                            const std::function<void(std::span<const Event>)>& on_events = {});

}  // namespace refit
