#include "app/bench/codec_pass.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>

#include "engine/codec/container.hpp"
#include "workloads/encode_checkpoints.hpp"

namespace refit {
namespace {

constexpr std::uint64_t kBlockWords = kTileWordsMax;  // of compare and copy, per task

class Stopwatch {
public:
    /// Seconds since the last call, or since it was made.
    double lap() {
        const auto now = std::chrono::steady_clock::now();
        const double seconds = std::chrono::duration<double>(now - start_).count();
        start_ = now;
        return seconds;
    }

private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

std::uint64_t blocks_of(std::uint64_t words) { return (words + kBlockWords - 1) / kBlockWords; }

std::span<const std::uint16_t> block_of(const std::vector<std::uint16_t>& words,
                                        std::uint64_t block) {
    const std::uint64_t first = block * kBlockWords;
    return std::span(words).subspan(first, std::min(kBlockWords, words.size() - first));
}

}  // namespace

void SpanWeights::read(std::uint32_t tensor,
                       std::uint64_t first,
                       std::span<std::uint16_t> out) const {
    std::ranges::copy(view(tensor, first, out.size()), out.begin());
}

std::span<const std::uint16_t> SpanWeights::view(std::uint32_t tensor,
                                                 std::uint64_t first,
                                                 std::uint64_t words) const {
    const Tensor& from = catalog_.tensor(tensor);
    REFIT_ASSERT(words <= from.words && first <= from.words - words);
    return words_.subspan(from.first_word + first, words);
}

std::uint64_t count_mismatches(std::span<const std::uint16_t> words,
                               std::span<const std::uint16_t> expected) {
    REFIT_ASSERT(words.size() == expected.size());
    std::uint64_t mismatches = 0;
    for (std::size_t i = 0; i < words.size(); ++i) mismatches += words[i] != expected[i] ? 1 : 0;
    return mismatches;
}

CodecPass::CodecPass(Device& device, std::shared_ptr<const WordPair> pair)
    : device_(device),
      pair_(std::move(pair)),
      grid_(pair_->catalog),
      base_(pair_->catalog, pair_->base),
      next_(pair_->catalog, pair_->next),
      stats_(measure_change(device, pair_->catalog, grid_, base_, next_)),
      copy_(pair_->base) {}

DeltaContext CodecPass::context() const { return {pair_->catalog, grid_, kFileSalt}; }

void CodecPass::encode(const Codec& codec) {
    const std::uint64_t unit_words = file_unit_words(codec);
    if (encodes_ != &codec) {
        encoder_ = std::make_unique<UnitEncoder>(device_, codec, context());
        encodes_ = &codec;
        units_ = make_units(grid_, unit_words);
        batch_ = static_cast<std::size_t>(kBatchWords / unit_words);
        encoded_.clear();
    }
    encoded_.resize((units_.size() + batch_ - 1) / batch_);
    for (std::size_t batch = 0; batch < encoded_.size(); ++batch) {
        const std::size_t first = batch * batch_;
        const std::size_t count = std::min(batch_, units_.size() - first);
        encoder_->encode(std::span(units_).subspan(first, count), base_, next_, encoded_[batch]);
    }
}

const EncodedUnit& CodecPass::encoded(std::size_t unit) const {
    return encoded_[unit / batch_][unit % batch_];
}

Status CodecPass::decode(const Codec& codec, std::size_t unit) {
    return UnitDecoder(device_, codec, context())
        .decode(units_[unit], encoded(unit).bytes, read_base_from(base_, grid_), unit_);
}

Result<std::uint64_t> CodecPass::decoded_mismatches(const Codec& codec) {
    std::uint64_t mismatches = 0;
    std::vector<std::uint16_t> expected;
    for (std::size_t i = 0; i < units_.size(); ++i) {
        REFIT_CHECK(decode(codec, i));
        for (DecodedTile& decoded : unit_.tiles) {
            const Tile& tile = grid_.tile(decoded.tile);
            expected.resize(tile.words);
            next_.read_tile(tile, expected);
            mismatches += count_mismatches(overwrite_tile(device_, context(), decoded), expected);
        }
    }
    return mismatches;
}

std::uint64_t CodecPass::container_bytes(const Codec& codec) const {
    // Version ids have one length whatever they say, so they stay zero here.
    OpenRecord open;
    open.catalog = pair_->catalog.id();
    open.grid = grid_.id();
    open.codec = codec.name();
    open.unit_words = file_unit_words(codec);
    open.chunk_bytes = kFileChunkBytes;
    std::uint64_t bytes = 0;
    RfdWriter writer([&](ByteSpan written) { bytes += written.size(); }, pair_->catalog, open);
    PartBuilder builder(open, kFileChunksPerPart);
    for (std::size_t i = 0; i < units_.size(); ++i)
        if (const auto part = builder.add(encoded(i).bytes)) writer.write(*part);
    if (const auto part = builder.flush()) writer.write(*part);
    writer.finish({}, builder.parts(), stats_.changed, {});
    return bytes;
}

CodecCheck CodecPass::check(const Codec& codec) {
    encode(codec);
    CodecCheck result;
    result.container_bytes = container_bytes(codec);
    const auto mismatches = decoded_mismatches(codec);
    if (mismatches.has_value()) {
        result.mismatches = mismatches.value();
    } else {
        result.failure = mismatches.error().what;
    }
    return result;
}

void CodecPass::compare() {
    std::atomic<bool> differs = false;
    device_.for_each(blocks_of(copy_.size()), [&](std::uint64_t block, unsigned) {
        const auto one = block_of(pair_->base, block);
        if (std::memcmp(one.data(), block_of(copy_, block).data(), one.size_bytes()) != 0)
            differs = true;
    });
    compared_equal_ = !differs;
}

void CodecPass::copy() {
    device_.for_each(blocks_of(copy_.size()), [&](std::uint64_t block, unsigned) {
        const auto from = block_of(pair_->base, block);
        std::memcpy(&copy_[block * kBlockWords], from.data(), from.size_bytes());
    });
}

PassSeconds CodecPass::run(const Codec& codec) {
    PassSeconds seconds;
    Stopwatch watch;
    encode(codec);
    seconds.encode = watch.lap();
    compare();
    seconds.compare = watch.lap();
    for (std::size_t i = 0; i < units_.size(); ++i) {
        const Status decoded = decode(codec, i);
        REFIT_ASSERT(decoded.has_value());
    }
    seconds.decode = watch.lap();
    copy();
    seconds.copy = watch.lap();
    return seconds;
}

}  // namespace refit
