// xor-zstd: base ^ next of every word of the unit's changed tiles, zeros included, in one frame.
#include "engine/codec/body.hpp"
#include "engine/codec/builtin.hpp"

namespace refit {

namespace {

constexpr int kLevel = 1;

/// Most words are zero: four at a time are skipped before any is looked at.
void collect_masks(std::span<const std::uint16_t> dense,
                   std::vector<std::uint32_t>& index,
                   std::vector<std::uint16_t>& mask) {
    std::size_t i = 0;
    const auto take = [&](std::size_t end) {
        for (; i < end; ++i) {
            if (dense[i] == 0) continue;
            index.push_back(static_cast<std::uint32_t>(i));
            mask.push_back(dense[i]);
        }
    };
    while (i + 4 <= dense.size()) {
        std::uint64_t four = 0;
        std::memcpy(&four, dense.data() + i, sizeof(four));
        if (four == 0) {
            i += 4;
        } else {
            take(i + 4);
        }
    }
    take(dense.size());
}

class XorZstd final : public Codec {
public:
    std::string_view name() const override { return "xor-zstd"; }
    std::string_view summary() const override {
        return "XOR of all words of changed tiles in one zstd level 1 frame per unit";
    }

    TileMode choose_mode(const TileDiff& tile) const override {
        return tile.changes->changed() == 0 ? TileMode::empty : TileMode::coded;
    }

    void encode(std::span<const TileDiff> tiles,
                std::span<const TileMode> modes,
                ByteVector& body) const override {
        append_raw_tiles(tiles, modes, body);
        if (!any_in(modes, TileMode::coded)) return;
        std::vector<std::uint16_t> dense;
        for (std::size_t t = 0; t < tiles.size(); ++t) {
            if (modes[t] != TileMode::coded) continue;
            const auto base = tiles[t].base;
            const auto next = tiles[t].next;
            const std::size_t first = dense.size();
            dense.resize(first + base.size());
            for (std::size_t i = 0; i < base.size(); ++i)
                dense[first + i] = static_cast<std::uint16_t>(base[i] ^ next[i]);
        }
        append_stream(std::as_bytes(std::span(dense)), kLevel, body);
    }

    Status decode(Device& device,
                  ByteSpan body,
                  std::span<const TileBase> tiles,
                  std::span<Changes> changes) const override {
        REFIT_CHECK(check_tiles(tiles));
        ByteReader reader(body);
        REFIT_CHECK(decode_raw_tiles(device, reader, tiles, changes));
        if (!any_in(tiles, TileMode::coded)) return reader.finish("the body of a unit");
        std::vector<std::uint16_t> dense(coded_words(tiles));
        REFIT_CHECK(read_stream(reader, std::as_writable_bytes(std::span(dense)), "XOR words"));
        REFIT_CHECK(reader.finish("the body of a unit"));

        std::vector<std::span<const std::uint16_t>> parts(tiles.size());
        std::span<const std::uint16_t> rest = dense;
        for (std::size_t i = 0; i < tiles.size(); ++i) {
            if (tiles[i].mode != TileMode::coded) continue;
            parts[i] = rest.first(tiles[i].base.size());
            rest = rest.subspan(tiles[i].base.size());
        }
        return for_each_tile(device, tiles.size(), [&](std::size_t i) -> Status {
            if (tiles[i].mode != TileMode::coded) return Done{};
            std::vector<std::uint32_t> index;
            std::vector<std::uint16_t> mask;
            index.reserve(tiles[i].changed);
            mask.reserve(tiles[i].changed);
            collect_masks(parts[i], index, mask);
            return stage_list(device, tiles[i], index, mask, changes[i]);
        });
    }
};

}  // namespace

std::unique_ptr<Codec> make_xor_zstd() { return std::make_unique<XorZstd>(); }

}  // namespace refit
