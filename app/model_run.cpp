#include "app/model_run.hpp"

#include <algorithm>
#include <chrono>

#include "app/progress.hpp"
#include "app/run_plan.hpp"
#include "engine/base/rng.hpp"
#include "engine/emulate/full_pass.hpp"
#include "engine/emulate/sample.hpp"
#include "engine/sim/resident_bits.hpp"
#include "workloads/architecture.hpp"
#include "workloads/field_pairs.hpp"
#include "workloads/layouts.hpp"

namespace refit {

namespace {

constexpr const char* kBaselines[] = {"full", "full-zstd"};
constexpr std::uint64_t kBaselineWords = std::uint64_t{32} << 20;  // two tiles a stratum are more
constexpr std::uint64_t kSampleWords = std::uint64_t{128} << 20;
constexpr std::uint64_t kSampleStream = 0x5A4D;
constexpr std::uint64_t kExpandStream = 0xE4;

Nanoseconds steady_now() {
    return Nanoseconds{std::chrono::duration_cast<std::chrono::nanoseconds>(
                           std::chrono::steady_clock::now().time_since_epoch())
                           .count()};
}

/// Of one codec on one refit.
struct Measured {
    TileSample sample;
    SampleMeasures measures;
    Estimate payload;
    BitPassTotals totals;
    BitPassTimes times;
};

class ModelRun {
public:
    ModelRun(const Console& console, const Scenario& scenario, Device& device)
        : console_(console), scenario_(scenario), device_(device) {}

    Status prepare();
    Result<RunRecord> run(const std::filesystem::path& journal);

private:
    std::uint64_t refits() const { return std::max<std::uint64_t>(1, scenario_.source.max_refits); }
    Words sample_budget() const {
        const double share = scenario_.source.model.sample;
        if (share == 0) return std::min(Words{kSampleWords}, catalog_->words());
        return Words{
            static_cast<std::uint64_t>(share * static_cast<double>(catalog_->words().count))};
    }
    Status add_layout(const std::string& name, const std::string& layout);
    DeltaContext context() const { return {*catalog_, *grid_, digest_salt(scenario_.seed)}; }
    FieldPairs pairs(std::uint64_t refit) const { return {fields_, {refit - 1, 1}}; }
    Result<Measured> measure(const std::string& codec, Words budget, std::uint64_t refit);
    Result<RecordedDelta> full_pass(const std::filesystem::path& journal, std::uint64_t refit);
    Hash256 pass_identity(std::uint64_t refit) const;
    RecordedDelta expanded(const Measured& measured, double payload, std::uint64_t refit) const;
    RecordedRun recorded(std::vector<RecordedDelta> deltas) const;
    Result<RunResult> time_pass(const RecordedRun& run, const WorldPlan& plan) const;
    Result<BaselineRecord> baseline(const Measured& measured, const std::string& codec) const;
    Status refit_bits(std::uint64_t refit, const std::filesystem::path& journal);
    Status finish();
    void add_times(const BitPassTimes& times);

    const Console& console_;
    const Scenario& scenario_;
    Device& device_;
    std::optional<Catalog> catalog_;
    std::unique_ptr<Grid> grid_;
    std::vector<FieldTensor> fields_;
    std::vector<ShardMap> serving_;         // each layout once
    std::vector<std::size_t> replica_map_;  // by replica, in tree order
    std::optional<Progress> progress_;
    RunRecord record_;
    RecordedDelta anchor_;
    std::vector<RecordedDelta> deltas_;
    std::vector<RecordedDelta> low_, high_;  // of a sampled run
    Bytes trainer_gather_;
    std::vector<Bytes> gather_;  // by layout
};

Status ModelRun::add_layout(const std::string& name, const std::string& layout) {
    const auto known = std::ranges::find(serving_, layout, &ShardMap::layout);
    replica_map_.push_back(static_cast<std::size_t>(known - serving_.begin()));
    if (known == serving_.end()) {
        REFIT_TRY(map, make_layout(*catalog_, layout));
        serving_.push_back(std::move(map));
    }
    const ShardMap& map = serving_[replica_map_.back()];
    const auto same = std::ranges::find(record_.maps, layout, &MapRecord::layout);
    if (same != record_.maps.end()) {
        MapRecord again = *same;
        again.name = name;
        record_.maps.push_back(again);
        return Done{};
    }
    REFIT_TRY(coverage, map.prove(*catalog_));
    record_.maps.push_back({name, layout, map.ranks().size(), coverage.boxes, coverage.held_words,
                            coverage.copies_max});
    return Done{};
}

Status ModelRun::prepare() {
    const ModelSpec& model = scenario_.source.model;
    const bool config = model.file.extension() == ".json";
    REFIT_TRY(architecture,
              config ? architecture_of_config(model.file) : load_architecture(model.file));
    REFIT_TRY(catalog, make_catalog(architecture));
    catalog_ = std::move(catalog);
    grid_ = std::make_unique<Grid>(*catalog_);
    const Profile* profile = find_profile(model.profile);
    REFIT_ASSERT(profile != nullptr);  // the scenario was validated
    const auto per_million = static_cast<std::uint32_t>(model.changed * 1e6 + 0.5);
    fields_ = make_field(*catalog_, *profile, per_million, scenario_.seed);

    describe_run(scenario_, device_, 1, record_);
    record_.model_name = architecture.name;
    record_.model_parameters = record_.stands_for_parameters = catalog_->words().count;
    record_.passes.emplace();
    for (const TreeNode& node : derive_tree(scenario_.topology).nodes) {
        if (node.role != NodeRole::replica) continue;
        const ReplicaSpec& spec = scenario_.topology.sites[node.site].replicas[node.replica];
        REFIT_CHECK(add_layout(node.name, spec.layout));
    }
    for (const ShardMap& map : serving_) record_.passes->checked_layouts.push_back(map.layout());
    gather_.resize(serving_.size());
    return Done{};
}

Result<Measured> ModelRun::measure(const std::string& name, Words budget, std::uint64_t refit) {
    REFIT_TRY(codec, find_codec(name));
    TileSample sample = draw_sample(*catalog_, *grid_, scenario_.delta.unit_words, budget,
                                    draw(scenario_.seed, kSampleStream, refit));
    const DeltaContext own{*catalog_, sample.grid, digest_salt(scenario_.seed)};
    std::vector<const ShardMap*> serving;
    for (const ShardMap& map : serving_) serving.push_back(&map);
    BitPass pass(device_, own, *codec, serving, steady_now);
    REFIT_TRY(measures, measure_sample(sample, *catalog_, pass, pairs(refit), [this](Words words) {
                  progress_->advance(size_of(words));
              }));
    BitPassTotals totals = pass.take_totals();
    if (!totals.exact())
        return Error{ErrorCode::mismatch, name + " is not exact: " + totals.first_failure};
    const std::size_t units = make_units(*grid_, scenario_.delta.unit_words).size();
    const Estimate payload = estimate_payload(sample, measures, units);
    return Measured{std::move(sample), std::move(measures), payload, std::move(totals),
                    pass.times()};
}

/// Everything the recorded words follow from: a journal of anything else is not ours.
Hash256 ModelRun::pass_identity(std::uint64_t refit) const {
    ByteWriter writer;
    writer.write_text("refit.pass/1");
    writer.write(catalog_->id());
    writer.write(grid_->id());
    writer.write_text(scenario_.delta.codec);
    writer.write_text(scenario_.source.model.profile);
    for (const std::uint64_t n :
         {scenario_.seed, refit, scenario_.delta.unit_words, scenario_.delta.chunk.count,
          std::uint64_t{scenario_.delta.chunks_per_part},
          static_cast<std::uint64_t>(scenario_.source.model.changed * 1e6 + 0.5)})
        writer.write(n);
    for (const ShardMap& map : serving_) writer.write_text(map.layout());
    return sha256(writer.bytes());
}

Result<RecordedDelta> ModelRun::full_pass(const std::filesystem::path& journal,
                                          std::uint64_t refit) {
    REFIT_TRY(codec, find_codec(scenario_.delta.codec));
    REFIT_TRY(log, PassJournal::open(journal, pass_identity(refit)));
    std::vector<const ShardMap*> serving;
    for (const ShardMap& map : serving_) serving.push_back(&map);
    BitPass pass(device_, context(), *codec, serving, steady_now);
    REFIT_TRY(full, run_full_pass(pass, pairs(refit), context(), scenario_.delta, &log,
                                  [this](Words words) { progress_->advance(size_of(words)); }));
    record_.passes->bits.add(full.totals);
    record_.passes->resumed += full.resumed;
    add_times(pass.times());
    for (std::size_t m = 0; m < serving_.size(); ++m)
        gather_[m] = size_of(full.totals.replica_missing[m]);
    return std::move(full.delta);
}

RecordedDelta ModelRun::expanded(const Measured& measured,
                                 double payload,
                                 std::uint64_t refit) const {
    return expand(measured.sample, measured.measures, *grid_,
                  static_cast<std::uint64_t>(std::max(0.0, payload)), scenario_.delta,
                  draw(scenario_.seed, kExpandStream, refit))
        .delta;
}

RecordedRun ModelRun::recorded(std::vector<RecordedDelta> deltas) const {
    RecordedRun run;
    run.catalog = catalog_->id();
    run.grid = grid_->id();
    run.salt = digest_salt(scenario_.seed);
    run.words = catalog_->words();
    for (const UnitRange range : make_units(*grid_, scenario_.delta.unit_words)) {
        Words words;
        for (std::uint32_t t = 0; t < range.tile_count; ++t)
            words += Words{grid_->tile(range.first_tile + t).words};
        run.units.push_back(words);
    }
    run.anchor = anchor_;
    run.deltas = std::move(deltas);
    run.trainer_gather = trainer_gather_;
    for (const std::size_t map : replica_map_) run.replica_gather.push_back(gather_[map]);
    return run;
}

Result<RunResult> ModelRun::time_pass(const RecordedRun& run, const WorldPlan& plan) const {
    const auto bits = make_recorded_bits(run, plan.delta);
    const auto store = make_memory_store();
    return run_refits(plan, {*bits, *store, [this] { console_.check_interrupt(); }},
                      make_memory_register);
}

Result<BaselineRecord> ModelRun::baseline(const Measured& measured,
                                          const std::string& codec) const {
    WorldPlan plan = make_plan(scenario_, 1, 1);
    plan.delta.codec = codec;
    plan.faults.clear();
    plan.refits = 1;
    REFIT_TRY(run, time_pass(recorded({expanded(measured, measured.payload.value, 1)}), plan));
    return baseline_of(codec, run.refits.front(), 1);
}

/// The bits of one refit: what it sends, and how sure that is.
Status ModelRun::refit_bits(std::uint64_t refit, const std::filesystem::path& journal) {
    const ModelSpec& model = scenario_.source.model;
    ModelPasses& passes = *record_.passes;
    REFIT_TRY(measured, measure(scenario_.delta.codec, sample_budget(), refit));
    const Words sampled = measured.sample.words();
    const double scale =
        static_cast<double>(catalog_->words().count) / static_cast<double>(sampled.count);
    ChangeStats change;
    change.words = catalog_->words().count;
    change.bound_bits = measured.measures.bound_bits;
    change.kinds = measured.measures.kinds;
    const Estimate changed = estimate_changed(measured.sample, measured.measures);
    change.changed = static_cast<std::uint64_t>(changed.value);
    if (refit == 1) {
        passes.payload = measured.payload;
        passes.changed = changed;
        passes.strata = measured.sample.strata.size();
        passes.sampled_tiles = measured.sample.grid.tiles().size();
    }
    if (model.full) {
        REFIT_TRY(delta, full_pass(journal, refit));
        change.changed = delta.changed_words();
        deltas_.push_back(std::move(delta));
    } else {
        passes.sampled_fraction = 1 / scale;
        passes.bits.add(measured.totals);
        add_times(measured.times);
        const ModelDelta middle =
            expand(measured.sample, measured.measures, *grid_,
                   static_cast<std::uint64_t>(measured.payload.value), scenario_.delta,
                   draw(scenario_.seed, kExpandStream, refit));
        passes.phantom_fraction =
            1 - static_cast<double>(middle.measured_bytes) / measured.payload.value;
        deltas_.push_back(middle.delta);
        low_.push_back(expanded(measured, measured.payload.low, refit));
        high_.push_back(expanded(measured, measured.payload.high, refit));
        for (std::size_t m = 0; m < serving_.size(); ++m) {
            const auto words = static_cast<double>(measured.totals.replica_missing[m].count);
            gather_[m] = Bytes{static_cast<std::uint64_t>(2 * scale * words)};
        }
    }
    record_.changes.push_back(std::move(change));
    return Done{};
}

Status ModelRun::finish() {
    const WorldPlan plan = make_plan(scenario_, refits(), 1);
    const auto first_seconds = [](const RunResult& run) {
        return to_seconds(run.refits.front().seconds());
    };
    REFIT_TRY(run, time_pass(recorded(deltas_), plan));
    ModelPasses& passes = *record_.passes;
    passes.seconds = {first_seconds(run), first_seconds(run), first_seconds(run)};
    if (!low_.empty()) {
        REFIT_TRY(low, time_pass(recorded(low_), plan));
        REFIT_TRY(high, time_pass(recorded(high_), plan));
        passes.seconds.low = first_seconds(low);
        passes.seconds.high = first_seconds(high);
    }
    record_.run = std::move(run);
    record_.faults = describe_faults(record_.run, plan.topology);
    return Done{};
}

void ModelRun::add_times(const BitPassTimes& times) {
    auto& seconds = record_.host.bit_pass_seconds;
    seconds["generate"] += to_seconds(times.generate);
    seconds["encode"] += to_seconds(times.encode);
    seconds["stage"] += to_seconds(times.stage);
    seconds["check"] += to_seconds(times.check);
}

Result<RunRecord> ModelRun::run(const std::filesystem::path& journal) {
    const ModelSpec& model = scenario_.source.model;
    Bytes work = size_of(Words{kBaselineWords}) * std::size(kBaselines) +
                 size_of(sample_budget()) * refits();
    if (model.full) work += size_of(catalog_->words()) * refits();
    progress_.emplace(console_, "run", work);
    std::vector<std::pair<std::string, Measured>> baselines;
    for (const char* name : kBaselines) {
        REFIT_TRY(measured, measure(name, Words{kBaselineWords}, 1));
        baselines.emplace_back(name, std::move(measured));
    }
    // The anchor is the whole of version 0; the staging list of one holds every word.
    anchor_ = expanded(baselines.back().second, baselines.back().second.payload.value, 0);
    const RecordedRun sizes = recorded({});
    for (std::size_t u = 0; u < sizes.units.size(); ++u) {
        anchor_.staged_bytes[u] = size_of(sizes.units[u]).count;
        anchor_.units[u].changed_words = sizes.units[u].count;
    }
    for (std::uint64_t refit = 1; refit <= refits(); ++refit)
        REFIT_CHECK(refit_bits(refit, journal.string() + "." + std::to_string(refit)));
    REFIT_CHECK(finish());
    for (const auto& [name, measured] : baselines) {
        REFIT_TRY(record, baseline(measured, name));
        record_.baselines.push_back(record);
    }
    return std::move(record_);
}

}  // namespace

Result<RunRecord> run_model(const Console& console,
                            const Scenario& scenario,
                            Device& device,
                            const std::filesystem::path& journal) {
    ModelRun run(console, scenario, device);
    const Status prepared = run.prepare();
    if (!prepared.has_value()) return prepared.error();
    return run.run(journal);
}

}  // namespace refit
