// From a base checkpoint and an .rfd file to the bytes of the new checkpoint, in one pass.
//
// Order    the units of words, then the opaque tiles. Every unit's base is checked before it is
//          decoded; the identity of the whole base, of the result and of every opaque item after
//          the last. So whoever receives the bytes gives them a name only after decode() succeeds.
// Memory   one part of the file, one unit's words.
// Errors   wrong_base about the base; corrupt and mismatch about the delta.
#pragma once

#include <functional>

#include "workloads/encode_checkpoints.hpp"

namespace refit {

/// Receives each tile of words in ascending order: its base words and its changes.
using TileSink = std::function<void(const Tile& tile, DecodedTile& decoded)>;

/// Receives each opaque tile in order; `is_base`: these are the base's bytes.
using OpaqueSink =
    std::function<void(std::size_t item, std::uint64_t first, ByteSpan next, bool is_base)>;

/// Identity of the words, from a full read of all tiles on all lanes.
Hash256 read_version(Device& device,
                     const DeltaContext& context,
                     const Weights& weights,
                     const ByteProgress& progress);

class CheckpointDecoder {
public:
    /// All outlive the decoder. `delta_name` is for messages. Errors: wrong_base: tensors the
    /// delta needs are not there; unsupported: its codec.
    static Result<CheckpointDecoder> create(Device& device,
                                            const RfdReader& delta,
                                            const Checkpoint& base,
                                            std::string delta_name);

    Status decode(const TileSink& tiles, const OpaqueSink& opaque, const ByteProgress& progress);

    DeltaContext context() const { return {delta_.catalog(), grid_, delta_.manifest().open.salt}; }

private:
    CheckpointDecoder(Device& device,
                      const RfdReader& delta,
                      const Checkpoint& base,
                      const Codec& codec,
                      SelectedWeights words);

    struct OpaqueState {
        std::uint32_t item = 0;
        std::uint32_t tile = 0;
        bool from_base = false;  // some tile of the item came from the base
        std::unique_ptr<Sha256> hash;
    };

    Status decode_part(std::size_t part, const TileSink& tiles, const OpaqueSink& opaque);
    Status decode_words(UnitRange range, ByteSpan& rest, const TileSink& tiles);
    Status decode_opaque(ByteSpan& rest, const OpaqueSink& sink);
    Status finish_items();
    Status finish_item();
    Status check_versions() const;
    Error wrong_base(const ByteProgress& progress) const;
    Error base_is(const Hash256& version) const;
    Device& device_;
    const RfdReader& delta_;
    const Checkpoint& base_;
    const Codec& codec_;
    SelectedWeights words_;
    std::string delta_name_;
    Grid grid_;
    std::vector<UnitRange> units_;
    DecodedUnit unit_;  // kept for its buffers
    std::vector<std::uint64_t> base_digests_;
    std::vector<std::uint64_t> next_digests_;
    OpaqueState opaque_;
    Bytes done_;  // since progress was told
};

}  // namespace refit
