// gap-xor-zstd: how many words to skip before each change, and its XOR, in two zstd frames.
//
// Source   the sparse format published for NeMo-RL: 16-bit gaps beside XOR words.
#include <fmt/format.h>

#include "engine/codec/body.hpp"
#include "engine/codec/builtin.hpp"

namespace refit {

namespace {

constexpr int kLevel = 3;
constexpr std::uint16_t kEscape = 0xFFFF;  // 65535 words without a change, go on

/// The absolute positions of all coded tiles, tile after tile, from the one stream of gaps.
Result<std::vector<std::uint32_t>> read_positions(std::span<const std::uint16_t> gaps,
                                                  std::span<const TileBase> tiles) {
    std::vector<std::uint32_t> positions;
    positions.reserve(coded_changes(tiles));
    std::size_t at = 0;
    for (const TileBase& tile : tiles) {
        if (tile.mode != TileMode::coded) continue;
        std::uint64_t cursor = 0;
        for (std::uint32_t k = 0; k < tile.changed; ++k) {
            while (at < gaps.size() && gaps[at] == kEscape) {
                cursor += kEscape;
                ++at;
            }
            if (at == gaps.size()) return Error{ErrorCode::corrupt, "the gaps end too early"};
            cursor += gaps[at++];
            if (cursor >= tile.base.size()) {
                return Error{ErrorCode::corrupt,
                             fmt::format("a gap leads to position {} of a tile of {} words", cursor,
                                         tile.base.size())};
            }
            positions.push_back(static_cast<std::uint32_t>(cursor++));
        }
    }
    if (at != gaps.size())
        return Error{ErrorCode::corrupt, fmt::format("{} gaps are left over", gaps.size() - at)};
    return positions;
}

/// The most gaps an honest encoder can need: one per change, one escape per 65535 words.
std::uint64_t gaps_max(std::span<const TileBase> tiles) {
    std::uint64_t total = 0;
    for (const TileBase& tile : tiles)
        if (tile.mode == TileMode::coded) total += tile.changed + tile.base.size() / kEscape;
    return total;
}

class GapXorZstd final : public Codec {
public:
    std::string_view name() const override { return "gap-xor-zstd"; }
    std::string_view summary() const override {
        return "16-bit gaps and XOR words of the changes in two zstd level 3 frames per unit";
    }

    TileMode choose_mode(const TileDiff& tile) const override {
        return choose_shorter(tile, 4 * tile.changes->changed());
    }

    void encode(Device&,
                std::span<const TileDiff> tiles,
                std::span<TileMode> modes,
                ByteVector& body) const override {
        append_raw_tiles(tiles, modes, body);
        if (!any_in(modes, TileMode::coded)) return;
        std::vector<std::uint16_t> gaps;
        std::vector<std::uint16_t> masks;
        for (std::size_t t = 0; t < tiles.size(); ++t) {
            if (modes[t] != TileMode::coded) continue;
            std::uint32_t cursor = 0;
            for_each_change(tiles[t], [&](std::uint32_t index, std::uint16_t next) {
                std::uint32_t skip = index - cursor;
                for (; skip >= kEscape; skip -= kEscape) gaps.push_back(kEscape);
                gaps.push_back(static_cast<std::uint16_t>(skip));
                masks.push_back(static_cast<std::uint16_t>(tiles[t].base[index] ^ next));
                cursor = index + 1;
            });
        }
        append_counted_stream(gaps, kLevel, body);
        append_stream(std::as_bytes(std::span(masks)), kLevel, body);
    }

    Status decode(Device& device,
                  ByteSpan body,
                  std::span<const TileBase> tiles,
                  std::span<Changes> changes) const override {
        return decode_list(device, body, tiles, changes, ValueKind::mask,
                           [&](ByteReader& reader) { return read_list(reader, tiles); });
    }

private:
    static Result<TilesList> read_list(ByteReader& reader, std::span<const TileBase> tiles) {
        const std::uint64_t changed = coded_changes(tiles);
        const auto count = reader.read<std::uint32_t>();
        if (count > gaps_max(tiles))
            return Error{ErrorCode::corrupt, fmt::format("{} gaps for {} changes", count, changed)};
        REFIT_TRY(gaps, read_values<std::uint16_t>(reader, count, "gaps"));
        REFIT_TRY(masks, read_values<std::uint16_t>(reader, changed, "XOR words"));
        REFIT_TRY(positions, read_positions(gaps, tiles));
        return TilesList{std::move(positions), std::move(masks)};
    }
};

}  // namespace

std::unique_ptr<Codec> make_gap_xor_zstd() { return std::make_unique<GapXorZstd>(); }

}  // namespace refit
