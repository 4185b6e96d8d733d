#include "workloads/decode_checkpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "workloads/safetensors_json.hpp"

namespace refit {

Hash256 read_version(Device& device,
                     const DeltaContext& context,
                     const Weights& weights,
                     const ByteProgress& progress) {
    const auto tiles = context.grid.tiles();
    std::vector<std::uint64_t> digests(tiles.size());
    // In strides, so that progress and Ctrl-C are seen to on this thread.
    const std::size_t stride = std::size_t{16} * device.lanes();
    for (std::size_t first = 0; first < tiles.size(); first += stride) {
        const std::size_t count = std::min(stride, tiles.size() - first);
        device.for_each(count, [&](std::uint64_t i, unsigned) {
            const Tile& tile = tiles[first + i];
            std::vector<std::uint16_t> words(tile.words);
            weights.read_tile(tile, words);
            digests[first + i] =
                device.digest(words, identity_placements(context.catalog, tile), context.salt);
        });
        std::uint64_t words = 0;
        for (std::size_t i = first; i < first + count; ++i) words += tiles[i].words;
        progress(size_of(Words{words}));
    }
    return version_id(context.catalog.id(), context.salt, digests);
}

Result<CheckpointDecoder> CheckpointDecoder::create(Device& device,
                                                    const RfdReader& delta,
                                                    const Checkpoint& base,
                                                    std::string delta_name) {
    REFIT_TRY(codec, find_codec(delta.manifest().open.codec));
    auto words = SelectedWeights::select(base, delta.catalog());
    if (!words.has_value()) {
        Error error = words.error();
        error.what += ", which " + delta_name + " was made from";
        return error;
    }
    for (const OpaqueItem& item : delta.opaque()) {
        if (!item.has_base || find_opaque(base, item).has_value()) continue;
        return Error{ErrorCode::wrong_base,
                     fmt::format("has no {} of {} bytes, which {} was made from", shown(item.name),
                                 item.bytes, delta_name),
                     base.path().string()};
    }
    CheckpointDecoder decoder(device, delta, base, *codec, std::move(words).value());
    decoder.delta_name_ = std::move(delta_name);
    return decoder;
}

CheckpointDecoder::CheckpointDecoder(Device& device,
                                     const RfdReader& delta,
                                     const Checkpoint& base,
                                     const Codec& codec,
                                     SelectedWeights words)
    : device_(device),
      delta_(delta),
      base_(base),
      codec_(codec),
      words_(std::move(words)),
      grid_(delta.catalog()),
      units_(make_units(grid_, delta.manifest().open.unit_words)) {}

Status CheckpointDecoder::decode(const TileSink& tiles,
                                 const OpaqueSink& opaque,
                                 const ByteProgress& progress) {
    for (std::size_t i = 0; i < delta_.manifest().parts.size(); ++i) {
        Status status = decode_part(i, tiles, opaque);
        progress(std::exchange(done_, Bytes{}));
        if (status.has_value()) continue;
        if (status.error().code == ErrorCode::wrong_base && status.error().where.empty())
            return wrong_base(progress);
        return in_file(status.error(), delta_name_);
    }
    Status finished = finish_items();
    if (!finished.has_value()) return in_file(finished.error(), delta_name_);
    return check_versions();
}

Status CheckpointDecoder::decode_part(std::size_t part,
                                      const TileSink& tiles,
                                      const OpaqueSink& opaque) {
    REFIT_TRY(payload, delta_.read_payload(part));
    const PartRecord& record = delta_.manifest().parts[part];
    ByteSpan rest = payload;
    for (std::uint32_t i = 0; i < record.unit_count; ++i) {
        const std::uint64_t unit = std::uint64_t{record.first_unit} + i;
        if (unit < units_.size()) {
            REFIT_CHECK(decode_words(units_[unit], rest, tiles));
        } else {
            REFIT_CHECK(decode_opaque(rest, opaque));
        }
    }
    if (!rest.empty()) return Error{ErrorCode::corrupt, "a part holds bytes no unit uses"};
    return Done{};
}

Status CheckpointDecoder::decode_words(UnitRange range, ByteSpan& rest, const TileSink& tiles) {
    const UnitDecoder decoder(device_, codec_, context());
    REFIT_CHECK(decoder.decode(range, rest, read_base_from(words_, grid_), unit_));
    rest = rest.subspan(unit_.bytes);
    for (DecodedTile& decoded : unit_.tiles) {
        const Tile& tile = grid_.tile(decoded.tile);
        base_digests_.push_back(decoded.base_digest);
        next_digests_.push_back(decoded.next_digest);
        done_ += size_of(Words{tile.words});
        tiles(tile, decoded);
    }
    return Done{};
}

/// Closes the items behind which no tile is due; called before each tile and after the last.
Status CheckpointDecoder::finish_items() {
    const auto& items = delta_.opaque();
    while (opaque_.item < items.size() && opaque_.tile == items[opaque_.item].tiles())
        REFIT_CHECK(finish_item());
    return Done{};
}

Status CheckpointDecoder::finish_item() {
    const OpaqueItem& item = delta_.opaque()[opaque_.item];
    const Hash256 hash = opaque_.hash ? opaque_.hash->finish() : sha256({});
    const bool from_base = opaque_.from_base;
    opaque_ = OpaqueState{opaque_.item + 1, 0, false, nullptr};
    if (hash == item.hash) return Done{};
    if (from_base) {
        return Error{ErrorCode::wrong_base,
                     shown(item.name) + " is not what " + delta_name_ + " was made from",
                     base_.path().string()};
    }
    return Error{ErrorCode::corrupt, "yields other bytes for " + shown(item.name) +
                                         " than its table of opaque items says"};
}

Status CheckpointDecoder::decode_opaque(ByteSpan& rest, const OpaqueSink& sink) {
    REFIT_CHECK(finish_items());
    REFIT_ASSERT(opaque_.item < delta_.opaque().size());
    const OpaqueItem& item = delta_.opaque()[opaque_.item];
    REFIT_TRY(unit, read_opaque_unit(rest, opaque_.item, opaque_.tile, item));
    rest = rest.subspan(unit.bytes);
    ByteVector next(item.tile_bytes(opaque_.tile));
    const std::uint64_t first = opaque_.tile * kOpaqueTileBytes;
    const bool is_base = unit.mode == OpaqueMode::empty;
    if (is_base) find_opaque(base_, item)->read(first, next);
    REFIT_CHECK(expand_opaque(unit, next));
    if (!opaque_.hash) opaque_.hash = std::make_unique<Sha256>();
    opaque_.hash->update(next);
    opaque_.from_base = opaque_.from_base || is_base;
    ++opaque_.tile;
    done_ += Bytes{next.size()};
    sink(opaque_.item, first, next, is_base);
    return Done{};
}

Status CheckpointDecoder::check_versions() const {
    const Manifest& manifest = delta_.manifest();
    const auto identify = [&](std::span<const std::uint64_t> digests) {
        return version_id(delta_.catalog().id(), manifest.open.salt, digests);
    };
    if (const Hash256 base = identify(base_digests_); base != manifest.open.base_version)
        return base_is(base);
    const Hash256 version = identify(next_digests_);
    if (version == manifest.seal.next_version) return Done{};
    return Error{ErrorCode::mismatch,
                 "yields version " + short_hex(version) + ", but its seal says " +
                     short_hex(manifest.seal.next_version),
                 delta_name_};
}

/// A tile differed: which version the base really is, for the message.
Error CheckpointDecoder::wrong_base(const ByteProgress& progress) const {
    return base_is(read_version(device_, context(), words_, progress));
}

Error CheckpointDecoder::base_is(const Hash256& version) const {
    return Error{ErrorCode::wrong_base,
                 "is version " + short_hex(version) + ", but " + delta_name_ +
                     " was made from version " + short_hex(delta_.manifest().open.base_version),
                 base_.path().string()};
}

}  // namespace refit
