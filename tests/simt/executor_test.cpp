// The executor gives the CUDA names their meaning, whatever the schedule.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "tests/simt/support.hpp"
#include "tests/simt/sync_kernels.cuh"

namespace refit {
namespace {

using kernels::SyncShared;

__global__ void record_ids(std::uint64_t* out) {
    const std::uint64_t block =
        blockIdx.x + gridDim.x * (blockIdx.y + std::uint64_t{gridDim.y} * blockIdx.z);
    const std::uint64_t thread =
        threadIdx.x + blockDim.x * (threadIdx.y + std::uint64_t{blockDim.y} * threadIdx.z);
    out[block * blockDim.x * blockDim.y * blockDim.z + thread] = 1000 * block + thread;
}

TEST(Executor, RunsEveryThreadOfEveryBlockOnce) {
    for (const simt::Schedule& schedule : every_schedule()) {
        simt::Queue queue{schedule, {}};
        std::vector<std::uint64_t> out(30 * 24);
        simt::launch(queue, {"record_ids", {5, 3, 2}, {4, 3, 2}}, record_ids, out.data());
        for (std::size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], i / 24 * 1000 + i % 24);
        EXPECT_EQ(queue.counters.threads, 720u);
        EXPECT_EQ(queue.counters.launches, 1u);
    }
}

__global__ void record_order(unsigned* next, unsigned* order) {
    order[atomicAdd(next, 1u)] = blockIdx.x * blockDim.x + threadIdx.x;
    __syncthreads();
    order[atomicAdd(next, 1u)] = blockIdx.x * blockDim.x + threadIdx.x;
}

std::vector<unsigned> order_under(const simt::Schedule& schedule) {
    simt::Queue queue{schedule, {}};
    unsigned next = 0;
    std::vector<unsigned> order(2 * 3 * 4);
    simt::launch(queue, {"record_order", {3}, {4}}, record_order, &next, order.data());
    return order;
}

TEST(Executor, OrdersAreWhatTheySayAndRepeatable) {
    const std::vector<unsigned> forward = order_under({simt::Order::forward, 0, 1});
    EXPECT_EQ(forward, (std::vector<unsigned>{0, 1, 2, 3, 0, 1, 2,  3,  4, 5, 6,  7,
                                              4, 5, 6, 7, 8, 9, 10, 11, 8, 9, 10, 11}));
    const std::vector<unsigned> reverse = order_under({simt::Order::reverse, 0, 1});
    EXPECT_EQ(reverse, std::vector<unsigned>({11, 10, 9, 8, 11, 10, 9, 8, 7, 6, 5, 4,
                                              7,  6,  5, 4, 3,  2,  1, 0, 3, 2, 1, 0}));
    const std::vector<unsigned> two = order_under({simt::Order::forward, 0, 2});
    EXPECT_EQ(std::vector<unsigned>(two.begin(), two.begin() + 8),
              (std::vector<unsigned>{0, 1, 2, 3, 4, 5, 6, 7}));
    std::set<std::vector<unsigned>> random;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const simt::Schedule schedule{simt::Order::random, seed, 2};
        EXPECT_EQ(order_under(schedule), order_under(schedule));
        random.insert(order_under(schedule));
    }
    EXPECT_EQ(random.size(), 20u);
}

TEST(Executor, BarriersAndWarpBarriersHold) {
    std::vector<unsigned> in(256);
    for (unsigned i = 0; i < 256; ++i) in[i] = 7 * i + 3;
    for (const simt::Schedule& schedule : every_schedule()) {
        simt::Queue queue{schedule, {}};
        std::vector<unsigned> out(256);
        simt::launch(queue, {"turn_around", {1}, {128}, sizeof(SyncShared)}, kernels::turn_around,
                     in.data(), out.data());
        for (unsigned i = 0; i < 256; ++i) ASSERT_EQ(out[i], in[i / 128 * 128 + 127 - i % 128]);
        simt::launch(queue, {"turn_warp", {1}, {32}, sizeof(SyncShared)}, kernels::turn_warp,
                     in.data(), out.data());
        for (unsigned i = 0; i < 64; ++i) ASSERT_EQ(out[i], in[i / 32 * 32 + 31 - i % 32]);
    }
}

TEST(Executor, BlocksHandOverThroughAFlag) {
    for (const simt::Schedule& schedule : every_schedule()) {
        simt::Queue queue{schedule, {}};
        unsigned ticket = 0;
        unsigned word = 0;
        unsigned flag = 0;
        std::vector<unsigned> out(20);
        simt::launch(queue, {"hand_over", {20}, {1}}, kernels::hand_over, &ticket, &word, &flag,
                     out.data());
        for (unsigned i = 1; i < 20; ++i) ASSERT_EQ(out[i], 42u) << schedule_text(schedule);
    }
}

__global__ void wait_for_one(unsigned setter, unsigned* flag, unsigned* seen) {
    const unsigned me = blockIdx.x * blockDim.x + threadIdx.x;
    if (me == setter) simt::store(flag, 1u, true);
    while (simt::load(flag, true) == 0) __nanosleep(20);
    atomicAdd(seen, 1u);
}

TEST(Executor, WhoWaitsLetsOthersRun) {
    for (simt::Schedule schedule : every_schedule()) {
        schedule.resident_blocks = 3;
        for (const unsigned setter : {0u, 31u, 50u, 191u}) {
            simt::Queue queue{schedule, {}};
            unsigned flag = 0;
            unsigned seen = 0;
            simt::launch(queue, {"wait_for_one", {3}, {64}}, wait_for_one, setter, &flag, &seen);
            ASSERT_EQ(seen, 192u) << schedule_text(schedule) << ", set by " << setter;
        }
    }
}

struct LaneResults {
    unsigned ballot, match, sum, least, most, both, either, odd;
    int all, any;
    std::uint64_t at, up, down, crossed, up_8, down_8, at_8;
};

__global__ void use_warp(unsigned mask, const unsigned* in, LaneResults* out) {
    const unsigned lane = threadIdx.x;
    if ((mask >> lane & 1u) == 0) return;
    const unsigned value = in[lane];
    const std::uint64_t wide = std::uint64_t{value} << 32 | lane;
    LaneResults& r = out[lane];
    r.ballot = __ballot_sync(mask, value % 3 == 0);
    r.match = __match_any_sync(mask, value % 5);
    r.sum = __reduce_add_sync(mask, value);
    r.least = __reduce_min_sync(mask, value);
    r.most = __reduce_max_sync(mask, value);
    r.both = __reduce_and_sync(mask, value);
    r.either = __reduce_or_sync(mask, value);
    r.odd = __reduce_xor_sync(mask, value);
    r.all = __all_sync(mask, value % 3 == 0);
    r.any = __any_sync(mask, value % 3 == 0);
    if (mask != ~0u) return;
    r.at = __shfl_sync(mask, wide, static_cast<int>(value % 64));
    r.up = __shfl_up_sync(mask, wide, 3);
    r.down = __shfl_down_sync(mask, wide, 5);
    r.crossed = __shfl_xor_sync(mask, wide, 17);
    r.up_8 = __shfl_up_sync(mask, wide, 3, 8);
    r.down_8 = __shfl_down_sync(mask, wide, 3, 8);
    r.at_8 = __shfl_sync(mask, wide, 13, 8);
}

void expect_lane(unsigned mask,
                 const std::array<unsigned, 32>& in,
                 const LaneResults* out,
                 unsigned lane) {
    LaneResults want{0, 0, 0, ~0u, 0, ~0u, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0};
    for (unsigned i = 0; i < 32; ++i) {
        if ((mask >> i & 1u) == 0) continue;
        const bool third = in[i] % 3 == 0;
        want.ballot |= (third ? 1u : 0u) << i;
        want.match |= (in[i] % 5 == in[lane] % 5 ? 1u : 0u) << i;
        want.sum += in[i];
        want.least = std::min(want.least, in[i]);
        want.most = std::max(want.most, in[i]);
        want.both &= in[i];
        want.either |= in[i];
        want.odd ^= in[i];
        want.all &= third ? 1 : 0;
        want.any |= third ? 1 : 0;
    }
    const LaneResults& r = out[lane];
    EXPECT_EQ(r.ballot, want.ballot);
    EXPECT_EQ(r.match, want.match);
    EXPECT_EQ(r.sum, want.sum);
    EXPECT_EQ(r.least, want.least);
    EXPECT_EQ(r.most, want.most);
    EXPECT_EQ(r.both, want.both);
    EXPECT_EQ(r.either, want.either);
    EXPECT_EQ(r.odd, want.odd);
    EXPECT_EQ(r.all, want.all);
    EXPECT_EQ(r.any, want.any);
    if (mask != ~0u) return;
    const auto wide = [&in](unsigned i) { return std::uint64_t{in[i]} << 32 | i; };
    EXPECT_EQ(r.at, wide(in[lane] % 32));
    EXPECT_EQ(r.up, wide(lane < 3 ? lane : lane - 3));
    EXPECT_EQ(r.down, wide(lane + 5 > 31 ? lane : lane + 5));
    EXPECT_EQ(r.crossed, wide(lane ^ 17));
    EXPECT_EQ(r.up_8, wide(lane % 8 < 3 ? lane : lane - 3));
    EXPECT_EQ(r.down_8, wide(lane % 8 + 3 > 7 ? lane : lane + 3));
    EXPECT_EQ(r.at_8, wide(lane / 8 * 8 + 5));
}

TEST(Executor, WarpIntrinsicsGiveWhatTheGuideSays) {
    std::array<unsigned, 32> in{};
    for (unsigned i = 0; i < 32; ++i) in[i] = i * 2654435761u;
    for (const simt::Schedule& schedule : every_schedule()) {
        for (const unsigned mask : {~0u, 0x1u, 0x80000001u, 0x00FF00FFu}) {
            simt::Queue queue{schedule, {}};
            auto out = junk<LaneResults>(32);
            simt::launch(queue, {"use_warp", {1}, {32}}, use_warp, mask, in.data(), out.data());
            for (unsigned lane = 0; lane < 32; ++lane)
                if (mask >> lane & 1u) expect_lane(mask, in, out.data(), lane);
        }
    }
}

__global__ void meet_in_halves(unsigned* out) {
    const unsigned lane = threadIdx.x;
    if (lane >= 16) out[lane] = __reduce_add_sync(0xFFFF0000u, lane);
    if (lane < 16) out[lane] = __reduce_add_sync(0x0000FFFFu, lane);
    out[lane] += __reduce_add_sync(~0u, 1);
}

TEST(Executor, ALaneMayComeLateToAWiderMask) {
    for (const simt::Schedule& schedule : every_schedule()) {
        simt::Queue queue{schedule, {}};
        std::array<unsigned, 32> out{};
        simt::launch(queue, {"meet_in_halves", {1}, {32}}, meet_in_halves, out.data());
        for (unsigned i = 0; i < 32; ++i) ASSERT_EQ(out[i], (i < 16 ? 120u : 376u) + 32);
    }
}

__global__ void use_atomics(unsigned* small, unsigned long long* wide) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(small, i);
    atomicXor(small + 1, 1u << i % 32);
    atomicOr(small + 2, 1u << i % 32);
    atomicMax(small + 3, i * 37 % 101);
    atomicAdd(wide, 1ull << 33);
    atomicMax(wide + 1, 1ull << i % 40);
}

TEST(Executor, AtomicsAndBitsGiveWhatTheGuideSays) {
    for (const simt::Schedule& schedule : every_schedule()) {
        simt::Queue queue{schedule, {}};
        std::array<unsigned, 4> small{};
        std::array<unsigned long long, 2> wide{};
        simt::launch(queue, {"use_atomics", {4}, {40}}, use_atomics, small.data(), wide.data());
        EXPECT_EQ(small, (std::array<unsigned, 4>{159 * 80, ~0u, ~0u, 100}));
        EXPECT_EQ(wide, (std::array<unsigned long long, 2>{160ull << 33, 1ull << 39}));
    }
    EXPECT_EQ(__popc(0xF0F0u), 8);
    EXPECT_EQ(__popcll(~0ull), 64);
    EXPECT_EQ(__clz(1), 31);
    EXPECT_EQ(__clz(0), 32);
    EXPECT_EQ(__clzll(1), 63);
    EXPECT_EQ(__ffs(0), 0);
    EXPECT_EQ(__ffs(8), 4);
    EXPECT_EQ(__ffsll(1ll << 40), 41);
    EXPECT_EQ(__brev(0x80000001u), 0x80000001u);
    EXPECT_EQ(__brev(6u), 0x60000000u);
    EXPECT_EQ(__umulhi(0xFFFFFFFFu, 0xFFFFFFFFu), 0xFFFFFFFEu);
    EXPECT_EQ(__umul64hi(~0ull, ~0ull), ~0ull - 1);
}

__global__ void read_shared(unsigned* out) { out[0] = simt::shared<SyncShared>().words[5]; }

TEST(Executor, SharedMemoryBeginsAsJunkInEveryBlock) {
    simt::Queue queue;
    unsigned out = 0;
    simt::launch(queue, {"read_shared", {1}, {1}, sizeof(SyncShared)}, read_shared, &out);
    EXPECT_EQ(out, 0xCDCDCDCDu);
}

TEST(Executor, LaunchesOnSeveralThreadsDoNotMeet) {
    std::vector<std::vector<std::uint64_t>> out(4, std::vector<std::uint64_t>(30 * 64));
    std::vector<std::thread> threads;
    for (auto& mine : out) {
        threads.emplace_back([&mine] {
            simt::Queue queue{{simt::Order::random, 3, 7}, {}};
            for (int round = 0; round < 20; ++round)
                simt::launch(queue, {"record_ids", {30}, {64}}, record_ids, mine.data());
        });
    }
    for (std::thread& thread : threads) thread.join();
    for (const auto& mine : out)
        for (std::size_t i = 0; i < mine.size(); ++i) ASSERT_EQ(mine[i], i / 64 * 1000 + i % 64);
}

}  // namespace
}  // namespace refit
