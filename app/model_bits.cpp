#include "app/model_bits.hpp"

#include <algorithm>

#include "app/host.hpp"
#include "engine/base/rng.hpp"
#include "engine/sim/resident_bits.hpp"
#include "workloads/layouts.hpp"

namespace refit {

namespace {

constexpr std::uint64_t kSampleStream = 0x5A4D;
constexpr std::uint64_t kExpandStream = 0xE4;

}  // namespace

Result<ModelBits> ModelBits::open(const std::filesystem::path& file, const DeltaSpec& delta) {
    REFIT_TRY(architecture, load_architecture(file));
    REFIT_TRY(catalog, make_catalog(architecture));
    ModelBits bits;
    bits.architecture_ = std::move(architecture);
    bits.delta_ = delta;
    bits.catalog_ = std::make_unique<Catalog>(std::move(catalog));
    bits.grid_ = std::make_unique<Grid>(*bits.catalog_);
    bits.units_ = make_units(*bits.grid_, delta.unit_words);
    return bits;
}

Result<std::size_t> ModelBits::add_layout(const std::string& layout) {
    const auto known = std::ranges::find(layouts_, layout, &ShardMap::layout);
    const auto index = static_cast<std::size_t>(known - layouts_.begin());
    if (known == layouts_.end()) {
        REFIT_TRY(map, make_layout(*catalog_, layout));
        layouts_.push_back(std::move(map));
    }
    return index;
}

Status ModelBits::choose(const ChangeSpec& change) {
    const Profile* const profile = find_profile(change.profile);
    if (profile == nullptr)
        return Error{ErrorCode::invalid_input, "is no change profile", change.profile};
    FieldSpec spec;
    spec.profile = *profile;
    spec.changed_per_million = static_cast<std::uint32_t>(change.changed * 1e6 + 0.5);
    spec.seed = change.seed;
    spec.steps = change.steps;
    spec.by_depth = true;
    spec.kinds = change.kinds;
    REFIT_TRY(fields, solve_field(*catalog_, spec));
    fields_ = std::move(fields);
    change_ = change;
    still_.clear();
    for (const FieldTensor& field : fields_) still_.push_back(field.law == FieldLaw::still);
    return Done{};
}

DeltaContext ModelBits::context() const { return {*catalog_, *grid_, digest_salt(change_.seed)}; }

std::vector<const ShardMap*> ModelBits::serving() const {
    std::vector<const ShardMap*> maps;
    for (const ShardMap& map : layouts_) maps.push_back(&map);
    return maps;
}

Result<Measured> ModelBits::measure(Device& device,
                                    const std::string& name,
                                    Words budget,
                                    std::uint64_t refit,
                                    const Between& between) const {
    REFIT_TRY(codec, find_codec(name));
    TileSample sample = draw_sample(*catalog_, *grid_, delta_.unit_words, budget,
                                    draw(change_.seed, kSampleStream, refit), still_);
    const DeltaContext own{*catalog_, sample.grid, digest_salt(change_.seed)};
    BitPass pass(device, own, *codec, serving(), host_now);
    REFIT_TRY(measures, measure_sample(sample, *catalog_, pass, pairs(refit), between));
    BitPassTotals totals = pass.take_totals();
    if (!totals.exact())
        return Error{ErrorCode::mismatch, name + " is not exact: " + totals.first_failure};
    const Estimate payload = estimate_payload(sample, measures, units_.size());
    return Measured{std::move(sample), std::move(measures), payload, std::move(totals),
                    pass.times()};
}

ModelDelta ModelBits::expanded(const Measured& measured,
                               double payload,
                               std::uint64_t refit) const {
    return expand(measured.sample, measured.measures, *grid_,
                  static_cast<std::uint64_t>(std::max(0.0, payload)), delta_,
                  draw(change_.seed, kExpandStream, refit));
}

RecordedDelta ModelBits::anchor(const Measured& full) const {
    RecordedDelta anchor = expanded(full, full.payload.value, 0).delta;
    for (std::size_t u = 0; u < units_.size(); ++u) {
        const Words words = words_of(*grid_, units_[u]);
        anchor.units[u].changed_words = words.count;
        anchor.staged_bytes[u] = size_of(words).count;
    }
    return anchor;
}

RecordedRun ModelBits::recorded(RecordedDelta anchor,
                                std::vector<RecordedDelta> deltas,
                                const std::vector<std::size_t>& layout_of_replica,
                                const std::vector<Bytes>& gather) const {
    RecordedRun run;
    run.catalog = catalog_->id();
    run.grid = grid_->id();
    run.salt = digest_salt(change_.seed);
    run.words = catalog_->words();
    for (const UnitRange unit : units_) run.units.push_back(words_of(*grid_, unit));
    run.anchor = std::move(anchor);
    run.deltas = std::move(deltas);
    for (const std::size_t layout : layout_of_replica) run.replica_gather.push_back(gather[layout]);
    return run;
}

Result<RunResult> time_pass(const RecordedRun& run,
                            const WorldPlan& plan,
                            const std::function<void()>& between_events,
                            const std::function<void(std::span<const Event>)>& on_events) {
    const auto bits = make_recorded_bits(run, plan.delta);
    const auto store = make_memory_store();
    return run_refits(plan, {*bits, *store, between_events, on_events}, make_memory_register);
}

}  // namespace refit
