// full: the next words of every tile, changed or not. The baseline every other codec is held to.
#include "engine/codec/body.hpp"
#include "engine/codec/builtin.hpp"

namespace refit {

namespace {

class Full final : public Codec {
public:
    std::string_view name() const override { return "full"; }
    std::string_view summary() const override { return "every word, plain, changed or not"; }

    TileMode choose_mode(const TileDiff&) const override { return TileMode::raw; }

    void encode(Device&,
                std::span<const TileDiff> tiles,
                std::span<TileMode> modes,
                ByteVector& body) const override {
        append_raw_tiles(tiles, modes, body);
    }

    Status decode(Device& device,
                  ByteSpan body,
                  std::span<const TileBase> tiles,
                  std::span<Changes> changes) const override {
        if (any_in(tiles, TileMode::empty) || any_in(tiles, TileMode::coded))
            return Error{ErrorCode::corrupt, "full sends every tile raw, but one is not"};
        ByteReader reader(body);
        REFIT_CHECK(decode_raw_tiles(device, reader, tiles, changes));
        return reader.finish("the body of a unit");
    }
};

}  // namespace

std::unique_ptr<Codec> make_full() { return std::make_unique<Full>(); }

}  // namespace refit
