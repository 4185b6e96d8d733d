// Small checkpoints, and the whole way from two of them to an .rfd file and back.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/rng.hpp"
#include "engine/codec/container.hpp"
#include "kernels/device.hpp"

namespace refit::test {

using WordVector = std::vector<std::uint16_t>;

/// Two versions of one catalog, in canonical order.
struct Sample {
    Catalog catalog;
    WordVector base;
    WordVector next;
};

inline Catalog make_catalog(std::vector<TensorSpec> specs) {
    auto catalog = Catalog::make(std::move(specs));
    EXPECT_TRUE(catalog.has_value());
    return std::move(catalog).value();
}

/// Random words; of every million about `per_million` differ in `next`, by any XOR but zero.
inline std::pair<WordVector, WordVector> random_words(Rng& rng,
                                                      std::size_t words,
                                                      std::uint64_t per_million) {
    WordVector base(words);
    WordVector next(words);
    for (std::size_t i = 0; i < words; ++i) {
        base[i] = static_cast<std::uint16_t>(rng.next());
        const std::uint64_t mask = rng.chance(per_million) ? 1 + rng.below(0xFFFF) : 0;
        next[i] = static_cast<std::uint16_t>(base[i] ^ mask);
    }
    return {base, next};
}

/// Four classes, so four tiles: sparse, unchanged, all changed, and half a dozen words.
inline Sample small_sample() {
    Rng rng(20, 1);
    Catalog catalog = make_catalog({{"a.weight", WordType::bf16, {12, 10}},
                                    {"b.weight", WordType::bf16, {40}},
                                    {"c.weight", WordType::f16, {5, 5}},
                                    {"d.weight", WordType::bf16, {6}}});
    auto [base, next] = random_words(rng, 191, 60'000);
    for (std::size_t i = 120; i < 160; ++i) next[i] = base[i];
    for (std::size_t i = 160; i < 185; ++i) next[i] = static_cast<std::uint16_t>(base[i] ^ 1u);
    next[0] = static_cast<std::uint16_t>(base[0] ^ 0x8000u);
    next[186] = static_cast<std::uint16_t>(base[186] ^ 2u);
    return Sample{std::move(catalog), std::move(base), std::move(next)};
}

struct DeltaOptions {
    std::string codec = "gap-xor-zstd";
    std::uint64_t unit_words = 160;
    std::uint32_t chunk_bytes = 64;
    std::uint32_t chunks_per_part = 2;
    std::vector<Attachment> attachments{};
};

constexpr std::uint64_t kSalt = 0x5A17;

inline Hash256 version_of(Device& device, const Catalog& catalog, const WordVector& words) {
    const Grid grid(catalog);
    const MemoryWeights weights(catalog, words);
    std::vector<std::uint64_t> digests;
    for (const Tile& tile : grid.tiles()) {
        WordVector tile_words(tile.words);
        weights.read_tile(tile, tile_words);
        digests.push_back(device.digest(tile_words, identity_placements(catalog, tile), kSalt));
    }
    return version_id(catalog.id(), kSalt, digests);
}

inline OpenRecord open_for(Device& device, const Sample& sample, const DeltaOptions& options) {
    OpenRecord open;
    open.catalog = sample.catalog.id();
    open.grid = Grid(sample.catalog).id();
    open.codec = options.codec;
    open.salt = kSalt;
    open.number = 1;
    open.base_version = version_of(device, sample.catalog, sample.base);
    open.unit_words = options.unit_words;
    open.chunk_bytes = options.chunk_bytes;
    return open;
}

/// Every unit of the sample, encoded.
inline std::vector<EncodedUnit> encode_units(Device& device,
                                             const Sample& sample,
                                             const DeltaOptions& options) {
    const Grid grid(sample.catalog);
    const DeltaContext context{sample.catalog, grid, kSalt};
    const MemoryWeights base(sample.catalog, sample.base);
    const MemoryWeights next(sample.catalog, sample.next);
    const Codec& codec = *find_codec(options.codec).value();
    std::vector<EncodedUnit> units;
    for (const UnitRange range : make_units(grid, options.unit_words))
        units.push_back(encode_unit(device, codec, context, range, base, next));
    return units;
}

inline ByteVector encode_rfd(Device& device, const Sample& sample, const DeltaOptions& options) {
    ByteVector file;
    const OpenRecord open = open_for(device, sample, options);
    RfdWriter writer([&](ByteSpan bytes) { file.insert(file.end(), bytes.begin(), bytes.end()); },
                     sample.catalog, open);
    PartBuilder builder(open, options.chunks_per_part);
    std::uint64_t changed = 0;
    for (const EncodedUnit& unit : encode_units(device, sample, options)) {
        changed += unit.changed_words;
        if (const auto part = builder.add(unit.bytes)) writer.write(*part);
    }
    if (const auto part = builder.flush()) writer.write(*part);
    writer.finish(options.attachments, builder.parts(), changed,
                  version_of(device, sample.catalog, sample.next));
    return file;
}

/// Decodes unit after unit of one payload onto `words`; base words are read from `base`.
inline Status decode_payload(Device& device,
                             const DeltaContext& context,
                             const Codec& codec,
                             std::span<const UnitRange> units,
                             ByteSpan payload,
                             std::pair<const Weights*, WordVector*> weights) {
    const UnitDecoder decoder(device, codec, context);
    const BaseReader read_base = read_base_from(*weights.first, context.grid);
    DecodedUnit unit;
    for (const UnitRange range : units) {
        REFIT_CHECK(decoder.decode(range, payload, read_base, unit));
        payload = payload.subspan(unit.bytes);
        for (DecodedTile& decoded : unit.tiles) {
            const auto tile_words = overwrite_tile(device, context, decoded);
            for (const Piece& piece : context.grid.tile(decoded.tile).pieces) {
                const std::uint64_t at =
                    context.catalog.tensor(piece.tensor).first_word + piece.tensor_first;
                std::copy_n(tile_words.begin() + static_cast<std::ptrdiff_t>(piece.tile_first),
                            piece.words, weights.second->begin() + static_cast<std::ptrdiff_t>(at));
            }
        }
    }
    if (payload.empty()) return Done{};
    return Error{ErrorCode::corrupt, "bytes are left over behind the last unit"};
}

/// What `apply` does, in memory: every check, then the next words.
inline Result<WordVector> decode_rfd(Device& device,
                                     const RfdReader& file,
                                     const WordVector& base) {
    const OpenRecord& open = file.manifest().open;
    if (file.catalog().words().count != base.size())
        return Error{ErrorCode::wrong_base, "the catalog has another size"};
    if (open.base_version != version_of(device, file.catalog(), base))
        return Error{ErrorCode::wrong_base, "the base is another version"};
    REFIT_TRY(codec, find_codec(open.codec));
    const Grid grid(file.catalog());
    const DeltaContext context{file.catalog(), grid, open.salt};
    const std::vector<UnitRange> units = make_units(grid, open.unit_words);
    const MemoryWeights weights(file.catalog(), base);
    WordVector next = base;
    for (std::size_t i = 0; i < file.manifest().parts.size(); ++i) {
        const PartRecord& part = file.manifest().parts[i];
        REFIT_TRY(payload, file.read_payload(i));
        REFIT_CHECK(decode_payload(device, context, *codec,
                                   std::span(units).subspan(part.first_unit, part.unit_count),
                                   payload, {&weights, &next}));
    }
    if (file.manifest().seal.next_version != version_of(device, file.catalog(), next))
        return Error{ErrorCode::mismatch, "the result is another version"};
    return next;
}

inline Result<WordVector> decode_rfd(Device& device,
                                     const std::filesystem::path& path,
                                     const WordVector& base) {
    REFIT_TRY(file, RfdReader::open(path));
    return decode_rfd(device, file, base);
}

/// A file that lives as long as the test.
class TemporaryFile {
public:
    explicit TemporaryFile(const std::string& name)
        : path_(std::filesystem::temp_directory_path() /
                ("refit-" + std::to_string(::getpid()) + "-" + name)) {}
    ~TemporaryFile() {
        std::error_code ignored;
        std::filesystem::remove(path_, ignored);
    }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;

    void write(ByteSpan bytes) const {
        std::ofstream file(path_, std::ios::binary | std::ios::trunc);
        file.write(reinterpret_cast<const char*>(bytes.data()),
                   static_cast<std::streamsize>(bytes.size()));
        ASSERT_TRUE(file.good());
    }
    const std::filesystem::path& path() const { return path_; }

private:
    std::filesystem::path path_;
};

}  // namespace refit::test
