// xc and cf: one binary decision per word of a changed segment, with odds that follow from the old
// exponent (xc) or from nothing (cf), in interleaved rANS states. FORMAT.md 3.1.
#include <algorithm>
#include <bit>

#include "engine/codec/body.hpp"
#include "engine/codec/builtin.hpp"
#include "engine/codec/xc_tables.hpp"

namespace refit {

namespace {

constexpr std::uint8_t kMantissaBits = 7;

/// floor(log2 |step|) of a change.
std::uint64_t class_of(std::uint16_t base, std::uint16_t next) {
    const auto step =
        static_cast<std::int16_t>(static_cast<std::uint16_t>(xc_ordinal(next) - xc_ordinal(base)));
    const auto size = static_cast<std::uint32_t>(step < 0 ? -step : step);
    return static_cast<std::uint64_t>(std::bit_width(size) - 1);
}

/// A unit on its way into a body.
struct UnitWork {
    std::vector<XcTile> tiles;  // of the coded tiles only
    std::vector<std::vector<std::uint8_t>> levels;
    XcTables tables;
};

std::vector<std::uint8_t> levels_of_unit(const std::vector<std::vector<XcSegment>>& segments,
                                         const XcLevelCosts& costs) {
    std::vector<std::uint8_t> levels;
    for (const auto& tile : segments) choose_xc_levels(tile, costs, levels);
    return levels;
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

    void encode(Device& device,
                std::span<const TileDiff> tiles,
                std::span<TileMode> modes,
                ByteVector& body) const override {
        ByteVector payloads;
        std::vector<std::uint32_t> sizes;
        const UnitWork work = prepare(device, tiles, modes);
        std::size_t coded = 0;
        for (std::size_t i = 0; i < tiles.size(); ++i) {
            if (modes[i] != TileMode::coded) continue;
            const std::size_t before = payloads.size();
            if (device.xc_encode(tiles[i].base, work.tiles[coded], work.tables, work.levels[coded],
                                 payloads)) {
                sizes.push_back(static_cast<std::uint32_t>(payloads.size() - before));
            } else {
                modes[i] = TileMode::raw;
            }
            ++coded;
        }
        append_raw_tiles(tiles, modes, body);
        if (sizes.empty()) return;
        write_xc_tables(work.tables, body);
        const auto size_bytes = std::as_bytes(std::span(sizes));
        body.insert(body.end(), size_bytes.begin(), size_bytes.end());
        body.insert(body.end(), payloads.begin(), payloads.end());
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
    UnitWork prepare(Device& device,
                     std::span<const TileDiff> tiles,
                     std::span<const TileMode> modes) const {
        UnitWork work;
        XcCounts counts;
        std::vector<std::span<const std::uint16_t>> bases;
        for (std::size_t i = 0; i < tiles.size(); ++i) {
            if (modes[i] != TileMode::coded) continue;
            bases.push_back(tiles[i].base);
            device.xc_scan(tiles[i].base, *tiles[i].changes, kMantissaBits,
                           work.tiles.emplace_back(), counts);
        }
        if (bases.empty()) return work;
        work.tables = fit_xc_tables(counts, kMantissaBits, contextual_);
        std::vector<std::vector<XcSegment>> segments(bases.size());
        for (std::size_t t = 0; t < bases.size(); ++t)
            device.xc_expect(bases[t], work.tiles[t], work.tables, segments[t]);
        // Twice: a level is worth its bits only against what the others turn out to cost.
        const auto levels =
            levels_of_unit(segments, xc_level_costs(levels_of_unit(segments, XcLevelCosts{})));
        work.tables.level_nodes = fit_xc_nodes(levels);
        auto next = levels.begin();
        for (const auto& tile : segments) {
            const auto end = next + static_cast<std::ptrdiff_t>(tile.size());
            work.levels.emplace_back(next, end);
            next = end;
        }
        return work;
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
