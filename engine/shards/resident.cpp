#include "engine/shards/resident.hpp"

#include <algorithm>
#include <string>

namespace refit {

Resident::Resident(Device& device, const DeltaContext& context, const ShardMap& map)
    : device_(device),
      context_(context),
      weights_(device, context.catalog, context.grid, map),
      rank_digests_(map.ranks().size()),
      tile_digests_(context.grid.tiles().size()) {
    for (std::uint32_t r = 0; r < map.ranks().size(); ++r)
        rank_placements_.push_back(map.all_placements(context.catalog, r));
}

void Resident::clear() {
    drop_staged();
    weights_.clear();
    std::ranges::fill(rank_digests_, 0);
    std::ranges::fill(tile_digests_, 0);
}

Status Resident::stage(const OpenRecord& open, const PartRecord& part, ByteSpan payload) {
    REFIT_TRY(codec, find_codec(open.codec));
    const std::vector<UnitRange> units = make_units(context_.grid, open.unit_words);
    if (part.unit_count > units.size() || part.first_unit > units.size() - part.unit_count)
        return Error{ErrorCode::corrupt, "a part names units the grid does not have"};
    const UnitDecoder decoder(device_, *codec, context_);
    const BaseReader read_base = [this](std::uint32_t tile, std::vector<std::uint16_t>& copy) {
        copy.resize(context_.grid.tile(tile).words);
        weights_.read_tile(context_.grid.tile(tile), copy);
        return std::span<const std::uint16_t>(copy);
    };
    std::vector<DecodedTile> decoded;
    for (std::uint32_t u = 0; u < part.unit_count; ++u) {
        DecodedUnit unit;
        REFIT_CHECK(decoder.decode(units[part.first_unit + u], payload, read_base, unit));
        payload = payload.subspan(static_cast<std::size_t>(unit.bytes));
        std::ranges::move(unit.tiles, std::back_inserter(decoded));
    }
    if (!payload.empty()) return Error{ErrorCode::corrupt, "a part has bytes after its last unit"};
    for (DecodedTile& tile : decoded) stage_tile(std::move(tile));
    return Done{};
}

void Resident::stage_tile(DecodedTile tile) {
    StagedTile staged{tile.tile, std::move(tile.changes), tile.next_digest, {}};
    for (std::uint32_t r = 0; r < weights_.rank_count(); ++r) {
        staged.rank_change.push_back(device_.digest_change(
            tile.base, staged.changes, weights_.placements(r, tile.tile), context_.salt));
    }
    staged_words_ += staged.changes.changed();
    staged_.push_back(std::move(staged));
}

void Resident::drop_staged() {
    staged_.clear();
    staged_words_ = 0;
    overwritten_ = false;
}

Bytes Resident::staged_bytes() const {
    std::uint64_t bytes = 0;
    for (const StagedTile& tile : staged_) bytes += tile.changes.bytes();
    return Bytes{bytes};
}

void Resident::overwrite() {
    for (const StagedTile& tile : staged_)
        for (std::uint32_t r = 0; r < weights_.rank_count(); ++r)
            device_.overwrite(weights_.rank(r), tile.changes, weights_.placements(r, tile.tile));
    if (overwritten_) return;
    overwritten_ = true;
    for (const StagedTile& tile : staged_) {
        tile_digests_[tile.tile] = tile.next_digest;
        for (std::uint32_t r = 0; r < weights_.rank_count(); ++r)
            rank_digests_[r] += tile.rank_change[r];
    }
}

Status Resident::check(const Hash256& expected) {
    std::vector<std::uint64_t> actual(weights_.rank_count());
    device_.for_each(weights_.rank_count(), [&](std::uint64_t rank, unsigned) {
        const auto r = static_cast<std::uint32_t>(rank);
        actual[rank] = device_.digest(weights_.rank(r), rank_placements_[rank], context_.salt);
    });
    for (std::uint32_t r = 0; r < weights_.rank_count(); ++r) {
        if (actual[r] == rank_digests_[r]) continue;
        return Error{ErrorCode::mismatch, "rank " + std::to_string(r) + " of layout " +
                                              weights_.map().layout() +
                                              " holds words that differ from the version's"};
    }
    if (version() != expected)
        return Error{ErrorCode::mismatch, "the resident version is not the one the seal names"};
    words_checked_ += weights_.held_words();
    return Done{};
}

Hash256 Resident::version() const {
    return version_id(context_.catalog.id(), context_.salt, tile_digests_);
}

}  // namespace refit
