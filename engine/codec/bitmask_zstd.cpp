// bitmask-zstd: one bit per word of the unit's coded tiles says whether it changed, then the next
// words of the changes, in two zstd frames.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "engine/codec/body.hpp"
#include "engine/codec/builtin.hpp"

namespace refit {

namespace {

constexpr int kLevel = 3;

std::uint64_t mask_bytes(std::uint64_t words) { return (words + 7) / 8; }

std::uint64_t mask_bytes(std::span<const TileBase> tiles) {
    std::uint64_t total = 0;
    for (const TileBase& tile : tiles)
        if (tile.mode == TileMode::coded) total += mask_bytes(tile.base.size());
    return total;
}

/// Appends the positions of the bits that are set; eight bytes at a time, because most are zero.
void append_set_bits(std::span<const std::uint8_t> mask, std::vector<std::uint32_t>& positions) {
    for (std::size_t at = 0; at < mask.size(); at += 8) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, mask.data() + at, std::min<std::size_t>(8, mask.size() - at));
        for (; bits != 0; bits &= bits - 1) {
            const auto bit = static_cast<std::size_t>(std::countr_zero(bits));
            positions.push_back(static_cast<std::uint32_t>(8 * at + bit));
        }
    }
}

/// The positions of all coded tiles, tile after tile; each mask has as many bits as announced.
Result<std::vector<std::uint32_t>> read_positions(std::span<const std::uint8_t> mask,
                                                  std::span<const TileBase> tiles) {
    std::vector<std::uint32_t> positions;
    positions.reserve(coded_changes(tiles));
    for (const TileBase& tile : tiles) {
        if (tile.mode != TileMode::coded) continue;
        const std::size_t bytes = mask_bytes(tile.base.size());
        const std::size_t before = positions.size();
        append_set_bits(mask.first(bytes), positions);
        mask = mask.subspan(bytes);
        const std::size_t found = positions.size() - before;
        if (found != tile.changed) {
            return Error{ErrorCode::corrupt, fmt::format("the bits of a tile mark {} changes of {}",
                                                         found, tile.changed)};
        }
        if (positions.back() >= tile.base.size()) {
            return Error{ErrorCode::corrupt, fmt::format("bit {} is set in a tile of {} words",
                                                         positions.back(), tile.base.size())};
        }
    }
    return positions;
}

class BitmaskZstd final : public Codec {
public:
    std::string_view name() const override { return "bitmask-zstd"; }
    std::string_view summary() const override {
        return "one bit per word and the next words of the changes in two zstd level 3 frames per "
               "unit";
    }

    TileMode choose_mode(const TileDiff& tile) const override {
        return choose_shorter(tile, mask_bytes(tile.base.size()) + 2 * tile.changes->changed());
    }

    void encode(Device&,
                std::span<const TileDiff> tiles,
                std::span<TileMode> modes,
                ByteVector& body) const override {
        append_raw_tiles(tiles, modes, body);
        if (!any_in(modes, TileMode::coded)) return;
        std::vector<std::uint8_t> mask;
        std::vector<std::uint16_t> words;
        for (std::size_t t = 0; t < tiles.size(); ++t) {
            if (modes[t] != TileMode::coded) continue;
            const std::size_t first = mask.size();
            mask.resize(first + mask_bytes(tiles[t].base.size()));
            for_each_change(tiles[t], [&](std::uint32_t index, std::uint16_t next) {
                std::uint8_t& byte = mask[first + index / 8];
                byte = static_cast<std::uint8_t>(byte | 1u << (index % 8));
                words.push_back(next);
            });
        }
        append_stream(std::as_bytes(std::span(mask)), kLevel, body);
        append_stream(std::as_bytes(std::span(words)), kLevel, body);
    }

    Status decode(Device& device,
                  ByteSpan body,
                  std::span<const TileBase> tiles,
                  std::span<Changes> changes) const override {
        return decode_list(device, body, tiles, changes, ValueKind::next,
                           [&](ByteReader& reader) { return read_list(reader, tiles); });
    }

private:
    static Result<TilesList> read_list(ByteReader& reader, std::span<const TileBase> tiles) {
        REFIT_TRY(mask, read_values<std::uint8_t>(reader, mask_bytes(tiles), "the bit mask"));
        REFIT_TRY(words, read_values<std::uint16_t>(reader, coded_changes(tiles), "next words"));
        REFIT_TRY(positions, read_positions(mask, tiles));
        return TilesList{std::move(positions), std::move(words)};
    }
};

}  // namespace

std::unique_ptr<Codec> make_bitmask_zstd() { return std::make_unique<BitmaskZstd>(); }

}  // namespace refit
