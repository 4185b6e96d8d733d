// The kernels of xc as functions from host data to host data, and tiles for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "kernels/cuda/xc_launches.cuh"
#include "tests/kernels/xc_support.hpp"
#include "tests/simt/support.hpp"

namespace refit {

/// Tiles of one array with their payloads in another.
struct XcPayloads {
    std::vector<kernels::XcPayload> tiles;
    std::vector<std::byte> bytes;
    std::vector<kernels::XcOddsTable> tables;

    void add(const kernels::TileSpan& tile,
             std::span<const std::byte> payload,
             std::uint32_t changed,
             const XcTables& of) {
        const auto number = static_cast<std::uint32_t>(tables.size());
        tiles.push_back({tile, bytes.size(), payload.size(), changed, number});
        bytes.insert(bytes.end(), payload.begin(), payload.end());
        tables.push_back(kernels::make_xc_odds(of));
    }
};

struct XcDecoded {
    std::vector<XcFault> faults;
    StagedArrays staged;
};

/// What xc_scan finds, of a batch; `marks`, `changed` and `entries_at` by segment.
struct XcScanned {
    std::vector<kernels::SegmentSpan> spans;
    std::vector<std::uint8_t> marks;
    std::vector<std::uint32_t> changed;
    std::vector<std::uint64_t> entries_at;
    std::vector<std::uint16_t> base;
    std::vector<std::uint16_t> step;
    std::vector<std::uint64_t> words;
    XcCounts counts;
};

/// A tile with all that its payload follows from.
struct XcInput {
    kernels::TileSpan tile;
    const XcTables* tables;
    std::span<const std::uint8_t> levels;
};

class SimtXc {
public:
    explicit SimtXc(const simt::Schedule& schedule) : queue_{schedule, {}} {}

    XcExponents sample(WordSpan base, std::span<const kernels::TileSpan> tiles, std::uint8_t bits) {
        const auto spans = kernels::plan_segments(tiles);
        XcExponents words{};
        kernels::launch_xc_sample(queue_, base.data(),
                                  {spans.data(), static_cast<std::uint32_t>(spans.size())}, bits,
                                  words.data());
        return words;
    }

    XcScanned scan(WordSpan base,
                   WordSpan next,
                   std::span<const kernels::TileSpan> tiles,
                   const XcContext& context) {
        XcScanned out;
        out.spans = kernels::plan_segments(tiles);
        const auto segments = static_cast<std::uint32_t>(out.spans.size());
        out.marks = junk<std::uint8_t>(std::size_t{segments} * kernels::kMarkBytes);
        out.changed = junk<std::uint32_t>(segments);
        ScanArrays stored(segments);
        ScanArrays entries(segments);
        if (segments == 0) return out;
        simt::launch(queue_, kernels::mark_shape(segments), kernels::diff_mark, base.data(),
                     next.data(), out.spans.data(), segments,
                     kernels::DiffScratch{out.marks.data(), out.changed.data(), stored.scratch()});
        std::size_t changes = 0;
        for (const std::uint32_t changed : out.changed) changes += changed;
        out.base = junk<std::uint16_t>(changes);
        out.step = junk<std::uint16_t>(changes);
        out.words = junk<std::uint64_t>(segments * kXcBuckets);
        std::vector<std::uint32_t> counts(kernels::kXcCounts);
        kernels::launch_xc_list(
            queue_,
            {base.data(), next.data(), out.spans.data(), out.marks.data(), out.changed.data(),
             segments, context},
            {out.base.data(), out.step.data(), out.words.data(), counts.data(), entries.scratch()});
        for (std::uint32_t s = 0; s < segments; ++s) out.entries_at.push_back(entries.offset(s));
        out.counts = kernels::sum_xc_counts(counts);
        return out;
    }

    /// The payload of every tile, empty where plain words are no longer.
    std::vector<std::vector<std::byte>> encode_batch(WordSpan base,
                                                     const XcScanned& scanned,
                                                     std::span<const XcInput> inputs) {
        std::vector<kernels::XcCoding> codings;
        std::vector<kernels::XcOddsTable> tables;
        std::vector<std::uint8_t> levels;
        for (const XcInput& input : inputs) {
            std::uint32_t changed = 0;
            for (std::size_t s = 0; s < input.levels.size(); ++s)
                changed += scanned.changed[levels.size() + s];
            codings.push_back({input.tile, changed, static_cast<std::uint32_t>(tables.size())});
            tables.push_back(kernels::make_xc_odds(*input.tables));
            levels.insert(levels.end(), input.levels.begin(), input.levels.end());
        }
        const kernels::XcPlan plan = kernels::plan_xc_encode(codings);
        const auto count = static_cast<std::uint32_t>(plan.tiles.size());
        auto room = junk<std::uint8_t>(plan.room);
        auto list = junk<std::uint8_t>(plan.entries);
        auto coded = junk<kernels::XcCoded>(count);
        auto sizes = junk<std::uint32_t>(count);
        auto bytes = junk<std::uint8_t>(plan.room);
        ScanArrays scan(count);
        kernels::launch_xc_encode(
            queue_,
            {base.data(), scanned.marks.data(), levels.data(), scanned.base.data(),
             scanned.step.data(), plan.tiles.data(), tables.data(), count},
            {room.data(), list.data(), coded.data(), sizes.data(), scan.scratch()}, bytes.data());
        std::vector<std::vector<std::byte>> payloads(count);
        for (std::uint32_t t = 0; t < count; ++t) {
            const std::byte* all = reinterpret_cast<const std::byte*>(bytes.data());
            payloads[t].assign(all + scan.offset(t), all + scan.offset(t + 1));
        }
        return payloads;
    }

    std::vector<std::byte> encode(const XcCase& of) {
        const kernels::TileSpan tile{0, of.base.size()};
        const XcScanned scanned = scan(of.base, of.next, {&tile, 1}, of.tables.context);
        const XcInput input{tile, &of.tables, of.levels};
        return encode_batch(of.base, scanned, {&input, 1})[0];
    }

    XcDecoded decode_batch(WordSpan base, const XcPayloads& payloads) {
        const kernels::XcPlan plan = kernels::plan_xc_decode(payloads.tiles);
        const std::size_t segments = plan.segments.size();
        const auto tiles = static_cast<std::uint32_t>(plan.tiles.size());
        auto marks = junk<std::uint8_t>(segments * kernels::kMarkBytes);
        auto levels = junk<std::uint8_t>(segments);
        auto changed = junk<std::uint32_t>(segments);
        auto entries_at = junk<std::uint32_t>(segments);
        auto words = junk<std::uint16_t>(plan.entries);
        auto classes = junk<std::uint8_t>(plan.entries);
        auto list = junk<std::uint32_t>(plan.entries);
        ScanArrays scan(segments);
        std::size_t words_max = 0;
        for (const kernels::SegmentSpan& span : plan.segments) words_max += span.words;
        XcDecoded out{junk<XcFault>(tiles),
                      {junk<kernels::StagedSegment>(segments), junk<std::uint16_t>(words_max),
                       junk<std::uint16_t>(words_max)}};
        const kernels::XcDecodeInput in{
            base.data(), reinterpret_cast<const std::uint8_t*>(payloads.bytes.data()),
            plan.tiles.data(), payloads.tables.data(), tiles};
        kernels::launch_xc_decode(queue_, in,
                                  {plan.segments.data(), static_cast<std::uint32_t>(segments)},
                                  {marks.data(), levels.data(), changed.data(), entries_at.data(),
                                   words.data(), classes.data(), list.data(), scan.scratch()},
                                  out.staged.list(), out.faults.data());
        return out;
    }

    /// As Device::xc_decode().
    XcFault decode(WordSpan base,
                   std::span<const std::byte> payload,
                   std::uint32_t changed,
                   const XcTables& tables,
                   Changes& out) {
        XcPayloads payloads;
        payloads.add({0, base.size()}, payload, changed, tables);
        const XcDecoded decoded = decode_batch(base, payloads);
        out = changes_of(decoded.staged, 0);
        return decoded.faults[0];
    }

private:
    simt::Queue queue_;
};

/// Every word moves by one step up or down, so that every segment is dense.
inline XcCase dense_xc_case(TestRng& rng, std::size_t words) {
    XcCase of;
    of.base = random_words(rng, words);
    for (const std::uint16_t word : of.base)
        of.next.push_back(stepped(word, rng.below(50) == 0 ? 0 : rng.below(2) == 0 ? 1 : -1));
    of.tables = random_tables(rng, {7, 100}, true, 180);
    of.tables.stages = static_cast<std::uint8_t>(rng.below(2));
    of.tables.stage[0].fill(20);
    of.levels = random_levels(rng, of);
    return of;
}

inline constexpr std::uint16_t kSpecialNext[] = {0x0000, 0x8000, 0x0001, 0x807F, 0x7F80, 0xFF80,
                                                 0x7F81, 0x7FC1, 0xFFFF, 0x7C00, 0x7C01, 0x3F80};
inline constexpr unsigned kSpecialXcCases = 16 + std::size(kSpecialNext);

/// Every 16th base word with steps of every class up and down, or with a special next word.
inline XcCase special_xc_case(unsigned turn) {
    TestRng rng{turn};
    XcCase of;
    for (unsigned word = turn % 16; word < 0x10000; word += 16)
        of.base.push_back(static_cast<std::uint16_t>(word));
    of.next = of.base;
    for (std::size_t i = turn % 3; i < of.next.size(); i += 3)
        of.next[i] =
            turn < 16 ? stepped(of.base[i], random_step(rng, turn)) : kSpecialNext[turn - 16];
    const XcContext context{turn % 2 == 0 ? std::uint8_t{7} : std::uint8_t{10}, 12};
    of.tables = random_tables(rng, context, true, 150);
    for (unsigned k = 1; k <= kXcStages; ++k)
        of.tables.stage[k - 1].fill(k <= (turn < 16 ? turn : 13) ? 180 : 60);
    of.levels = random_levels(rng, of);
    return of;
}

/// The tables as a decoder has them: those of cf come without a context.
inline XcTables tables_read(const XcTables& written) {
    XcTables read = written;
    if (!read.contextual) read.context = {0, 0};
    return read;
}

}  // namespace refit
