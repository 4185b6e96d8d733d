#include "engine/codec/xc_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace refit {

namespace {

/// Changes by bucket instead of by exponent.
using BucketSteps = std::array<std::array<std::uint64_t, kXcBuckets>, kXcStages + 1>;

BucketSteps by_bucket(const XcCounts& counts, const XcContext& context, bool contextual) {
    BucketSteps folded{};
    for (std::uint32_t e = 0; e < kXcExponents; ++e) {
        const std::size_t b = contextual ? context.bucket_of_exponent(e) : 0;
        for (std::size_t k = 0; k <= kXcStages; ++k) folded[k][b] += counts.steps[k][e];
    }
    return folded;
}

/// The window ends at the highest exponent that leaves at most one word in 32 above.
std::uint8_t window_of(const XcExponents& sample) {
    std::uint64_t all = 0;
    std::uint64_t above = 0;
    for (const std::uint32_t words : sample) all += words;
    std::uint32_t top = kXcExponents - 1;
    while (top > kXcBuckets && 32 * (above + sample[top]) <= all) above += sample[top--];
    return static_cast<std::uint8_t>(top - (kXcBuckets - 1));
}

/// Both may be large: only their ratio counts.
std::uint8_t nearest(std::uint64_t ones, std::uint64_t all) {
    const unsigned width = static_cast<unsigned>(std::bit_width(all));
    const unsigned drop = width > 31 ? width - 31 : 0;
    return xc_nearest_hazard(std::min(ones, all) >> drop, all >> drop);
}

/// log2(value) in 2^-16, by a chord between powers of two: at most .09 too low.
std::int64_t log2_fixed(std::uint64_t value) {
    const auto whole = static_cast<unsigned>(std::bit_width(value)) - 1;
    const std::uint64_t mantissa = (value << (63 - whole)) << 1;
    return (std::int64_t{whole} << 16) + static_cast<std::int64_t>(mantissa >> 48);
}

/// Bits that a level saves per change, and costs per expected change, in 2^-16: (l - 8) / 2, and
/// (2^((l - 8) / 2) - 1) / ln 2.
constexpr std::array<std::int64_t, kXcLevels> kSaved = [] {
    std::array<std::int64_t, kXcLevels> saved{};
    for (std::size_t l = 0; l < kXcLevels; ++l)
        saved[l] = (static_cast<std::int64_t>(l) - std::int64_t{kXcMiddleLevel}) * 32768;
    return saved;
}();
constexpr std::array<std::int64_t, kXcLevels> kSpent = {
    -88639, -86191, -82730, -77834, -70911, -61121, -47274, -27693,
    0,      39163,  94548,  172875, 283645, 440298, 661839, 975145};

}  // namespace

XcContext fit_xc_context(const XcExponents& sample, std::uint8_t mantissa_bits) {
    return {mantissa_bits, window_of(sample)};
}

XcTables fit_xc_tables(const XcCounts& counts,
                       const XcContext& context,
                       const XcBucketWords& words,
                       bool contextual) {
    XcTables tables;
    tables.contextual = contextual;
    tables.context = context;
    const BucketSteps steps = by_bucket(counts, context, contextual);
    std::uint64_t all = 0;
    std::uint64_t changed = 0;
    for (const std::uint64_t count : words) all += count;
    for (const std::uint64_t count : steps[0]) changed += count;
    for (std::size_t b = 0; b < kXcBuckets; ++b) {
        // One more word of the mean rate, so that a bucket nobody saw has odds too.
        const std::uint64_t mine = contextual ? words[b] : all;
        tables.flags[b] = nearest(steps[0][b] * all + changed, (mine + 1) * all);
    }
    for (std::size_t k = 1; k <= kXcStages; ++k) {
        for (std::size_t b = 0; b < kXcBuckets; ++b) {
            if (steps[k - 1][b] == 0) continue;
            tables.stage[k - 1][b] = nearest(20 * steps[k][b] + 1, 20 * steps[k - 1][b] + 10);
            if (steps[k][b] != 0) tables.stages = static_cast<std::uint8_t>(k);
        }
    }
    for (std::size_t k = tables.stages; k < kXcStages; ++k) tables.stage[k].fill(0);
    if (contextual) return tables;
    tables.context.window = 0;
    tables.flags.fill(tables.flags[0]);
    for (auto& stage : tables.stage) stage.fill(stage[0]);
    return tables;
}

std::vector<XcSegment> expect_xc(const XcTile& tile, const XcTables& tables) {
    const XcOdds odds = xc_odds(tables.flags);
    std::vector<XcSegment> segments(tile.changed.size());
    for (std::size_t s = 0; s < segments.size(); ++s) {
        segments[s].changed = tile.changed[s];
        for (std::size_t b = 0; b < kXcBuckets; ++b)
            segments[s].expected += tile.words[s][b] * odds[b];
    }
    return segments;
}

void choose_xc_levels(std::span<const XcSegment> segments,
                      const XcLevelCosts& costs,
                      std::vector<std::uint8_t>& levels) {
    for (const XcSegment& segment : segments) {
        std::uint8_t best = 0;
        std::int64_t least = 0;
        for (std::uint8_t l = 1; l < kXcLevels && segment.changed != 0; ++l) {
            const std::int64_t spent =
                static_cast<std::int64_t>(segment.expected) * kSpent[l] / kXcOddsOne;
            const std::int64_t bits = costs[l] + spent - std::int64_t{segment.changed} * kSaved[l];
            if (best != 0 && bits >= least) continue;
            best = l;
            least = bits;
        }
        levels.push_back(best);
    }
}

XcLevelCosts xc_level_costs(std::span<const std::uint8_t> levels) {
    std::array<std::uint64_t, kXcLevels> count{};
    for (const std::uint8_t level : levels) ++count[level];
    XcLevelCosts costs{};
    for (std::size_t l = 0; l < kXcLevels; ++l)
        costs[l] = log2_fixed(4 * levels.size() + kXcLevels) - log2_fixed(4 * count[l] + 1);
    return costs;
}

std::array<std::uint8_t, kXcLevels> fit_xc_nodes(std::span<const std::uint8_t> levels) {
    std::array<std::uint64_t, 2 * kXcLevels> under{};  // per node of the tree, leaves behind
    for (const std::uint8_t level : levels)
        for (std::size_t node = kXcLevels + level; node > 0; node /= 2) ++under[node];
    std::array<std::uint8_t, kXcLevels> nodes{};
    for (std::size_t node = 1; node < kXcLevels; ++node) {
        if (under[node] != 0)
            nodes[node] = nearest(20 * under[2 * node + 1] + 1, 20 * under[node] + 2);
    }
    return nodes;
}

void write_xc_tables(const XcTables& tables, ByteVector& body) {
    const auto put = [&](std::size_t byte) { body.push_back(static_cast<std::byte>(byte)); };
    const std::size_t buckets = tables.contextual ? kXcBuckets : 1;
    put(tables.contextual ? tables.context.mantissa_bits : 0);
    if (tables.contextual) put(tables.context.window);
    for (std::size_t node = 1; node < kXcLevels; ++node) put(tables.level_nodes[node]);
    for (std::size_t b = 0; b < buckets; ++b) put(tables.flags[b]);
    put(tables.stages);
    for (std::size_t k = 0; k < tables.stages; ++k) {
        const auto& stage = tables.stage[k];
        std::size_t first = 0;
        std::size_t last = buckets - 1;
        while (first < last && stage[first] == 0) ++first;
        while (last > first && stage[last] == 0) --last;
        if (tables.contextual) put(16 * first + last);
        for (std::size_t b = first; b <= last; ++b) put(stage[b]);
    }
}

Result<XcTables> read_xc_tables(ByteReader& reader, bool contextual) {
    XcTables tables;
    tables.contextual = contextual;
    const std::size_t buckets = contextual ? kXcBuckets : 1;
    const auto get = [&] { return reader.read<std::uint8_t>(); };
    const std::uint8_t mantissa_bits = get();
    if (contextual) tables.context = {mantissa_bits, get()};
    for (std::size_t node = 1; node < kXcLevels; ++node) tables.level_nodes[node] = get();
    for (std::size_t b = 0; b < buckets; ++b) tables.flags[b] = get();
    tables.stages = get();
    if (tables.stages > kXcStages)
        return Error{ErrorCode::corrupt, fmt::format("{} stages of steps", tables.stages)};
    for (std::size_t k = 0; k < tables.stages; ++k) {
        const std::uint8_t range = contextual ? get() : std::uint8_t{0};
        if (range / 16 > range % 16)
            return Error{ErrorCode::corrupt, "the buckets of a stage end before they begin"};
        for (std::size_t b = range / 16u; b <= range % 16u; ++b) tables.stage[k][b] = get();
    }
    if (reader.failed()) return Error{ErrorCode::truncated, "the tables of a unit are cut short"};
    const bool known = contextual ? mantissa_bits == 7 || mantissa_bits == 10 : mantissa_bits == 0;
    if (!known)
        return Error{ErrorCode::corrupt, fmt::format("words of {} mantissa bits", mantissa_bits)};
    if (contextual) return tables;
    tables.flags.fill(tables.flags[0]);
    for (auto& stage : tables.stage) stage.fill(stage[0]);
    return tables;
}

}  // namespace refit
