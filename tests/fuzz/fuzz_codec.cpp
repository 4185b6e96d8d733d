#include <algorithm>
#include <array>

#include "tests/fuzz/targets.hpp"

namespace refit::fuzz {

namespace {

/// Mostly short: what a tile holds costs more than what its body says.
constexpr std::array<std::uint32_t, 24> kSizes{0,   1,   2,   3,   5,   8,    16,   17,
                                               31,  32,  64,  65,  100, 128,  200,  256,
                                               300, 400, 512, 700, 900, 1200, 2000, 4100};
constexpr std::size_t kTilesMax = 3;

/// Words of all exponents and both signs, the same for every input.
std::span<const std::uint16_t> base_words() {
    static const std::vector<std::uint16_t> words = [] {
        std::vector<std::uint16_t> made(kTilesMax * kSizes.back());
        for (std::size_t i = 0; i < made.size(); ++i)
            made[i] = static_cast<std::uint16_t>((i * 0x9E37'79B9u) >> 7);
        return made;
    }();
    return words;
}

/// The whole tile in memory of its own.
Placement identity(std::uint64_t words) {
    Placement placement;
    placement.tile_words = words;
    placement.columns = std::max<std::uint64_t>(words, 1);
    placement.row_count = 1;
    placement.col_count = words;
    placement.local_row_stride = words;
    return placement;
}

/// Is the list what diff() says about the words it leads to?
void check_changes(Device& device, const TileBase& tile, const Changes& changes) {
    REFIT_ASSERT(changes.changed() == tile.changed);
    std::vector<std::uint16_t> next(tile.base.begin(), tile.base.end());
    const Placement placement = identity(next.size());
    device.overwrite(next, changes, std::span(&placement, 1));
    Changes expected;
    device.diff(tile.base, next, expected);
    REFIT_ASSERT(changes == expected);
}

}  // namespace

CodecInput read_codec_input(ByteSpan bytes) {
    ByteReader reader(bytes);
    CodecInput input;
    input.tiles.resize(1 + reader.read<std::uint8_t>() % kTilesMax);
    std::span<const std::uint16_t> base = base_words();
    for (TileBase& tile : input.tiles) {
        const std::size_t words = kSizes[reader.read<std::uint8_t>() % kSizes.size()];
        tile.base = base.first(words);
        base = base.subspan(words);
        tile.mode = static_cast<TileMode>(reader.read<std::uint8_t>() % 3);
        tile.changed = reader.read<std::uint16_t>();
    }
    input.body = reader.take(reader.remaining());
    return input;
}

int fuzz_codec(const Codec& codec, Device& device, ByteSpan bytes) {
    const CodecInput input = read_codec_input(bytes);
    std::vector<Changes> changes(input.tiles.size());
    const Status status = codec.decode(device, input.body, input.tiles, changes);
    if (!status.has_value()) {
        REFIT_ASSERT(!status.error().what.empty());
        return 0;
    }
    for (std::size_t i = 0; i < changes.size(); ++i)
        check_changes(device, input.tiles[i], changes[i]);
    return 0;
}

}  // namespace refit::fuzz
