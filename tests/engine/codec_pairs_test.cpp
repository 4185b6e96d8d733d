// Every word codec is exact for every (base, next) pair of 16-bit patterns.
//
// Method     For each base word all 65,536 next words pass through encode() and decode() in one
//            tile, in an order of its own. Most codecs would fall back to raw words there, so for
//            them three unchanged words of the same base stand between any two.
//            REFIT_PAIR_BASES says how many base words are taken: 65536 is the whole proof.
// Command    REFIT_PAIR_BASES=65536 build/tests/engine/codec_pairs_test
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <thread>

#include "tests/engine/codec_fixture.hpp"

namespace refit {
namespace {

using test::WordVector;

constexpr std::size_t kPatterns = 65'536;
constexpr std::size_t kSpread = 4;  // one change in four words: coded by every codec but `full`

/// Zeros, subnormals, ones, the largest finite word, infinities, NaN with payloads; then a seeded
/// order of the others.
std::vector<std::uint16_t> base_words(std::size_t count) {
    std::vector<std::uint16_t> order{0x0000, 0x8000, 0x0001, 0x807F, 0x0080, 0x3F80, 0xBF80,
                                     0x7F7F, 0x7F80, 0xFF80, 0x7F81, 0x7FC0, 0xFFC1, 0xFFFF};
    std::vector<bool> seen(kPatterns);
    for (const std::uint16_t word : order) seen[word] = true;
    Rng rng(2026, 0);
    const std::size_t start = rng.below(kPatterns);
    for (std::size_t i = 0; i < kPatterns; ++i) {
        const auto word = static_cast<std::uint16_t>(start + i * 40'503u);  // odd: a permutation
        if (!seen[word]) order.push_back(word);
    }
    order.resize(std::min(count, kPatterns));
    return order;
}

/// The staging list stored into `words`, as the comment of Changes says it.
void store(const Changes& changes, WordVector& words) {
    std::size_t position = 0;
    std::size_t word = 0;
    for (const SegmentChanges& segment : changes.segments) {
        const std::size_t first = std::size_t{segment.segment} * kSegmentWords;
        for (std::size_t k = 0; k < segment.stored; ++k) {
            const std::size_t at = segment.dense ? k : changes.positions.at(position++);
            words.at(first + at) = changes.words.at(word++);
        }
    }
}

/// Through the codec and back; says what went wrong, or nothing.
std::string fault_of(Device& device,
                     const Codec& codec,
                     const WordVector& base,
                     const WordVector& next) {
    Changes changes;
    device.diff(base, next, changes);
    const TileDiff diff{base, next, &changes};
    TileMode mode = codec.choose_mode(diff);
    ByteVector body;
    codec.encode(device, std::span(&diff, 1), std::span(&mode, 1), body);
    if (codec.name() != "full" && mode != TileMode::coded) return "the tile is not coded";
    const TileBase tile{base, mode, static_cast<std::uint32_t>(changes.changed())};
    std::vector<Changes> decoded(1);
    const Status status = codec.decode(device, body, std::span(&tile, 1), decoded);
    if (!status.has_value()) return status.error().what;
    WordVector result = base;
    store(decoded[0], result);
    return result == next ? "" : "the words differ";
}

bool may_send_raw_tiles(const Codec& codec) {
    const std::string_view name = codec.name();
    return !name.starts_with("full") && name != "xor-zstd" && name != "planes-zstd";
}

/// All pairs of one base word. Each next word stands once in the tile: 40,503 is odd.
std::string fault_of_base(Device& device, std::uint16_t word) {
    const WordVector base(kPatterns, word);
    WordVector next(kPatterns);
    for (std::size_t i = 0; i < kPatterns; ++i)
        next[i] = static_cast<std::uint16_t>((i + word) * 40'503u);
    const WordVector spread_base(kSpread * kPatterns, word);
    WordVector spread_next = spread_base;
    for (std::size_t i = 0; i < kPatterns; ++i) spread_next[kSpread * i + i % kSpread] = next[i];
    for (const auto& codec : builtin_codecs()) {
        const bool spread = may_send_raw_tiles(*codec);
        const std::string fault =
            fault_of(device, *codec, spread ? spread_base : base, spread ? spread_next : next);
        if (!fault.empty()) return std::string(codec->name()) + ": " + fault;
    }
    return "";
}

std::size_t bases_wanted() {
    const char* text = std::getenv("REFIT_PAIR_BASES");
    if (text == nullptr) return 128;
    const std::string_view digits = text;
    std::size_t count = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), count);
    EXPECT_TRUE(read.ec == std::errc{} && read.ptr == digits.data() + digits.size() && count > 0)
        << "REFIT_PAIR_BASES=" << digits << " is not a number of base words";
    return count;
}

TEST(Codec, IsExactForEveryNextWordOfEachBaseWord) {
    const std::vector<std::uint16_t> bases = base_words(bases_wanted());
    std::atomic<std::size_t> taken{0};
    std::mutex guard;
    std::vector<std::string> faults;
    const auto work = [&] {
        const auto device = make_cpu_device(1);
        for (std::size_t i = taken++; i < bases.size(); i = taken++) {
            const std::string fault = fault_of_base(*device, bases[i]);
            const std::scoped_lock lock(guard);
            if (!fault.empty()) faults.push_back("base " + std::to_string(bases[i]) + ", " + fault);
        }
    };
    {
        std::vector<std::jthread> threads;
        for (unsigned i = make_cpu_device(0)->lanes(); i > 0; --i) threads.emplace_back(work);
    }
    for (const std::string& fault : faults) ADD_FAILURE() << fault;
    RecordProperty("pairs", std::to_string(bases.size() * kPatterns));
    std::printf("%zu base words x %zu next words x %zu codecs\n", bases.size(), kPatterns,
                builtin_codecs().size());
}

}  // namespace
}  // namespace refit
