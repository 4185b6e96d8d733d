// coo-zstd: row step, column and next word of every change, in three zstd frames.
//
// Rows     A codec sees tiles, not the rows of their tensors: a row here is 4096 words of a tile,
//          the columns of the checkpoints this layout is used for (FORMAT.md, section 3).
// Source   the sparse layout 3.1 of grail (PULSE, arXiv:2602.03839): 8-bit row steps, 16-bit
//          columns, whole next words, zstd level 1.
#include <fmt/format.h>

#include "engine/codec/body.hpp"
#include "engine/codec/builtin.hpp"

namespace refit {

namespace {

constexpr int kLevel = 1;
constexpr std::uint32_t kRowWords = 4096;
constexpr std::uint8_t kEscape = 0xFF;  // 255 rows down, go on

/// The absolute positions of all coded tiles, tile after tile.
Result<std::vector<std::uint32_t>> read_positions(std::span<const std::uint8_t> steps,
                                                  std::span<const std::uint16_t> columns,
                                                  std::span<const TileBase> tiles) {
    std::vector<std::uint32_t> positions;
    positions.reserve(columns.size());
    std::size_t at = 0;
    for (const TileBase& tile : tiles) {
        if (tile.mode != TileMode::coded) continue;
        std::uint64_t row = 0;
        std::uint32_t column = 0;
        for (std::uint32_t k = 0; k < tile.changed; ++k) {
            std::uint64_t step = 0;
            for (; at < steps.size() && steps[at] == kEscape; ++at) step += kEscape;
            if (at == steps.size()) return Error{ErrorCode::corrupt, "the row steps end too early"};
            step += steps[at++];
            row += step;
            column = columns[positions.size()] + (step == 0 ? column : 0);
            if (column >= kRowWords) {
                return Error{ErrorCode::corrupt,
                             fmt::format("column {} of a row of {} words", column, kRowWords)};
            }
            const std::uint64_t position = row * kRowWords + column;
            if (position >= tile.base.size()) {
                return Error{ErrorCode::corrupt,
                             fmt::format("a row step leads to position {} of a tile of {} words",
                                         position, tile.base.size())};
            }
            positions.push_back(static_cast<std::uint32_t>(position));
        }
    }
    if (at != steps.size()) {
        return Error{ErrorCode::corrupt,
                     fmt::format("{} row steps are left over", steps.size() - at)};
    }
    return positions;
}

/// The most row steps an honest encoder can need: one per change, one escape per 255 rows.
std::uint64_t steps_max(std::span<const TileBase> tiles) {
    std::uint64_t total = 0;
    for (const TileBase& tile : tiles) {
        if (tile.mode != TileMode::coded) continue;
        total += tile.changed + tile.base.size() / (std::uint64_t{kEscape} * kRowWords);
    }
    return total;
}

class CooZstd final : public Codec {
public:
    std::string_view name() const override { return "coo-zstd"; }
    std::string_view summary() const override {
        return "8-bit row steps, 16-bit columns and next words of the changes in three zstd level "
               "1 frames per unit";
    }

    TileMode choose_mode(const TileDiff& tile) const override {
        return choose_shorter(tile, 5 * tile.changes->changed());
    }

    void encode(Device&,
                std::span<const TileDiff> tiles,
                std::span<TileMode> modes,
                ByteVector& body) const override {
        append_raw_tiles(tiles, modes, body);
        if (!any_in(modes, TileMode::coded)) return;
        std::vector<std::uint8_t> steps;
        std::vector<std::uint16_t> columns;
        std::vector<std::uint16_t> words;
        for (std::size_t t = 0; t < tiles.size(); ++t) {
            if (modes[t] != TileMode::coded) continue;
            std::uint32_t row = 0;
            std::uint32_t before = 0;
            for_each_change(tiles[t], [&](std::uint32_t index, std::uint16_t next) {
                const std::uint32_t column = index % kRowWords;
                std::uint32_t step = index / kRowWords - row;
                columns.push_back(static_cast<std::uint16_t>(step == 0 ? column - before : column));
                row += step;
                before = column;
                for (; step >= kEscape; step -= kEscape) steps.push_back(kEscape);
                steps.push_back(static_cast<std::uint8_t>(step));
                words.push_back(next);
            });
        }
        append_counted_stream(steps, kLevel, body);
        append_stream(std::as_bytes(std::span(columns)), kLevel, body);
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
        const std::uint64_t changed = coded_changes(tiles);
        const auto count = reader.read<std::uint32_t>();
        if (count > steps_max(tiles)) {
            return Error{ErrorCode::corrupt,
                         fmt::format("{} row steps for {} changes", count, changed)};
        }
        REFIT_TRY(steps, read_values<std::uint8_t>(reader, count, "row steps"));
        REFIT_TRY(columns, read_values<std::uint16_t>(reader, changed, "columns"));
        REFIT_TRY(words, read_values<std::uint16_t>(reader, changed, "next words"));
        REFIT_TRY(positions, read_positions(steps, columns, tiles));
        return TilesList{std::move(positions), std::move(words)};
    }
};

}  // namespace

std::unique_ptr<Codec> make_coo_zstd() { return std::make_unique<CooZstd>(); }

}  // namespace refit
