// One codec over one pair of versions in memory: what it costs, whether it is exact, how long it
// takes beside plain reading and copying of the same words.
//
// Encode    UnitEncoder over all units, in memory, in units and batches as `refit encode` makes
//           them: reading, diff, both digests, bodies.
// Decode    UnitDecoder over all units to staging lists: base check, decoding, delta check.
// Compare   memcmp of base and an equal copy of it, so that it reads two versions to the end: the
//           floor of any encoder.
// Copy      base copied over that copy.
// Threads   all four use the lanes of one device and are called from one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/codec/change_stats.hpp"
#include "engine/codec/delta.hpp"
#include "workloads/profile.hpp"

namespace refit {

/// Canonical words somewhere in memory.
class SpanWeights final : public Weights {
public:
    SpanWeights(const Catalog& catalog, std::span<const std::uint16_t> words)
        : catalog_(catalog), words_(words) {}
    void read(std::uint32_t tensor,
              std::uint64_t first,
              std::span<std::uint16_t> out) const override;
    std::span<const std::uint16_t> view(std::uint32_t tensor,
                                        std::uint64_t first,
                                        std::uint64_t words) const override;

private:
    const Catalog& catalog_;
    std::span<const std::uint16_t> words_;
};

struct PassSeconds {
    double encode = 0;
    double compare = 0;
    double decode = 0;
    double copy = 0;
};

struct CodecCheck {
    std::uint64_t container_bytes = 0;  // everything of the .rfd file but copied headers
    std::uint64_t mismatches = 0;       // decoded words that are not the next ones
    std::string failure;                // why decoding was refused; empty if it was not

    bool exact() const { return mismatches == 0 && failure.empty(); }
};

/// Words of `words` that differ in any bit from those of `expected`.
std::uint64_t count_mismatches(std::span<const std::uint16_t> words,
                               std::span<const std::uint16_t> expected);

class CodecPass {
public:
    CodecPass(Device& device, std::shared_ptr<const WordPair> pair);
    CodecPass(const CodecPass&) = delete;
    CodecPass& operator=(const CodecPass&) = delete;

    const ChangeStats& stats() const { return stats_; }

    /// Encodes, decodes, overwrites a copy of the base and compares it with next, untimed.
    CodecCheck check(const Codec& codec);

    /// One of each, in the order of PassSeconds. The codec has passed check().
    PassSeconds run(const Codec& codec);

    /// Did the last compare find the two equal? Are they?
    bool compare_is_right() const { return compared_equal_; }
    bool copy_is_right() const { return copy_ == pair_->base; }

private:
    DeltaContext context() const;
    /// Into encoded_, whose buffers are used again from pass to pass, as from batch to batch of a
    /// file.
    void encode(const Codec& codec);
    /// Into unit_, for the same reason.
    Status decode(const Codec& codec, std::size_t unit);
    Result<std::uint64_t> decoded_mismatches(const Codec& codec);
    std::uint64_t container_bytes(const Codec& codec) const;
    const EncodedUnit& encoded(std::size_t unit) const;
    void compare();
    void copy();

    Device& device_;
    std::shared_ptr<const WordPair> pair_;
    Grid grid_;
    std::vector<UnitRange> units_;  // as files of encodes_ have them
    std::size_t batch_ = 1;         // units encoded at once
    SpanWeights base_;
    SpanWeights next_;
    ChangeStats stats_;
    std::vector<std::uint16_t> copy_;
    const Codec* encodes_ = nullptr;  // what encoder_ was made for
    std::unique_ptr<UnitEncoder> encoder_;
    std::vector<std::vector<EncodedUnit>> encoded_;  // by batch
    DecodedUnit unit_;
    bool compared_equal_ = false;
};

}  // namespace refit
