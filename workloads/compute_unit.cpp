#include "workloads/compute_unit.hpp"

#include <utility>

#include "workloads/encode_checkpoints.hpp"

namespace refit {

UnitWork::UnitWork(Device& device, const Codec& codec, WordPair pair)
    : device_(device),
      codec_(codec),
      catalog_(std::move(pair.catalog)),
      grid_(catalog_),
      base_(catalog_, std::move(pair.base)),
      next_(catalog_, std::move(pair.next)),
      units_(make_units(grid_, catalog_.words().count)),
      encoder_(device, codec, context()) {
    REFIT_ASSERT(units_.size() == 1);
    encode();
}

DeltaContext UnitWork::context() const { return {catalog_, grid_, kFileSalt}; }

Bytes UnitWork::encode() {
    encoder_.encode(units_, base_, next_, encoded_);
    return size_of(words());
}

Bytes UnitWork::stage() {
    const Status staged =
        UnitDecoder(device_, codec_, context())
            .decode(units_.front(), encoded_.front().bytes, read_base_from(base_, grid_), staged_);
    REFIT_ASSERT(staged.has_value());
    return size_of(words());
}

std::uint64_t UnitWork::staged_words() const {
    std::uint64_t words = 0;
    for (const DecodedTile& tile : staged_.tiles) words += tile.changes.changed();
    return words;
}

}  // namespace refit
