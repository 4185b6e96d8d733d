// Parts: whole units, cut into chunks, hashed and chained.
#include "engine/codec/delta.hpp"

namespace refit {

PartBuilder::PartBuilder(OpenRecord open, std::uint32_t chunks_per_part)
    : PartBuilder(std::move(open), chunks_per_part, {}) {}

PartBuilder::PartBuilder(OpenRecord open,
                         std::uint32_t chunks_per_part,
                         std::vector<PartRecord> parts)
    : open_(std::move(open)), chunks_per_part_(chunks_per_part), parts_(std::move(parts)) {
    REFIT_ASSERT(open_.chunk_bytes > 0 && chunks_per_part_ > 0);
    if (!parts_.empty()) next_unit_ = parts_.back().first_unit + parts_.back().unit_count;
}

std::optional<Part> PartBuilder::add(ByteSpan unit_bytes) {
    REFIT_ASSERT(!unit_bytes.empty());
    pending_.insert(pending_.end(), unit_bytes.begin(), unit_bytes.end());
    ++units_pending_;
    ++next_unit_;
    if (pending_.size() < std::uint64_t{chunks_per_part_} * open_.chunk_bytes) return std::nullopt;
    return close();
}

std::optional<Part> PartBuilder::add(const RecordedUnit& unit) {
    REFIT_ASSERT(pending_.empty());
    ++units_pending_;
    ++next_unit_;
    if (!unit.closes) return std::nullopt;
    Part part{*unit.closes, {}};
    append(part.record);
    return part;
}

std::optional<Part> PartBuilder::flush() {
    if (units_pending_ == 0) return std::nullopt;
    return close();
}

Part PartBuilder::close() {
    Part part;
    part.payload = std::move(pending_);
    pending_.clear();
    PartRecord& record = part.record;
    record.payload = sha256(part.payload);
    for (std::size_t at = 0; at < part.payload.size(); at += open_.chunk_bytes) {
        const std::size_t left = part.payload.size() - at;
        const std::size_t bytes = left < open_.chunk_bytes ? left : open_.chunk_bytes;
        record.chunks.push_back(ChunkRef{static_cast<std::uint32_t>(bytes),
                                         sha256(ByteSpan(part.payload).subspan(at, bytes))});
    }
    append(record);
    return part;
}

/// Gives the record its place in the log.
void PartBuilder::append(PartRecord& record) {
    REFIT_ASSERT(record.chunks.size() <= kChunksPerPartMax);
    record.index = static_cast<std::uint32_t>(parts_.size());
    record.previous = sha256(parts_.empty() ? open_.serialize() : parts_.back().serialize());
    record.first_unit = next_unit_ - units_pending_;
    record.unit_count = units_pending_;
    record.first_chunk = 0;
    if (!parts_.empty()) {
        record.first_chunk =
            parts_.back().first_chunk + static_cast<std::uint32_t>(parts_.back().chunks.size());
    }
    units_pending_ = 0;
    parts_.push_back(record);
}

Status check_part_size(std::uint64_t unit_words,
                       std::uint32_t chunk_bytes,
                       std::uint32_t chunks_per_part) {
    // A body takes at most 2.01 bytes per word. Only small tensors make small tiles, and a catalog
    // has at most 2^20 tensors.
    const std::uint64_t unit_bytes =
        3 * (unit_words > kTileWordsMax ? unit_words : kTileWordsMax) + (kTileHeadBytes << 20);
    if (unit_words > 0 && unit_words <= kUnitWordsMax && chunk_bytes > 0 &&
        chunk_bytes <= kChunkBytesMax && chunks_per_part > 0 &&
        chunks_per_part + unit_bytes / chunk_bytes + 1 <= kChunksPerPartMax)
        return Done{};
    return Error{ErrorCode::invalid_input,
                 "units of " + std::to_string(unit_words) + " words in chunks of " +
                     std::to_string(chunk_bytes) + " bytes, " + std::to_string(chunks_per_part) +
                     " to a part, make parts of more than " + std::to_string(kChunksPerPartMax) +
                     " chunks"};
}

SealRecord make_seal(const OpenRecord& open,
                     const std::vector<PartRecord>& parts,
                     std::uint64_t changed_words,
                     const Hash256& next_version,
                     const Hash256& attachments) {
    SealRecord seal;
    seal.previous = sha256(parts.empty() ? open.serialize() : parts.back().serialize());
    seal.parts = static_cast<std::uint32_t>(parts.size());
    if (!parts.empty()) {
        const PartRecord& last = parts.back();
        seal.chunks = last.first_chunk + static_cast<std::uint32_t>(last.chunks.size());
        seal.units = std::uint64_t{last.first_unit} + last.unit_count;
    }
    for (const PartRecord& part : parts) seal.payload_bytes += part.payload_bytes().count;
    seal.changed_words = changed_words;
    seal.next_version = next_version;
    seal.attachments = attachments;
    return seal;
}

}  // namespace refit
