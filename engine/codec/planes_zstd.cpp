// planes-zstd: base ^ next of every word of the unit's changed tiles, the low bytes of all of them
// before the high bytes, in one frame.
//
// Why      most changes leave the high byte alone, so half of the input is one long run of zeros.
#include "engine/codec/body.hpp"
#include "engine/codec/builtin.hpp"

namespace refit {

namespace {

constexpr int kLevel = 3;

std::vector<std::uint8_t> split_planes(std::span<const std::uint16_t> words) {
    std::vector<std::uint8_t> planes(2 * words.size());
    for (std::size_t i = 0; i < words.size(); ++i) {
        planes[i] = static_cast<std::uint8_t>(words[i]);
        planes[words.size() + i] = static_cast<std::uint8_t>(words[i] >> 8);
    }
    return planes;
}

std::vector<std::uint16_t> join_planes(std::span<const std::uint8_t> planes) {
    std::vector<std::uint16_t> words(planes.size() / 2);
    for (std::size_t i = 0; i < words.size(); ++i)
        words[i] = static_cast<std::uint16_t>(planes[i] | planes[words.size() + i] << 8);
    return words;
}

class PlanesZstd final : public Codec {
public:
    std::string_view name() const override { return "planes-zstd"; }
    std::string_view summary() const override {
        return "XOR of all words of changed tiles as two byte planes in one zstd level 3 frame per "
               "unit";
    }

    TileMode choose_mode(const TileDiff& tile) const override { return choose_shorter(tile, 0); }

    void encode(Device&,
                std::span<const TileDiff> tiles,
                std::span<TileMode> modes,
                ByteVector& body) const override {
        if (!any_in(modes, TileMode::coded)) return;
        const auto planes = split_planes(dense_masks(tiles, modes));
        append_stream(std::as_bytes(std::span(planes)), kLevel, body);
    }

    Status decode(Device& device,
                  ByteSpan body,
                  std::span<const TileBase> tiles,
                  std::span<Changes> changes) const override {
        const auto read = [&](ByteReader& reader) -> Result<std::vector<std::uint16_t>> {
            REFIT_TRY(planes,
                      read_values<std::uint8_t>(reader, 2 * coded_words(tiles), "XOR planes"));
            return join_planes(planes);
        };
        return decode_dense(device, body, tiles, changes, name(), read);
    }
};

}  // namespace

std::unique_ptr<Codec> make_planes_zstd() { return std::make_unique<PlanesZstd>(); }

}  // namespace refit
