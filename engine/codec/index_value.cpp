// index-value: a 32-bit position and the 16-bit next word of every change, nothing compressed.
#include "engine/codec/body.hpp"
#include "engine/codec/builtin.hpp"

namespace refit {

namespace {

class IndexValue final : public Codec {
public:
    std::string_view name() const override { return "index-value"; }
    std::string_view summary() const override {
        return "32-bit index and 16-bit next word per change, not compressed";
    }

    TileMode choose_mode(const TileDiff& tile) const override {
        const std::uint64_t changed = tile.changes->changed();
        if (changed == 0) return TileMode::empty;
        return 6 * changed >= 2 * tile.base.size() ? TileMode::raw : TileMode::coded;
    }

    void encode(Device&,
                std::span<const TileDiff> tiles,
                std::span<TileMode> modes,
                ByteVector& body) const override {
        append_raw_tiles(tiles, modes, body);
        std::uint64_t changed = 0;
        for (std::size_t t = 0; t < tiles.size(); ++t)
            if (modes[t] == TileMode::coded) changed += tiles[t].changes->changed();
        std::size_t at = body.size();
        body.resize(at + 6 * changed);
        for (std::size_t t = 0; t < tiles.size(); ++t) {
            if (modes[t] != TileMode::coded) continue;
            const std::uint64_t count = tiles[t].changes->changed();
            write_changes(tiles[t], body.data() + at, body.data() + at + 4 * count);
            at += 6 * count;
        }
    }

    Status decode(Device& device,
                  ByteSpan body,
                  std::span<const TileBase> tiles,
                  std::span<Changes> changes) const override {
        REFIT_CHECK(check_tiles(tiles));
        ByteReader reader(body);
        REFIT_CHECK(decode_raw_tiles(device, reader, tiles, changes));
        std::vector<ByteSpan> indices(tiles.size());
        std::vector<ByteSpan> values(tiles.size());
        for (std::size_t i = 0; i < tiles.size(); ++i) {
            if (tiles[i].mode != TileMode::coded) continue;
            indices[i] = reader.take(std::uint64_t{4} * tiles[i].changed);
            values[i] = reader.take(std::uint64_t{2} * tiles[i].changed);
        }
        REFIT_CHECK(reader.finish("the body of a unit"));
        return for_each_tile(device, tiles.size(), [&](std::size_t i) -> Status {
            if (tiles[i].mode != TileMode::coded) return Done{};
            return stage_values(device, tiles[i], indices[i], values[i], changes[i]);
        });
    }

private:
    static void write_changes(const TileDiff& tile, std::byte* indices, std::byte* values) {
        for_each_change(tile, [&](std::uint32_t at, std::uint16_t next) {
            std::memcpy(indices, &at, sizeof(at));
            std::memcpy(values, &next, sizeof(next));
            indices += sizeof(at);
            values += sizeof(next);
        });
    }

    static Status stage_values(
        Device& device, const TileBase& tile, ByteSpan indices, ByteSpan values, Changes& out) {
        std::vector<std::uint32_t> index(tile.changed);
        std::vector<std::uint16_t> mask(tile.changed);
        std::memcpy(index.data(), indices.data(), indices.size());
        std::memcpy(mask.data(), values.data(), values.size());
        for (std::size_t k = 0; k < index.size(); ++k) {
            // stage_list() refuses the position; here it must only not be followed.
            if (index[k] >= tile.base.size()) continue;
            mask[k] = static_cast<std::uint16_t>(mask[k] ^ tile.base[index[k]]);
        }
        return stage_list(device, tile, index, mask, out);
    }
};

}  // namespace

std::unique_ptr<Codec> make_index_value() { return std::make_unique<IndexValue>(); }

}  // namespace refit
