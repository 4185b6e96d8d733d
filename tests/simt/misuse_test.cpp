// What a kernel may not do stops the launch with kernel, thread, file and line.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/simt/support.hpp"
#include "tests/simt/sync_kernels.cuh"

namespace refit {
namespace {

using kernels::SyncShared;

// Lines that messages must name are looked up with this, so that the file may be edited.
constexpr int kFirstKernelLine = __LINE__;

__global__ void barrier_in_branch(int) {
    if (threadIdx.x < 32) {
        __syncthreads();
    } else {
        __syncthreads();
    }
}
__global__ void barrier_and_warp(int) {
    if (threadIdx.x < 32) {
        __syncthreads();
    } else {
        __syncwarp();
    }
}
__global__ void mixed_intrinsics(int) {
    if (threadIdx.x % 2 == 0) {
        __ballot_sync(~0u, 1);
    } else {
        __syncwarp();
    }
}
__global__ void different_masks(int) { __ballot_sync(threadIdx.x < 8 ? 0xFFu : ~0u, 1); }
__global__ void own_lane_left_out(int) { __ballot_sync(0xFFu, 1); }
__global__ void lane_outside_mask(int) {
    if (threadIdx.x < 8) __shfl_sync(0xFFu, threadIdx.x, 9);
}
__global__ void early_exit(int) {
    if (threadIdx.x > 40) return;
    __syncthreads();
}
__global__ void early_exit_of_a_lane(int) {
    if (threadIdx.x == 9) return;
    __syncwarp();
}
__global__ void same_call_two_lines(int) {
    if (threadIdx.x < 5) {
        __syncwarp();
    } else {
        __syncwarp();
    }
}
__global__ void too_much_shared(int) { simt::shared<SyncShared>(); }
__global__ void waits_for_ever(int) {
    static_cast<void>(blockIdx);
    while (true) __nanosleep(20);
}
__global__ void misaligned_load(int) {
    simt::load_vector(reinterpret_cast<const char*>(&simt::shared<char>()) + 6);
}
__global__ void misaligned_store(int) {
    simt::store_vector(reinterpret_cast<char*>(&simt::shared<char>()) + 8, {1, 2, 3, 4});
}
__global__ void nothing(int) {}

constexpr int kLastKernelLine = __LINE__;

struct Case {
    const char* name;
    void (*kernel)(int);
    std::vector<const char*> says;  // one of these: who notices depends on the schedule
};

std::string message_of(simt::Queue& queue, const simt::LaunchShape& shape, void (*kernel)(int)) {
    try {
        simt::launch(queue, shape, kernel, 0);
    } catch (const simt::Misuse& misuse) {
        return misuse.what();
    }
    return "";
}

void expect_place(const std::string& message) {
    const std::string file = "misuse_test.cpp:";
    const std::size_t at = message.find(file);
    ASSERT_NE(at, std::string::npos) << message;
    const int line = std::stoi(message.substr(at + file.size()));
    EXPECT_GT(line, kFirstKernelLine) << message;
    EXPECT_LT(line, kLastKernelLine) << message;
}

TEST(Misuse, StopsWithKernelThreadFileAndLine) {
    const Case cases[] = {
        {"barrier_in_branch", barrier_in_branch, {"__syncthreads in a branch"}},
        {"barrier_and_warp", barrier_and_warp, {"waits in __syncthreads", "has left the kernel"}},
        {"mixed_intrinsics", mixed_intrinsics, {"is in __syncwarp", "is in __ballot_sync"}},
        {"different_masks", different_masks, {"mask 0x000000ff", "waits for it in __ballot_sync"}},
        {"own_lane_left_out", own_lane_left_out, {"leaves out its own lane"}},
        {"lane_outside_mask", lane_outside_mask, {"reads lane 9, which is not in the mask"}},
        {"early_exit", early_exit, {"waits in __syncthreads", "has left the kernel"}},
        {"early_exit_of_a_lane",
         early_exit_of_a_lane,
         {"waits for it in __syncwarp", "names a lane in its mask that has left"}},
        {"same_call_two_lines", same_call_two_lines, {"is in __syncwarp with mask 0xffffffff"}},
        {"too_much_shared", too_much_shared, {"512 bytes in a launch with 64"}},
        {"misaligned_load", misaligned_load, {"16 bytes that is misaligned by 6"}},
        {"misaligned_store", misaligned_store, {"16 bytes that is misaligned by 8"}},
        {"waits_for_ever", waits_for_ever, {"no thread gets anywhere"}},
    };
    for (const simt::Schedule& schedule : every_schedule()) {
        for (const Case& c : cases) {
            SCOPED_TRACE(std::string(c.name) + ", " + schedule_text(schedule));
            simt::Queue queue{schedule, {}};
            const std::string message = message_of(queue, {c.name, {3}, {64}, 64}, c.kernel);
            bool said = false;
            for (const char* part : c.says) said = said || message.find(part) != std::string::npos;
            EXPECT_TRUE(said) << message;
            EXPECT_NE(message.find(std::string("kernel ") + c.name + ": block "), std::string::npos)
                << message;
            EXPECT_NE(message.find(" thread "), std::string::npos) << message;
            expect_place(message);
        }
    }
}

TEST(Misuse, NamesTheLineOfTheCall) {
    simt::Queue queue;
    const std::string message =
        message_of(queue, {"barrier_in_branch", {1}, {64}}, barrier_in_branch);
    const std::string second = "misuse_test.cpp:" + std::to_string(kFirstKernelLine + 6) +
                               ": kernel barrier_in_branch: block 0 thread 32: ";
    EXPECT_NE(message.find(second), std::string::npos) << message;
    EXPECT_NE(
        message.find("thread 0 is at the one in line " + std::to_string(kFirstKernelLine + 4)),
        std::string::npos)
        << message;
}

TEST(Misuse, WaitingForABlockThatCannotRunIsNoticed) {
    // The first block to run waits for one that is not resident, and never will be.
    simt::Queue queue{{simt::Order::forward, 0, 2}, {}};
    unsigned ticket = 1;
    unsigned flag = 0;
    EXPECT_THROW(simt::launch(queue, {"hand_over", {2}, {1}}, kernels::hand_over, &ticket, &flag,
                              &flag, &flag),
                 simt::Misuse);
}

TEST(Misuse, LaunchesBeyondTheLimitsAreRefused) {
    struct Limit {
        simt::LaunchShape shape;
        const char* says;
    };
    const Limit limits[] = {
        {{"nothing", {1}, {1025}}, "1025 threads in a block"},
        {{"nothing", {1}, {1, 1, 65}}, "65 threads in a block, the limit is 1024, 64 in z"},
        {{"nothing", {0}, {32}}, "an empty launch"},
        {{"nothing", {1}, {32, 0}}, "an empty launch"},
        {{"nothing", {1, 65536}, {32}}, "a grid too large"},
        {{"nothing", {1}, {32}, 163 * 1024 + 1}, "bytes of shared memory"},
    };
    for (const Limit& limit : limits) {
        simt::Queue queue;
        const std::string message = message_of(queue, limit.shape, nothing);
        EXPECT_NE(message.find(limit.says), std::string::npos) << message;
        EXPECT_NE(message.find("kernel nothing: "), std::string::npos) << message;
    }
    simt::Queue queue;
    EXPECT_EQ(message_of(queue, {"nothing", {1, 65535}, {1}, 163 * 1024}, nothing), "");
    EXPECT_EQ(message_of(queue, {"nothing", {1}, {1024}}, nothing), "");
}

TEST(Misuse, LeavesTheExecutorReadyForTheNextLaunch) {
    for (const simt::Schedule& schedule : every_schedule()) {
        simt::Queue queue{schedule, {}};
        EXPECT_NE(message_of(queue, {"early_exit", {9}, {96}}, early_exit), "");
        std::vector<unsigned> in(256, 5);
        std::vector<unsigned> out(256);
        simt::launch(queue, {"turn_around", {1}, {128}, sizeof(SyncShared)}, kernels::turn_around,
                     in.data(), out.data());
        EXPECT_EQ(in, out);
    }
}

}  // namespace
}  // namespace refit
