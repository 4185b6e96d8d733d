// The kernels as functions from host data to host data, on the executor, under a given schedule.
//
// Memory    every array has exactly the size the kernel may touch, and outputs begin as junk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/changes.hpp"
#include "kernels/cuda/launches.cuh"
#include "kernels/cuda/staged_list.hpp"
#include "kernels/placement.hpp"

namespace refit {

using WordSpan = std::span<const std::uint16_t>;
using Placements = std::span<const Placement>;

/// 21 of them: forward, reverse, five seeds, each with one, two and seven resident blocks.
inline std::vector<simt::Schedule> every_schedule() {
    std::vector<simt::Schedule> schedules;
    for (const unsigned resident : {1u, 2u, 7u}) {
        schedules.push_back({simt::Order::forward, 0, resident});
        schedules.push_back({simt::Order::reverse, 0, resident});
        for (std::uint64_t seed = 1; seed <= 5; ++seed)
            schedules.push_back({simt::Order::random, seed, resident});
    }
    return schedules;
}

inline std::string schedule_text(const simt::Schedule& schedule) {
    const char* const orders[] = {"forward", "reverse", "random "};
    return std::string(orders[static_cast<int>(schedule.order)]) + " seed " +
           std::to_string(schedule.seed) + " resident " + std::to_string(schedule.resident_blocks);
}

template <class T>
std::vector<T> junk(std::size_t count) {
    std::vector<T> values(count);
    for (std::byte& byte : std::as_writable_bytes(std::span(values))) byte = std::byte{0xCD};
    return values;
}

/// All memory of a scan of `count` numbers.
class ScanArrays {
public:
    explicit ScanArrays(std::size_t count)
        : offsets_(junk<unsigned long long>(count + 1)),
          parts_(junk<unsigned long long>(kernels::scan_parts(static_cast<unsigned>(count)))) {}

    kernels::ScanScratch scratch() { return {offsets_.data(), parts_.data(), &ticket_}; }
    std::uint64_t offset(std::size_t i) const { return offsets_[i]; }

private:
    std::vector<unsigned long long> offsets_;
    std::vector<unsigned long long> parts_;
    unsigned ticket_ = 0xCDCDCDCDu;
};

/// A staging list as the kernels have it, of one tile or of many.
struct StagedArrays {
    std::vector<kernels::StagedSegment> segments;
    std::vector<std::uint16_t> positions;
    std::vector<std::uint16_t> words;

    kernels::StagedList list() { return {segments.data(), positions.data(), words.data()}; }
    std::uint32_t count() const { return static_cast<std::uint32_t>(segments.size()); }
};

inline StagedArrays staged_arrays(const Changes& changes) {
    return {kernels::to_staged(changes), changes.positions, changes.words};
}

/// What the list holds of one tile.
inline Changes changes_of(const StagedArrays& arrays, std::uint32_t tile) {
    Changes changes;
    kernels::to_changes({arrays.segments, arrays.positions, arrays.words}, tile, changes);
    return changes;
}

class SimtKernels {
public:
    explicit SimtKernels(const simt::Schedule& schedule) : queue_{schedule, {}} {}

    const simt::Counters& counters() const { return queue_.counters; }

    StagedArrays diff_batch(WordSpan base,
                            WordSpan next,
                            std::span<const kernels::TileSpan> tiles) {
        const auto spans = kernels::plan_segments(tiles);
        const auto segments = static_cast<std::uint32_t>(spans.size());
        std::size_t words = 0;
        for (const kernels::SegmentSpan& span : spans) words += span.words;
        auto marks = junk<std::uint8_t>(std::size_t{segments} * kernels::kMarkBytes);
        auto changed = junk<std::uint32_t>(segments);
        ScanArrays scan(segments);
        StagedArrays out{junk<kernels::StagedSegment>(segments), junk<std::uint16_t>(words),
                         junk<std::uint16_t>(words)};
        if (segments == 0) return out;
        kernels::launch_diff(queue_, {base.data(), next.data(), spans.data(), segments},
                             {marks.data(), changed.data(), scan.scratch()}, out.list());
        const kernels::StoredCounts stored = kernels::unpack_stored(scan.offset(segments));
        out.positions.resize(stored.positions);
        out.words.resize(stored.words);
        return out;
    }

    Changes diff(WordSpan base, WordSpan next) {
        const kernels::TileSpan tile{0, base.size()};
        return changes_of(diff_batch(base, next, {&tile, 1}), 0);
    }

    StagedArrays stage_batch(WordSpan base, std::span<const kernels::TileMasks> tiles) {
        std::vector<kernels::TileSpan> spans_of;
        std::vector<std::uint32_t> index;
        std::vector<std::uint16_t> mask;
        for (const kernels::TileMasks& tile : tiles) {
            spans_of.push_back(tile.tile);
            index.insert(index.end(), tile.index.begin(), tile.index.end());
            mask.insert(mask.end(), tile.mask.begin(), tile.mask.end());
        }
        const std::vector<std::uint32_t> starts = kernels::plan_masks(tiles);
        const auto spans = kernels::plan_segments(spans_of);
        const auto segments = static_cast<std::uint32_t>(spans.size());
        auto changed = junk<std::uint32_t>(segments);
        auto entries_at = junk<std::uint32_t>(segments);
        ScanArrays scan(segments);
        std::size_t words = 0;
        for (const kernels::SegmentSpan& span : spans) words += span.words;
        StagedArrays out{junk<kernels::StagedSegment>(segments), junk<std::uint16_t>(index.size()),
                         junk<std::uint16_t>(words)};
        kernels::launch_stage(
            queue_, {base.data(), index.data(), mask.data(), starts.data(), spans.data(), segments},
            {changed.data(), entries_at.data(), scan.scratch()}, out.list());
        return out;
    }

    void overwrite(std::span<std::uint16_t> weights, const Changes& changes, Placements placed) {
        const kernels::BoxPlan plan = plan_of(placed, kAnyTile, weights.size());
        StagedArrays staged = staged_arrays(changes);
        kernels::launch_overwrite(queue_, staged.list(), staged.count(),
                                  {plan.boxes.data(), plan.tiles.data()}, weights.data());
    }

    std::uint64_t digest_change(WordSpan base,
                                const Changes& changes,
                                Placements placed,
                                std::uint64_t salt) {
        const kernels::BoxPlan plan = plan_of(placed, base.size(), kAnyTile);
        StagedArrays staged = staged_arrays(changes);
        unsigned long long change = 0;
        kernels::launch_digest_change(queue_, staged.list(), staged.count(),
                                      {plan.boxes.data(), plan.tiles.data()},
                                      {base.data(), salt, &change});
        return change;
    }

    std::uint64_t digest(WordSpan weights, Placements placed, std::uint64_t salt) {
        const kernels::BoxPlan plan = plan_of(placed, kAnyTile, weights.size());
        unsigned long long digest = 0;
        kernels::launch_digest(queue_, plan, plan.boxes.data(), weights.data(), salt, &digest);
        return digest;
    }

    void gather(WordSpan weights, Placements placed, std::span<std::uint16_t> tile) {
        const kernels::BoxPlan plan = plan_of(placed, tile.size(), weights.size());
        kernels::launch_gather(queue_, plan, plan.boxes.data(), weights.data(), tile.data());
    }

    void scatter(WordSpan tile, Placements placed, std::span<std::uint16_t> weights) {
        const kernels::BoxPlan plan = plan_of(placed, tile.size(), weights.size());
        kernels::launch_scatter(queue_, plan, plan.boxes.data(), tile.data(), weights.data());
    }

    std::uint64_t compare(WordSpan a, WordSpan b) {
        unsigned long long differing = 0;
        kernels::launch_compare(queue_, a.data(), b.data(), a.size(), &differing);
        return differing;
    }

private:
    static constexpr std::uint64_t kAnyTile = ~std::uint64_t{0} >> 1;

    static kernels::BoxPlan plan_of(Placements placed,
                                    std::uint64_t tile_words,
                                    std::uint64_t memory_words) {
        const kernels::TilePlacements tile{{0, tile_words}, placed};
        return kernels::plan_boxes({&tile, 1}, memory_words);
    }

    simt::Queue queue_;
};

}  // namespace refit
