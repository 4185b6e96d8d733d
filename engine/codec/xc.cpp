// xc and cf: one binary decision per word of a changed segment, with odds that follow from the old
// exponent (xc) or from nothing (cf), in interleaved rANS states. FORMAT.md 3.1.
#include <algorithm>
#include <bit>

#include "engine/codec/body.hpp"
#include "engine/codec/builtin.hpp"
#include "engine/codec/xc_tables.hpp"

namespace refit {

namespace {

/// floor(log2 |step|) of a change.
std::uint64_t class_of(std::uint16_t base, std::uint16_t next) {
    return static_cast<std::uint64_t>(std::bit_width(xc_step_size(xc_step(base, next))) - 1);
}

/// A coded tile on its way into a body.
struct TileWork {
    std::size_t index = 0;  // in the unit
    const TileDiff* diff = nullptr;
    XcTile list;
    XcCounts counts;
    std::vector<XcSegment> segments;
    std::vector<std::uint8_t> levels;
    ByteVector payload;
    bool fits = false;  // shorter than the plain words
};

std::vector<TileWork> coded_tiles(std::span<const TileDiff> tiles,
                                  std::span<const TileMode> modes) {
    std::vector<TileWork> work;
    for (std::size_t i = 0; i < tiles.size(); ++i) {
        if (modes[i] != TileMode::coded) continue;
        work.emplace_back();
        work.back().index = i;
        work.back().diff = &tiles[i];
    }
    return work;
}

/// Sets the levels of every tile; yields those of all.
std::vector<std::uint8_t> choose_levels(std::vector<TileWork>& work, const XcLevelCosts& costs) {
    std::vector<std::uint8_t> all;
    for (TileWork& tile : work) {
        tile.levels.clear();
        choose_xc_levels(tile.segments, costs, tile.levels);
        all.insert(all.end(), tile.levels.begin(), tile.levels.end());
    }
    return all;
}

/// Of the type that most words of these tiles have.
std::uint8_t mantissa_bits_of(std::span<const TileWork> work) {
    std::uint64_t words = 0;
    std::uint64_t halves = 0;
    for (const TileWork& tile : work) {
        words += tile.diff->base.size();
        if (tile.diff->type == WordType::f16) halves += tile.diff->base.size();
    }
    return xc_mantissa_bits(2 * halves > words ? WordType::f16 : WordType::bf16);
}

/// Where the buckets of these tiles lie best.
XcContext fit_context(Device& device, std::span<const TileWork> work) {
    const std::uint8_t mantissa_bits = mantissa_bits_of(work);
    XcExponents sample{};
    for (const TileWork& tile : work) device.xc_sample(tile.diff->base, mantissa_bits, sample);
    return fit_xc_context(sample, mantissa_bits);
}

class Xc final : public Codec {
public:
    Xc(std::string_view name, std::string_view summary, bool contextual)
        : name_(name), summary_(summary), contextual_(contextual) {}

    std::string_view name() const override { return name_; }
    std::string_view summary() const override { return summary_; }

    TileMode choose_mode(const TileDiff& tile) const override {
        const std::uint64_t changed = tile.changes->changed();
        const std::uint64_t plain_bits = 16 * tile.base.size();
        if (changed == 0) return TileMode::empty;
        if ((2 + kXcStages) * changed < plain_bits) return TileMode::coded;
        std::uint64_t bits = 0;
        for_each_change(tile, [&](std::uint32_t index, std::uint16_t next) {
            bits += 2 + class_of(tile.base[index], next);
        });
        return bits < plain_bits ? TileMode::coded : TileMode::raw;
    }

    bool encodes_on_lanes() const override { return true; }

    void encode(Device& device,
                std::span<const TileDiff> tiles,
                std::span<TileMode> modes,
                ByteVector& body) const override {
        std::vector<TileWork> work = coded_tiles(tiles, modes);
        XcTables tables;
        if (!work.empty()) {
            tables = fit_tables(device, work);
            device.for_each(work.size(), [&](std::uint64_t t, unsigned) {
                TileWork& tile = work[t];
                tile.fits =
                    device.xc_encode(tile.diff->base, tile.list, tables, tile.levels, tile.payload);
            });
        }
        for (const TileWork& tile : work)
            if (!tile.fits) modes[tile.index] = TileMode::raw;
        append_raw_tiles(tiles, modes, body);
        if (!any_in(std::span<const TileMode>(modes), TileMode::coded)) return;
        write_xc_tables(tables, body);
        for (const TileWork& tile : work) {
            const auto size = static_cast<std::uint32_t>(tile.payload.size());
            const auto bytes = std::as_bytes(std::span(&size, 1));
            if (tile.fits) body.insert(body.end(), bytes.begin(), bytes.end());
        }
        for (const TileWork& tile : work)
            body.insert(body.end(), tile.payload.begin(), tile.payload.end());
    }

    Status decode(Device& device,
                  ByteSpan body,
                  std::span<const TileBase> tiles,
                  std::span<Changes> changes) const override {
        XcTables tables;
        std::vector<ByteSpan> payloads(tiles.size());
        REFIT_CHECK(decode_frame(device, body, tiles, changes, [&](ByteReader& reader) -> Status {
            REFIT_TRY(read, read_xc_tables(reader, contextual_));
            tables = read;
            return read_payloads(reader, tiles, payloads);
        }));
        return for_each_tile(device, tiles.size(), [&](std::size_t i) -> Status {
            if (tiles[i].mode != TileMode::coded) return Done{};
            switch (device.xc_decode(tiles[i].base, payloads[i], tiles[i].changed, tables,
                                     changes[i])) {
                case XcFault::none:
                    return Done{};
                case XcFault::truncated:
                    return Error{ErrorCode::truncated, "the payload of a tile is cut short"};
                case XcFault::corrupt:
                    break;
            }
            return Error{ErrorCode::corrupt, "the payload of a tile does not decode"};
        });
    }

private:
    XcTables fit_tables(Device& device, std::vector<TileWork>& work) const {
        const XcContext context = fit_context(device, work);
        device.for_each(work.size(), [&](std::uint64_t t, unsigned) {
            TileWork& tile = work[t];
            device.xc_scan(tile.diff->base, *tile.diff->changes, context, tile.list, tile.counts);
        });
        XcCounts counts;
        XcBucketWords words{};
        for (const TileWork& tile : work) {
            counts.add(tile.counts);
            for (const XcBucketWords& segment : tile.list.words)
                for (std::size_t b = 0; b < kXcBuckets; ++b) words[b] += segment[b];
        }
        XcTables tables = fit_xc_tables(counts, context, words, contextual_);
        for (TileWork& tile : work) tile.segments = expect_xc(tile.list, tables);
        // Twice: a level is worth its bits only against what the others turn out to cost.
        const XcLevelCosts costs = xc_level_costs(choose_levels(work, XcLevelCosts{}));
        tables.level_nodes = fit_xc_nodes(choose_levels(work, costs));
        return tables;
    }

    static Status read_payloads(ByteReader& reader,
                                std::span<const TileBase> tiles,
                                std::span<ByteSpan> payloads) {
        std::vector<std::uint32_t> sizes(tiles.size());
        for (std::size_t i = 0; i < tiles.size(); ++i)
            if (tiles[i].mode == TileMode::coded) sizes[i] = reader.read<std::uint32_t>();
        for (std::size_t i = 0; i < tiles.size(); ++i)
            if (tiles[i].mode == TileMode::coded) payloads[i] = reader.take(sizes[i]);
        if (reader.failed())
            return Error{ErrorCode::truncated, "the payloads of a unit are cut short"};
        return Done{};
    }

    std::string_view name_;
    std::string_view summary_;
    bool contextual_;
};

}  // namespace

std::unique_ptr<Codec> make_xc() {
    return std::make_unique<Xc>(
        "xc", "changed or not and the step by rANS, with odds from the exponent of the base word",
        true);
}

std::unique_ptr<Codec> make_cf() {
    return std::make_unique<Xc>(
        "cf", "as xc, with odds that do not look at the base: flags decode without it", false);
}

}  // namespace refit
