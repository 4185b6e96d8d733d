// full-zstd: the next words of every tile of the unit in one zstd frame.
#include <algorithm>

#include "engine/codec/body.hpp"
#include "engine/codec/builtin.hpp"

namespace refit {

namespace {

constexpr int kLevel = 3;

class FullZstd final : public Codec {
public:
    std::string_view name() const override { return "full-zstd"; }
    std::string_view summary() const override {
        return "every word, changed or not, in one zstd level 3 frame per unit";
    }

    TileMode choose_mode(const TileDiff&) const override { return TileMode::coded; }

    void encode(Device&,
                std::span<const TileDiff> tiles,
                std::span<TileMode> modes,
                ByteVector& body) const override {
        REFIT_ASSERT(std::ranges::count(modes, TileMode::coded) == std::ssize(tiles));
        if (tiles.empty()) return;
        ByteVector words;
        for (const TileDiff& tile : tiles) append_words(tile.next, words);
        append_stream(words, kLevel, body);
    }

    Status decode(Device& device,
                  ByteSpan body,
                  std::span<const TileBase> tiles,
                  std::span<Changes> changes) const override {
        if (any_in(tiles, TileMode::empty) || any_in(tiles, TileMode::raw))
            return Error{ErrorCode::corrupt, "full-zstd codes every tile, but one is not"};
        ByteReader reader(body);
        std::vector<std::uint16_t> words(coded_words(tiles));
        if (!tiles.empty())
            REFIT_CHECK(read_stream(reader, std::as_writable_bytes(std::span(words)), "words"));
        REFIT_CHECK(reader.finish("the body of a unit"));

        std::vector<std::span<const std::uint16_t>> next;
        std::span<const std::uint16_t> rest = words;
        for (const TileBase& tile : tiles) {
            next.push_back(rest.first(tile.base.size()));
            rest = rest.subspan(tile.base.size());
        }
        return for_each_tile(device, tiles.size(), [&](std::size_t i) {
            return stage_words(device, tiles[i], next[i], changes[i]);
        });
    }
};

}  // namespace

std::unique_ptr<Codec> make_full_zstd() { return std::make_unique<FullZstd>(); }

}  // namespace refit
