#include "app/bench/kernel_cases.hpp"

#include <algorithm>

#include "engine/codec/xc_tables.hpp"

namespace refit {
namespace {

constexpr std::uint64_t kColumns = 4096;
constexpr std::uint8_t kMantissaBits = 7;

FieldTensor measured_field() {
    FieldTensor field;
    field.columns = kColumns;
    field.law = FieldLaw::drift;
    field.sigma_exponent = -8;
    field.activity = -21 * 64 + 85;  // 3 % of the words
    field.row_spread = 20;
    field.column_levels = 4;
    return field;
}

/// Tile `t` of those that prove bits.
FieldTensor mixed_field(std::uint64_t t) {
    FieldTensor field = measured_field();
    constexpr FieldLaw kLaws[kMixedTiles] = {FieldLaw::drift, FieldLaw::still, FieldLaw::spread,
                                             FieldLaw::even,  FieldLaw::fresh, FieldLaw::spread,
                                             FieldLaw::fresh, FieldLaw::drift};
    field.law = kLaws[t];
    field.columns = t % 2 == 0 ? kColumns : 1000 + t;
    field.chance = field.hot_chance = std::uint64_t{1} << 27;
    if (field.law == FieldLaw::spread) {  // dense; or every word another, which no payload pays
        field.any_word = true;
        field.chance = field.hot_chance = t == 2 ? 9ull << 28 : 1ull << 32;
    }
    return field;
}

Placement whole_tile(const BatchTile& tile, std::uint64_t tensor) {
    Placement whole;
    const std::uint64_t rows = (tile.words + kColumns - 1) / kColumns;
    whole.tile_words = tile.words;
    whole.columns = whole.col_count = whole.local_row_stride = kColumns;
    whole.row_count = rows;
    whole.local_first = tile.first;
    whole.tensor = tensor;
    return whole;
}

void add_tiles(BatchCase& out, const KernelCaseSpec& spec) {
    const std::uint64_t tiles =
        spec.mixed ? kMixedTiles : std::max<std::uint64_t>(1, spec.words / kKernelTileWords);
    const std::uint64_t words = spec.words / tiles / 8 * 8;
    for (std::uint64_t t = 0; t < tiles; ++t) {
        BatchTile tile;
        tile.first = t * words;
        // The last one ends in the middle of a segment, and of eight words; it shares no row with
        // padding, so it is whole rows and a rest that the memory has too.
        tile.words = spec.mixed && t + 1 == tiles ? words - 1763 : words;
        tile.field = spec.mixed ? mixed_field(t) : measured_field();
        tile.field.key = (spec.seed << 20) + t;
        tile.placement = whole_tile(tile, t);
        out.tiles.push_back(std::move(tile));
    }
    out.base.resize(tiles * words);
    out.next.resize(tiles * words);
    out.salt = 0x9E3779B97F4A7C15u * spec.seed;
}

struct Versions {
    std::span<const std::uint16_t> base;
    std::span<const std::uint16_t> next;
};

Versions versions_of(const BatchCase& of, const BatchTile& tile) {
    return {std::span(of.base).subspan(tile.first, tile.words),
            std::span(of.next).subspan(tile.first, tile.words)};
}

void fill_tile(BatchCase& out, const BatchTile& tile, FillField fill) {
    for (std::uint64_t word = 0; word < tile.words; word += tile.field.columns) {
        const std::uint64_t count = std::min(tile.field.columns, tile.words - word);
        fill(tile.field, {word / tile.field.columns, 0}, {0, 1},
             std::span(out.base).subspan(tile.first + word, count),
             std::span(out.next).subspan(tile.first + word, count));
    }
}

void diff_tile(Device& device, const BatchCase& of, BatchTile& tile) {
    const Versions both = versions_of(of, tile);
    device.diff(both.base, both.next, tile.changes);
    for (std::uint32_t i = 0; i < tile.words; ++i) {
        if (both.base[i] == both.next[i]) continue;
        tile.index.push_back(i);
        tile.mask.push_back(both.base[i] ^ both.next[i]);
    }
    const std::span<const Placement> placed(&tile.placement, 1);
    tile.digest = device.digest(of.base, placed, of.salt);
    tile.digest_change = device.digest_change(both.base, tile.changes, placed, of.salt);
}

/// As the codec does it for the tiles of a unit.
void fit_tables(Device& device, BatchCase& out) {
    for (const BatchTile& tile : out.tiles)
        device.xc_sample(versions_of(out, tile).base, kMantissaBits, out.sample);
    const XcContext context = fit_xc_context(out.sample, kMantissaBits);
    std::vector<XcCounts> counts(out.tiles.size());
    device.for_each(out.tiles.size(), [&](std::uint64_t t, unsigned) {
        BatchTile& tile = out.tiles[t];
        device.xc_scan(versions_of(out, tile).base, tile.changes, context, tile.list, counts[t]);
    });
    XcBucketWords words{};
    for (std::size_t t = 0; t < out.tiles.size(); ++t) {
        out.counts.add(counts[t]);
        for (const XcBucketWords& segment : out.tiles[t].list.words)
            for (std::size_t b = 0; b < kXcBuckets; ++b) words[b] += segment[b];
    }
    out.tables = fit_xc_tables(out.counts, context, words, true);
    std::vector<std::uint8_t> levels;
    for (BatchTile& tile : out.tiles) {
        choose_xc_levels(expect_xc(tile.list, out.tables), XcLevelCosts{}, tile.levels);
        levels.insert(levels.end(), tile.levels.begin(), tile.levels.end());
    }
    out.tables.level_nodes = fit_xc_nodes(levels);
}

}  // namespace

BatchCase make_kernel_case(Device& reference, const KernelCaseSpec& spec) {
    BatchCase out;
    add_tiles(out, spec);
    const FillField fill = field_levels().front().fill;
    reference.for_each(out.tiles.size(), [&](std::uint64_t t, unsigned) {
        fill_tile(out, out.tiles[t], fill);
        diff_tile(reference, out, out.tiles[t]);
    });
    fit_tables(reference, out);
    reference.for_each(out.tiles.size(), [&](std::uint64_t t, unsigned) {
        BatchTile& tile = out.tiles[t];
        const auto base = versions_of(out, tile).base;
        reference.xc_encode(base, tile.list, out.tables, tile.levels, tile.payload);
        const auto changed = static_cast<std::uint32_t>(tile.changes.changed());
        tile.fault = reference.xc_decode(base, tile.payload, changed, out.tables, tile.decoded);
    });
    return out;
}

KernelCounts count_kernel_case(const BatchCase& of) {
    constexpr std::uint32_t kSectorWords = 16;
    KernelCounts counts;
    for (const BatchTile& tile : of.tiles) {
        counts.words += tile.words;
        counts.segments += (tile.words + kSegmentWords - 1) / kSegmentWords;
        counts.changed += tile.index.size();
        counts.positions += tile.changes.positions.size();
        counts.stored += tile.changes.words.size();
        counts.payload_bytes += tile.payload.size();
        for (const SegmentChanges& s : tile.changes.segments)
            counts.changing_words += std::min<std::uint64_t>(
                kSegmentWords, tile.words - std::uint64_t{s.segment} * kSegmentWords);
        std::uint64_t last = ~std::uint64_t{0};
        for (const std::uint32_t index : tile.index) {
            const std::uint64_t sector = (tile.first + index) / kSectorWords;
            counts.sectors += sector != last ? 1 : 0;
            last = sector;
        }
    }
    counts.tiles = of.tiles.size();
    return counts;
}

}  // namespace refit
