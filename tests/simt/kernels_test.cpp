// Every kernel gives the CPU backend's bytes under every schedule: linear data.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/device.hpp"
#include "tests/kernels/support.hpp"
#include "tests/simt/support.hpp"

namespace refit {
namespace {

/// Around 0, 1, a group, a warp, a segment, the segments of a block.
const std::size_t kLengths[] = {0,   1,    2,    7,    8,    9,     255,   256,
                                257, 2049, 4095, 4096, 4097, 16383, 16384, 16385};

WordVector special_words(std::size_t count, std::size_t shift) {
    const std::uint16_t specials[] = {0x0000, 0x8000, 0x7F80, 0xFF80, 0x7FC0, 0x7F81,
                                      0xFFFF, 0x0001, 0x8001, 0x3F80, 0x0080};
    WordVector words(count);
    for (std::size_t i = 0; i < count; ++i)
        words[i] = specials[(i + shift * (i / std::size(specials))) % std::size(specials)];
    return words;
}

struct Pair {
    std::string name;
    WordVector base;
    WordVector next;
};

std::vector<Pair> pairs_of(TestRng& rng, std::size_t length) {
    const WordVector base = random_words(rng, length);
    std::vector<Pair> pairs;
    pairs.push_back({"none", base, base});
    WordVector next = base;
    for (std::uint16_t& word : next) word = static_cast<std::uint16_t>(word ^ 0x8000);
    pairs.push_back({"all", base, next});
    if (length > 0) {
        next = base;
        next.front() = static_cast<std::uint16_t>(next.front() ^ 1);
        next.back() = static_cast<std::uint16_t>(next.back() ^ 0x100);
        pairs.push_back({"ends", base, next});
    }
    pairs.push_back({"few", base, random_next(rng, base, 30)});
    pairs.push_back({"special", special_words(length, 0), special_words(length, 1)});
    for (const std::size_t changed : {kSparseMax, kSparseMax + 1}) {
        if (length < changed) continue;
        next = base;
        for (std::size_t i = 0; i < changed; ++i)
            next[i] = static_cast<std::uint16_t>(next[i] ^ rng.mask());
        pairs.push_back({std::to_string(changed), base, next});
    }
    return pairs;
}

TEST(SimtKernels, DiffAndCompareGiveTheBytesOfTheCpu) {
    const auto device = make_cpu_device(1);
    TestRng rng{41};
    for (const std::size_t length : kLengths) {
        for (const Pair& pair : pairs_of(rng, length)) {
            Changes want;
            device->diff(pair.base, pair.next, want);
            for (const simt::Schedule& schedule : every_schedule()) {
                SimtKernels kernels(schedule);
                ASSERT_EQ(kernels.diff(pair.base, pair.next), want)
                    << pair.name << " of " << length << ", " << schedule_text(schedule);
                ASSERT_EQ(kernels.compare(pair.base, pair.next), want.changed());
            }
        }
    }
}

TEST(SimtKernels, AlignmentDoesNotShow) {
    const auto device = make_cpu_device(1);
    TestRng rng{42};
    const std::size_t length = 5000;
    for (std::size_t base_shift = 0; base_shift < 9; ++base_shift) {
        for (const std::size_t next_shift : {base_shift, (base_shift + 3) % 9}) {
            const WordVector words = random_words(rng, length);
            const WordVector changed = random_next(rng, words, 100);
            WordVector base(base_shift);
            WordVector next(next_shift);
            base.insert(base.end(), words.begin(), words.end());
            next.insert(next.end(), changed.begin(), changed.end());
            const WordSpan base_view = WordSpan(base).subspan(base_shift);
            const WordSpan next_view = WordSpan(next).subspan(next_shift);
            Changes want;
            device->diff(base_view, next_view, want);
            SimtKernels kernels({simt::Order::random, base_shift, 2});
            ASSERT_EQ(kernels.diff(base_view, next_view), want);
            ASSERT_EQ(kernels.compare(base_view, next_view), want.changed());
        }
    }
}

TEST(SimtKernels, EveryBaseWordAgainstEveryOtherClassOfWord) {
    // All 2^16 base words, each with the same, its sign, each other bit, and all bits flipped.
    WordVector base;
    WordVector next;
    for (unsigned word = 0; word < 0x10000; ++word) {
        const unsigned masks[] = {0, 0x8000, 1u << word % 15, 0xFFFF};
        base.push_back(static_cast<std::uint16_t>(word));
        next.push_back(static_cast<std::uint16_t>(word ^ masks[word / 15 % 4]));
    }
    SimtKernels kernels({simt::Order::random, 9, 2});
    EXPECT_EQ(kernels.diff(base, next), expected_changes(base, next));
}

TEST(SimtKernels, ABatchIsTheDiffOfEachTile) {
    const auto device = make_cpu_device(1);
    TestRng rng{43};
    for (const simt::Schedule& schedule : every_schedule()) {
        std::vector<kernels::TileSpan> tiles;
        std::uint64_t end = rng.below(9);
        for (const std::uint64_t words : {4096u, 1u, 0u, 9000u, 17u, 4097u, 8192u}) {
            tiles.push_back({end, words});
            end += words + rng.below(9);
        }
        const WordVector base = random_words(rng, end);
        WordVector next = random_next(rng, base, 30);
        for (std::size_t i = tiles[3].first; i < tiles[3].first + 3000; ++i)
            next[i] = static_cast<std::uint16_t>(next[i] ^ 1);
        SimtKernels kernels(schedule);
        const StagedArrays staged = kernels.diff_batch(base, next, tiles);
        for (std::uint32_t t = 0; t < tiles.size(); ++t) {
            Changes want;
            device->diff(WordSpan(base).subspan(tiles[t].first, tiles[t].words),
                         WordSpan(next).subspan(tiles[t].first, tiles[t].words), want);
            ASSERT_EQ(changes_of(staged, t), want) << t << ", " << schedule_text(schedule);
        }
    }
}

TEST(SimtKernels, TheScanAddsUpAcrossItsBlocks) {
    TestRng rng{44};
    for (const simt::Schedule& schedule : every_schedule()) {
        for (const unsigned count : {1u, 127u, 128u, 129u, 128u * 33, 128u * 40 + 5}) {
            std::vector<std::uint32_t> changed(count);
            std::vector<kernels::SegmentSpan> spans(count);
            for (unsigned i = 0; i < count; ++i) {
                spans[i].words = static_cast<std::uint32_t>(1 + rng.below(kSegmentWords));
                changed[i] = static_cast<std::uint32_t>(rng.below(spans[i].words + 1));
            }
            std::vector<unsigned long long> parts(kernels::scan_parts(count));
            std::vector<unsigned long long> offsets(count + 1);
            unsigned ticket = 0;
            simt::Queue queue{schedule, {}};
            simt::launch(queue, kernels::scan_shape(count), kernels::scan_staged, changed.data(),
                         spans.data(), count,
                         kernels::ScanScratch{offsets.data(), parts.data(), &ticket});
            std::uint32_t positions = 0;
            std::uint32_t words = 0;
            for (unsigned i = 0; i <= count; ++i) {
                const kernels::StoredCounts at = kernels::unpack_stored(offsets[i]);
                ASSERT_EQ(at.positions, positions) << i << " of " << count;
                ASSERT_EQ(at.words, words) << i << " of " << count;
                if (i == count) break;
                const bool dense = changed[i] > kSparseMax;
                positions += dense ? 0 : changed[i];
                words += dense ? spans[i].words : changed[i];
            }
        }
    }
}

TEST(SimtKernels, TheLargestBatchFitsItsPackedCounts) {
    // 2^31 - 1 words, all stored, as two counts of 31 bits that do not touch.
    const std::uint32_t most = 0x7FFFFFFFu;
    const unsigned long long packed = std::uint64_t{most} << kernels::kStoredBits | most;
    EXPECT_EQ(kernels::unpack_stored(packed).positions, most);
    EXPECT_EQ(kernels::unpack_stored(packed).words, most);
    EXPECT_LE(packed, kernels::kPartCounts);
    EXPECT_EQ(kernels::packed_stored(2048, 4096), 2048ull << 31 | 2048);
    EXPECT_EQ(kernels::packed_stored(2049, 4096), 4096ull << 31);
    EXPECT_EQ(kernels::packed_stored(0, 4096), 0u);
}

TEST(SimtKernels, CompareCountsWithAnyGrid) {
    TestRng rng{45};
    const WordVector a = random_words(rng, 10007);
    const WordVector b = random_next(rng, a, 200);
    const std::uint64_t want = expected_changes(a, b).changed();
    for (const std::uint32_t blocks : {1u, 2u, 3u, 100u}) {
        simt::Queue queue;
        unsigned long long differing = 0;
        simt::launch(queue, kernels::compare_shape(a.size(), blocks), kernels::compare_words,
                     a.data(), b.data(), std::uint64_t{a.size()}, &differing);
        EXPECT_EQ(differing, want);
    }
}

TEST(Divisor, IsExactForEveryDividend) {
    TestRng rng{46};
    std::vector<std::uint64_t> divisors;
    for (std::uint64_t d = 1; d <= 300; ++d) divisors.push_back(d);
    for (unsigned bit = 8; bit < 64; ++bit)
        for (const std::uint64_t near : {~std::uint64_t{0}, std::uint64_t{0}, std::uint64_t{1}})
            divisors.push_back((std::uint64_t{1} << bit) + near);
    for (int i = 0; i < 1000; ++i) divisors.push_back((rng.next() >> rng.below(64)) | 1);
    for (const std::uint64_t d : divisors) {
        const kernels::Divisor by = kernels::make_divisor(d);
        const std::uint64_t top = ~std::uint64_t{0} / d * d;
        for (const std::uint64_t n :
             {std::uint64_t{0}, std::uint64_t{1}, d - 1, d, d + 1, 2 * d - 1, top - 1, top,
              ~std::uint64_t{0}, rng.next(), rng.next() >> rng.below(64)})
            ASSERT_EQ(kernels::divide(n, by), n / d) << n << " / " << d;
    }
}

}  // namespace
}  // namespace refit
