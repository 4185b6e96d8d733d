#include "app/bench/samples.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/bench/tile_sample.hpp"
#include "app/format.hpp"
#include "workloads/checkpoint_match.hpp"
#include "workloads/trace.hpp"

namespace refit {
namespace {

constexpr std::uint32_t kPercents[] = {1, 3, 5};
constexpr std::uint64_t kTraceSteps[] = {1, 4, 16};

BenchSample profile_sample(const std::shared_ptr<Device>& device, const PairSpec& spec) {
    BenchSample sample;
    sample.profile = spec.profile.name;
    sample.name = fmt::format("{}-{}%", sample.profile, spec.changed_per_million / 10'000);
    sample.title = {fmt::format("profile {}, seed {}", sample.profile, spec.seed)};
    sample.words = spec.words;
    sample.make = [device, spec] {
        return std::make_shared<const WordPair>(make_pair(*device, spec));
    };
    return sample;
}

BenchSample trace_sample(const std::shared_ptr<const StepSource>& trace, std::uint64_t steps) {
    BenchSample sample;
    const std::string count = fmt::format("{} step{}", steps, steps == 1 ? "" : "s");
    sample.name = fmt::format("{}-{}-step{}", trace->name(), steps, steps == 1 ? "" : "s");
    sample.profile = "trace";
    sample.title = {fmt::format("trace {}, {} of training; small", trace->name(), count)};
    sample.words = trace->catalog().words().count;
    sample.make = [trace, steps] {
        const Catalog& catalog = trace->catalog();
        return std::make_shared<const WordPair>(
            WordPair{catalog, all_words(catalog, trace->version(0)),
                     all_words(catalog, trace->version(steps))});
    };
    return sample;
}

std::string fraction_text(double fraction) { return fmt::format("{:.3g} %", fraction * 100); }

}  // namespace

Result<std::vector<BenchSample>> built_in_samples(const Console& console,
                                                  const std::shared_ptr<Device>& device,
                                                  std::uint64_t profile_words,
                                                  std::uint64_t seed) {
    REFIT_ASSERT(profile_words <= kSampleWordsMax);
    std::vector<BenchSample> samples;
    for (const Profile& profile : profiles())
        for (const std::uint32_t percent : kPercents)
            samples.push_back(
                profile_sample(device, {profile, profile_words, percent * 10'000, seed, {}}));
    REFIT_TRY(opened, open_trace(console.data_root / "workloads" / "traces" / "dense" / "long.toml",
                                 *device));
    const std::shared_ptr<const StepSource> trace = std::move(opened);
    for (const std::uint64_t steps : kTraceSteps)
        if (steps < trace->versions()) samples.push_back(trace_sample(trace, steps));
    return samples;
}

Result<BenchSample> file_sample(const Console& console, const FilePair& files) {
    REFIT_TRY(base, Checkpoint::open(files.base));
    REFIT_TRY(next, Checkpoint::open(files.next));
    auto match = match_checkpoints(*base, *next, false);
    if (!match.has_value()) return in_file(match.error(), files.next.string());
    const Catalog& catalog = match.value().catalog;
    const std::uint64_t total = catalog.words().count;
    if (total == 0) {
        return Error{ErrorCode::invalid_input,
                     "has no BF16 or F16 tensor of one shape in common with " + files.base.string(),
                     files.next.string()};
    }
    auto base_words = SelectedWeights::select(*base, catalog);
    auto next_words = SelectedWeights::select(*next, catalog);
    REFIT_ASSERT(base_words.has_value() && next_words.has_value());

    const double fraction = files.fraction.value_or(1);
    const auto wanted = static_cast<std::uint64_t>(static_cast<double>(total) * fraction);
    const Grid grid(catalog);
    const auto tiles = draw_tiles(catalog, grid, std::min(wanted, kSampleWordsMax), files.seed);
    if (tiles.empty()) {
        return Error{ErrorCode::invalid_input,
                     fmt::format("{} of its {} words is less than a tile", fraction_text(fraction),
                                 format_count(total)),
                     files.next.string()};
    }
    const auto words = std::make_shared<const WordPair>(
        read_tiles(console, catalog, grid, tiles, {base_words.value(), next_words.value()}));
    BenchSample sample;
    sample.name = sample.profile = "files";
    sample.words = words->catalog.words().count;
    sample.sampled_fraction = static_cast<double>(sample.words) / static_cast<double>(total);
    sample.title = {fmt::format("{}: {} of {} words", files.next.filename().string(),
                                fraction_text(sample.sampled_fraction), format_count(total))};
    if (sample.words < total)
        sample.title.push_back(
            fmt::format("whole tiles by tensor kind and layer, seed {}", files.seed));
    if (wanted > kSampleWordsMax) {
        sample.title.push_back(fmt::format("limited to {} of either version",
                                           format_bytes(size_of(Words{kSampleWordsMax}))));
    }
    sample.make = [words] { return words; };
    return sample;
}

}  // namespace refit
