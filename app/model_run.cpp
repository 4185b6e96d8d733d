#include "app/model_run.hpp"

#include <algorithm>

#include "app/bench/compute_rows.hpp"
#include "app/host.hpp"
#include "app/progress.hpp"
#include "app/run_folder.hpp"
#include "app/run_plan.hpp"
#include "engine/emulate/full_pass.hpp"
#include "workloads/change_profile.hpp"

namespace refit {

namespace {

constexpr const char* kBaselines[] = {"full", "full-zstd"};
constexpr std::uint64_t kBaselineWords = std::uint64_t{32} << 20;  // two tiles a stratum are more
constexpr std::uint64_t kSampleWords = std::uint64_t{128} << 20;

std::filesystem::path journal_of(const std::filesystem::path& folder, std::uint64_t refit) {
    return folder / (kJournalFile + ("." + std::to_string(refit)));
}

class ModelRun {
public:
    ModelRun(const Console& console, const Scenario& scenario, Device& device, ModelBits bits)
        : console_(console), scenario_(scenario), device_(device), bits_(std::move(bits)) {}

    Status prepare();
    Result<RunRecord> run(const std::filesystem::path& folder);

private:
    std::uint64_t refits() const { return std::max<std::uint64_t>(1, scenario_.source.max_refits); }
    std::uint64_t words() const { return bits_.catalog().words().count; }
    Words sample_budget() const {
        const double share = scenario_.source.model.sample;
        if (share == 0) return Words{std::min(kSampleWords, words())};
        return Words{static_cast<std::uint64_t>(share * static_cast<double>(words()))};
    }
    ModelBits::Between advance() {
        return [this](Words words) { progress_->advance(size_of(words)); };
    }

    Status add_replica(const std::string& name, const std::string& layout);
    Hash256 pass_identity(std::uint64_t refit) const;
    Result<RecordedDelta> full_pass(const std::filesystem::path& folder, std::uint64_t refit);
    void sampled_pass(const Measured& measured, std::uint64_t refit);
    Status refit_bits(std::uint64_t refit, const std::filesystem::path& folder);
    using OnEvents = std::function<void(std::span<const Event>)>;
    Result<RunResult> time_of(std::vector<RecordedDelta> deltas,
                              const WorldPlan& plan,
                              const OnEvents& on_events = {}) const;
    Status time_passes(const std::filesystem::path& folder);
    Result<BaselineRecord> baseline(const Measured& measured, const std::string& codec) const;
    void add_times(const BitPassTimes& times);
    Status measure_host();

    const Console& console_;
    const Scenario& scenario_;
    Device& device_;
    ModelBits bits_;
    std::vector<std::size_t> layout_of_replica_;  // in tree order
    std::optional<Progress> progress_;
    RunRecord record_;
    RecordedDelta anchor_;
    std::vector<RecordedDelta> deltas_;
    std::vector<RecordedDelta> low_, high_;  // of a sampled run
    std::vector<Bytes> gather_;              // by layout
};

Status ModelRun::add_replica(const std::string& name, const std::string& layout) {
    REFIT_TRY(index, bits_.add_layout(layout));
    layout_of_replica_.push_back(index);
    const auto same = std::ranges::find(record_.maps, layout, &MapRecord::layout);
    if (same != record_.maps.end()) {
        MapRecord again = *same;
        again.name = name;
        record_.maps.push_back(again);
        return Done{};
    }
    const ShardMap& map = bits_.layouts()[index];
    REFIT_TRY(coverage, map.prove(bits_.catalog()));
    record_.maps.push_back({name, layout, map.ranks().size(), coverage.boxes, coverage.held_words,
                            coverage.copies_max});
    return Done{};
}

Status ModelRun::prepare() {
    REFIT_TRY(change, change_of(scenario_));
    const Status chosen = bits_.choose(change);
    if (!chosen.has_value()) return in_file(chosen.error(), scenario_.file.string());
    describe_run(scenario_, device_, 1, record_);
    record_.model_name = bits_.architecture().name;
    record_.model_parameters = record_.stands_for_parameters = words();
    record_.passes.emplace();
    for (const TreeNode& node : derive_tree(scenario_.topology).nodes) {
        if (node.role != NodeRole::replica) continue;
        const ReplicaSpec& spec = scenario_.topology.sites[node.site].replicas[node.replica];
        REFIT_CHECK(add_replica(node.name, spec.layout));
    }
    for (const ShardMap& map : bits_.layouts())
        record_.passes->checked_layouts.push_back(map.layout());
    gather_.resize(bits_.layouts().size());
    return Done{};
}

/// Everything the recorded words follow from: a journal of anything else is not ours.
Hash256 ModelRun::pass_identity(std::uint64_t refit) const {
    ByteWriter writer;
    writer.write_text("refit.pass/1");
    writer.write(bits_.catalog().id());
    writer.write(bits_.grid().id());
    writer.write_text(scenario_.delta.codec);
    writer.write_text(bits_.change().profile);
    for (const std::uint64_t n :
         {scenario_.seed, refit, scenario_.delta.unit_words, scenario_.delta.chunk.count,
          std::uint64_t{scenario_.delta.chunks_per_part}, std::uint64_t{bits_.change().steps},
          static_cast<std::uint64_t>(bits_.change().changed * 1e6 + 0.5)})
        writer.write(n);
    for (const ShardMap& map : bits_.layouts()) writer.write_text(map.layout());
    for (const auto& [kind, per_million] : bits_.change().kinds) {
        writer.write_text(kind);
        writer.write(std::uint64_t{per_million});
    }
    return sha256(writer.bytes());
}

Result<RecordedDelta> ModelRun::full_pass(const std::filesystem::path& folder,
                                          std::uint64_t refit) {
    REFIT_TRY(codec, find_codec(scenario_.delta.codec));
    REFIT_TRY(log, PassJournal::open(journal_of(folder, refit), pass_identity(refit)));
    BitPass pass(device_, bits_.context(), *codec, bits_.serving(), host_now);
    REFIT_TRY(full, run_full_pass(pass, bits_.pairs(refit), bits_.context(), scenario_.delta, &log,
                                  advance()));
    record_.passes->bits.add(full.totals);
    record_.passes->resumed += full.resumed;
    add_times(pass.times());
    for (std::size_t m = 0; m < gather_.size(); ++m)
        gather_[m] = size_of(full.totals.replica_missing[m]);
    return std::move(full.delta);
}

void ModelRun::sampled_pass(const Measured& measured, std::uint64_t refit) {
    ModelPasses& passes = *record_.passes;
    const double share =
        static_cast<double>(measured.sample.words().count) / static_cast<double>(words());
    passes.sampled_fraction = share;
    passes.bits.add(measured.totals);
    add_times(measured.times);
    const Estimate& payload = measured.payload;
    ModelDelta middle = bits_.expanded(measured, payload.value, refit);
    passes.phantom_fraction = 1 - static_cast<double>(middle.measured_bytes) / payload.value;
    deltas_.push_back(std::move(middle.delta));
    low_.push_back(bits_.expanded(measured, payload.low, refit).delta);
    high_.push_back(bits_.expanded(measured, payload.high, refit).delta);
    for (std::size_t m = 0; m < gather_.size(); ++m) {
        const Bytes missing = size_of(measured.totals.replica_missing[m]);
        gather_[m] = Bytes{static_cast<std::uint64_t>(static_cast<double>(missing.count) / share)};
    }
}

/// The bits of one refit: what it sends, and how sure that is.
Status ModelRun::refit_bits(std::uint64_t refit, const std::filesystem::path& folder) {
    ModelPasses& passes = *record_.passes;
    REFIT_TRY(measured,
              bits_.measure(device_, scenario_.delta.codec, sample_budget(), refit, advance()));
    const Estimate changed = estimate_changed(measured.sample, measured.measures);
    ChangeStats change;
    change.words = words();
    change.changed = static_cast<std::uint64_t>(changed.value);
    change.bound_bits = measured.measures.bound_bits;
    change.kinds = measured.measures.kinds;
    change.layers = measured.measures.layers;
    if (refit == 1) {
        passes.payload = measured.payload;
        passes.changed = changed;
        passes.strata = measured.sample.strata.size();
        passes.sampled_tiles = measured.sample.grid.tiles().size();
    }
    if (scenario_.source.model.full) {
        REFIT_TRY(delta, full_pass(folder, refit));
        change.changed = delta.changed_words();
        deltas_.push_back(std::move(delta));
    } else {
        sampled_pass(measured, refit);
    }
    record_.changes.push_back(std::move(change));
    return Done{};
}

Result<RunResult> ModelRun::time_of(std::vector<RecordedDelta> deltas,
                                    const WorldPlan& plan,
                                    const OnEvents& on_events) const {
    const RecordedRun run = bits_.recorded(anchor_, std::move(deltas), layout_of_replica_, gather_);
    return time_pass(
        run, plan, [this] { console_.check_interrupt(); }, on_events);
}

Status ModelRun::time_passes(const std::filesystem::path& folder) {
    const WorldPlan plan = make_plan(scenario_, refits(), 1);
    const auto first_seconds = [](const RunResult& run) {
        return to_seconds(run.refits.front().seconds());
    };
    RecordingWriter recording(folder / kRecordingFile,
                              make_cast(record_.title, plan.topology, plan.loop, bits_.catalog(),
                                        bits_.grid(), plan.delta.unit_words));
    REFIT_TRY(run, time_of(std::move(deltas_), plan,
                           [&](std::span<const Event> events) { recording.append(events); }));
    recording.finish();
    Estimate& seconds = record_.passes->seconds;
    seconds.value = seconds.low = seconds.high = first_seconds(run);
    if (!low_.empty()) {
        REFIT_TRY(low, time_of(std::move(low_), plan));
        REFIT_TRY(high, time_of(std::move(high_), plan));
        seconds.low = first_seconds(low);
        seconds.high = first_seconds(high);
    }
    record_.run = std::move(run);
    record_.faults = describe_faults(record_.run, plan.topology);
    return Done{};
}

Result<BaselineRecord> ModelRun::baseline(const Measured& measured,
                                          const std::string& codec) const {
    WorldPlan plan = make_plan(scenario_, 1, 1);
    plan.delta.codec = codec;
    plan.faults.clear();
    plan.refits = 1;
    REFIT_TRY(run, time_of({bits_.expanded(measured, measured.payload.value, 1).delta}, plan));
    return baseline_of(codec, run.refits.front(), 1);
}

void ModelRun::add_times(const BitPassTimes& times) {
    auto& seconds = record_.host.bit_pass_seconds;
    seconds["generate"] += to_seconds(times.generate);
    seconds["encode"] += to_seconds(times.encode);
    seconds["stage"] += to_seconds(times.stage);
    seconds["check"] += to_seconds(times.check);
}

/// What of a load of this model's products the codec would take here: nothing of the run.
Status ModelRun::measure_host() {
    const Nanoseconds about = scenario_.compute.seconds;
    if (about.count == 0) return Done{};
    REFIT_TRY(codec, find_codec(scenario_.delta.codec));
    const ChangeSpec& change = bits_.change();
    PairSpec pair;
    pair.profile = *find_profile(change.profile);
    pair.words = kUnitWords;
    pair.changed_per_million = static_cast<std::uint32_t>(change.changed * 1e6 + 0.5);
    pair.seed = change.seed;
    pair.steps = change.steps;
    const auto gemm = make_load_gemm();
    record_.host.compute = measure_compute(
        console_, *gemm, {bits_.architecture(), share_of_layout(scenario_.trainer_layout)},
        {*codec, pair}, about);
    return Done{};
}

Result<RunRecord> ModelRun::run(const std::filesystem::path& folder) {
    const std::uint64_t passed = scenario_.source.model.full ? words() : 0;
    progress_.emplace(console_, "run",
                      size_of(Words{kBaselineWords * std::size(kBaselines) +
                                    (sample_budget().count + passed) * refits()}));
    std::vector<std::pair<std::string, Measured>> baselines;
    for (const char* name : kBaselines) {
        REFIT_TRY(measured, bits_.measure(device_, name, Words{kBaselineWords}, 1, advance()));
        baselines.emplace_back(name, std::move(measured));
    }
    anchor_ = bits_.anchor(baselines.back().second);
    for (std::uint64_t refit = 1; refit <= refits(); ++refit)
        REFIT_CHECK(refit_bits(refit, folder));
    REFIT_CHECK(time_passes(folder));
    for (const auto& [name, measured] : baselines) {
        REFIT_TRY(record, baseline(measured, name));
        record_.baselines.push_back(record);
    }
    REFIT_CHECK(measure_host());
    return std::move(record_);
}

}  // namespace

Result<ChangeSpec> change_of(const Scenario& scenario) {
    const ModelSpec& model = scenario.source.model;
    ChangeSpec change{model.profile, model.changed, scenario.seed, model.steps, {}};
    if (!model.rates.empty()) {
        REFIT_TRY(measured, load_profile(model.rates));
        change.changed =
            static_cast<double>(measured.changed) / static_cast<double>(measured.words);
        change.kinds = kind_rates(measured);
    }
    return change;
}

Result<RunRecord> run_model(const Console& console,
                            const Scenario& scenario,
                            Device& device,
                            const std::filesystem::path& folder) {
    REFIT_TRY(bits, ModelBits::open(scenario.source.model.file, scenario.delta));
    ModelRun run(console, scenario, device, std::move(bits));
    const Status prepared = run.prepare();
    if (!prepared.has_value()) return prepared.error();
    return run.run(folder);
}

}  // namespace refit
