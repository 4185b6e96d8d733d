// xor-zstd: base ^ next of every word of the unit's changed tiles, zeros included, in one frame.
#include "engine/codec/body.hpp"
#include "engine/codec/builtin.hpp"

namespace refit {

namespace {

constexpr int kLevel = 1;

class XorZstd final : public Codec {
public:
    std::string_view name() const override { return "xor-zstd"; }
    std::string_view summary() const override {
        return "XOR of all words of changed tiles in one zstd level 1 frame per unit";
    }

    TileMode choose_mode(const TileDiff& tile) const override { return choose_shorter(tile, 0); }

    void encode(Device&,
                std::span<const TileDiff> tiles,
                std::span<TileMode> modes,
                ByteVector& body) const override {
        if (!any_in(modes, TileMode::coded)) return;
        const auto masks = dense_masks(tiles, modes);
        append_stream(std::as_bytes(std::span(masks)), kLevel, body);
    }

    Status decode(Device& device,
                  ByteSpan body,
                  std::span<const TileBase> tiles,
                  std::span<Changes> changes) const override {
        return decode_dense(device, body, tiles, changes, name(), [&](ByteReader& reader) {
            return read_values<std::uint16_t>(reader, coded_words(tiles), "XOR words");
        });
    }
};

}  // namespace

std::unique_ptr<Codec> make_xor_zstd() { return std::make_unique<XorZstd>(); }

}  // namespace refit
