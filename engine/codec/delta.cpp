#include "engine/codec/delta.hpp"

#include <fmt/format.h>

#include "engine/codec/body.hpp"

namespace refit {

std::vector<UnitRange> make_units(const Grid& grid, std::uint64_t unit_words) {
    std::vector<UnitRange> units;
    std::uint64_t words = 0;
    for (std::uint32_t tile = 0; tile < grid.tiles().size(); ++tile) {
        const std::uint64_t more = grid.tile(tile).words;
        if (units.empty() || words + more > unit_words) {
            units.push_back(UnitRange{tile, 0});
            words = 0;
        }
        ++units.back().tile_count;
        words += more;
    }
    return units;
}

Words words_of(const Grid& grid, UnitRange unit) {
    Words words;
    for (std::uint32_t t = 0; t < unit.tile_count; ++t)
        words += Words{grid.tile(unit.first_tile + t).words};
    return words;
}

UnitEncoder::UnitEncoder(Device& device,
                         const Codec& codec,
                         const DeltaContext& context,
                         MonotonicClock clock)
    : device_(device),
      codec_(codec),
      context_(context),
      clock_(std::move(clock)),
      by_lane_(device.lanes()) {}

std::vector<EncodedUnit> UnitEncoder::encode(std::span<const UnitRange> units,
                                             const Weights& base,
                                             const Weights& next) {
    std::vector<EncodedUnit> encoded;
    encode(units, base, next, encoded);
    return encoded;
}

void UnitEncoder::encode(std::span<const UnitRange> units,
                         const Weights& base,
                         const Weights& next,
                         std::vector<EncodedUnit>& out) {
    std::size_t tiles = 0;
    std::vector<std::size_t> firsts;
    for (const UnitRange range : units) {
        firsts.push_back(tiles);
        tiles += range.tile_count;
    }
    if (work_.size() < tiles) work_.resize(tiles);
    for (std::size_t u = 0; u < units.size(); ++u)
        for (std::uint32_t i = 0; i < units[u].tile_count; ++i)
            work_[firsts[u] + i].tile = units[u].first_tile + i;

    device_.for_each(tiles, [&](std::uint64_t i, unsigned lane) {
        const Nanoseconds start = now();
        read(work_[i], base, next);
        const Nanoseconds middle = now();
        scan(work_[i]);
        by_lane_[lane].read += middle - start;
        by_lane_[lane].scan += now() - middle;
    });
    out.resize(units.size());
    const auto code_unit = [&](std::uint64_t u) {
        code(units[u], std::span(work_).subspan(firsts[u], units[u].tile_count), out[u]);
    };
    if (codec_.encodes_on_lanes()) {
        const Nanoseconds start = now();
        for (std::uint64_t u = 0; u < units.size(); ++u) code_unit(u);
        const Nanoseconds taken = now() - start;
        for (StageTimes& lane : by_lane_) lane.code += taken;  // by all of them
    } else {
        device_.for_each(units.size(), [&](std::uint64_t u, unsigned lane) {
            const Nanoseconds start = now();
            code_unit(u);
            by_lane_[lane].code += now() - start;
        });
    }
}

StageTimes UnitEncoder::times() const {
    StageTimes total;
    for (const StageTimes& lane : by_lane_) {
        total.read += lane.read;
        total.scan += lane.scan;
        total.code += lane.code;
    }
    return total;
}

void UnitEncoder::read(TileWork& work, const Weights& base, const Weights& next) const {
    const Tile& tile = context_.grid.tile(work.tile);
    const auto words_of = [&tile](const Weights& weights, std::vector<std::uint16_t>& copy) {
        if (const auto view = weights.view_tile(tile); !view.empty()) return view;
        if (copy.size() < tile.words) copy.resize(tile.words);
        const std::span<std::uint16_t> words = std::span(copy).first(tile.words);
        weights.read_tile(tile, words);
        return std::span<const std::uint16_t>(words);
    };
    work.base = words_of(base, work.base_copy);
    work.next = words_of(next, work.next_copy);
    REFIT_ASSERT(work.base.size() == tile.words && work.next.size() == tile.words);
}

void UnitEncoder::scan(TileWork& work) const {
    const auto placements = identity_placements(context_.catalog, context_.grid.tile(work.tile));
    // Both digests are full reads: the receivers check diff() against them.
    work.digests =
        device_.diff_and_digest(work.base, work.next, placements, context_.salt, work.changes);
    work.mode = codec_.choose_mode(TileDiff{work.base, work.next, &work.changes});
}

void UnitEncoder::code(UnitRange range, std::span<const TileWork> work, EncodedUnit& unit) const {
    unit.changed_words = 0;
    unit.changed.clear();
    unit.base_digests.clear();
    unit.next_digests.clear();
    std::vector<TileDiff> tiles;
    std::vector<TileMode> modes;
    ByteWriter writer;
    writer.write(range.first_tile);
    writer.write(range.tile_count);
    std::vector<std::size_t> mode_at;
    for (const TileWork& tile : work) {
        const std::uint64_t changed = tile.changes.changed();
        mode_at.push_back(writer.bytes().size());
        writer.write(static_cast<std::uint8_t>(tile.mode));
        writer.write(tile.digests.base);
        if (tile.mode != TileMode::empty) {
            writer.write(static_cast<std::uint32_t>(changed));
            writer.write(tile.digests.next);
        }
        const Piece& piece = context_.grid.tile(tile.tile).pieces.front();
        const WordType type = context_.catalog.tensor(piece.tensor).type;
        tiles.push_back(TileDiff{tile.base, tile.next, &tile.changes, type});
        modes.push_back(tile.mode);
        unit.changed_words += changed;
        unit.changed.push_back(changed);
        unit.base_digests.push_back(tile.digests.base);
        unit.next_digests.push_back(tile.digests.next);
    }
    // The body in place, behind its length: a copy would cost as much as the codec.
    const ByteVector& head = writer.bytes();
    const std::size_t body = head.size() + sizeof(std::uint32_t);
    unit.bytes.assign(head.begin(), head.end());
    unit.bytes.resize(body);
    codec_.encode(device_, tiles, modes, unit.bytes);
    for (std::size_t i = 0; i < modes.size(); ++i)
        unit.bytes[mode_at[i]] = static_cast<std::byte>(modes[i]);
    const std::size_t length = unit.bytes.size() - body;
    REFIT_ASSERT(length <= 0xFFFF'FFFFu);
    const auto stored = static_cast<std::uint32_t>(length);
    std::memcpy(unit.bytes.data() + head.size(), &stored, sizeof(stored));
}

std::vector<EncodedUnit> encode_units(Device& device,
                                      const Codec& codec,
                                      const DeltaContext& context,
                                      std::span<const UnitRange> units,
                                      const Weights& base,
                                      const Weights& next) {
    return UnitEncoder(device, codec, context).encode(units, base, next);
}

EncodedUnit encode_unit(Device& device,
                        const Codec& codec,
                        const DeltaContext& context,
                        UnitRange range,
                        const Weights& base,
                        const Weights& next) {
    return std::move(encode_units(device, codec, context, {&range, 1}, base, next).front());
}

}  // namespace refit
