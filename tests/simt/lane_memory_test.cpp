// What a lane keeps on a device: nothing is used before it is there, nothing is left behind,
// however a call ends.
#include <gtest/gtest.h>

#include "kernels/cuda/lane_memory.hpp"
#include "tests/kernels/support.hpp"
#include "tests/simt/fake_runtime.hpp"
#include "tests/simt/separate_memory.hpp"

namespace refit {
namespace {

using Memory = kernels::LaneMemory<FakeRuntime>;
using LaneDevice = MemoryDevice<Memory>;

struct Fixture {
    std::shared_ptr<FakeRuntimeState> state = std::make_shared<FakeRuntimeState>();
    TestRng rng{3};
    WordVector base = random_words(rng, 9000);
    WordVector next = random_next(rng, base, 50);
    Placement whole = whole_tensor(90, 100);
    std::unique_ptr<Device> cpu = make_cpu_device(1);
    Changes expected;

    Fixture() { cpu->diff(base, next, expected); }

    LaneDevice device(std::vector<int> devices = {0}, unsigned lanes = 1) const {
        return LaneDevice(Memory(FakeRuntime(state), std::move(devices)), lanes);
    }
    /// One of each kind of call: lists, sums, rank memory.
    void work(Device& device) const {
        Changes changes;
        device.diff(base, next, changes);
        EXPECT_EQ(changes, expected);
        WordVector weights = base;
        device.overwrite(weights, changes, {&whole, 1});
        EXPECT_EQ(weights, next);
        EXPECT_EQ(device.digest(weights, {&whole, 1}, 9), cpu->digest(next, {&whole, 1}, 9));
        XcExponents sample{};
        XcExponents right{};
        device.xc_sample(base, 7, sample);
        cpu->xc_sample(base, 7, right);
        EXPECT_EQ(sample, right);
    }
};

TEST(LaneMemory, CopiesAreWaitedForAndNothingIsLeft) {
    const Fixture of;
    {
        LaneDevice device = of.device();
        of.work(device);
        EXPECT_EQ(of.state->streams.size(), 1u);
    }
    EXPECT_EQ(of.state->hazards, 0u);
    EXPECT_TRUE(of.state->nothing_left());
}

TEST(LaneMemory, ALaneKeepsItsMemoryForTheNextCall) {
    const Fixture of;
    LaneDevice device = of.device();
    of.work(device);
    const std::uint64_t made = of.state->blocks_made;
    for (int i = 0; i < 30; ++i) of.work(device);
    EXPECT_EQ(of.state->blocks_made, made);
}

TEST(LaneMemory, MemoryThatGrewInACallIsOneBlockForTheNext) {
    const auto state = std::make_shared<FakeRuntimeState>();
    kernels::Arena<FakeRuntime> arena(FakeRuntime(state), kernels::MemoryKind::device);
    std::byte* const first = arena.take(std::size_t{1} << 20);
    std::byte* const second = arena.take(std::size_t{3} << 20);
    std::memset(first, 1, std::size_t{1} << 20);
    std::memset(second, 2, std::size_t{3} << 20);
    EXPECT_EQ(first[0], std::byte{1});
    EXPECT_EQ(state->device.size(), 2u);
    arena.reset();
    EXPECT_TRUE(state->device.empty());
    arena.take(0);
    EXPECT_EQ(state->device.size(), 1u);
    EXPECT_EQ(state->device.begin()->second, std::size_t{4} << 20);
    std::byte* const small = arena.take(1);
    EXPECT_EQ(arena.take(1) - small, 256);
    EXPECT_EQ(state->device.size(), 1u);
}

TEST(LaneMemory, AFailedCallLeavesNothingAndTheNextOneWorks) {
    const Fixture of;
    {
        LaneDevice device = of.device();
        of.work(device);
    }
    const std::uint64_t calls = of.state->calls;
    ASSERT_GT(calls, 40u);
    for (std::uint64_t fail_at = 1; fail_at <= calls; ++fail_at) {
        of.state->calls = 0;
        of.state->fail_at = fail_at;
        {
            LaneDevice device = of.device();
            EXPECT_THROW(of.work(device), std::runtime_error) << fail_at;
            of.work(device);
        }
        ASSERT_EQ(of.state->hazards, 0u) << fail_at;
        ASSERT_TRUE(of.state->nothing_left()) << fail_at;
    }
}

TEST(LaneMemory, LanesAreSpreadOverTheDevices) {
    const Fixture of;
    LaneDevice device = of.device({2, 5, 7}, 3);
    of.work(device);
    EXPECT_EQ(of.state->devices_used, std::set<int>{2});
    using Session = Memory::Session;
    {
        const Session one(device.memory(), "one");
        const Session two(device.memory(), "two");
        EXPECT_EQ(of.state->devices_used, (std::set<int>{2, 5}));
        const Session three(device.memory(), "three");
        const Session four(device.memory(), "four");
        EXPECT_EQ(of.state->devices_used, (std::set<int>{2, 5, 7}));
        EXPECT_EQ(of.state->streams.size(), 4u);
    }
    device.for_each(50, [&](std::uint64_t, unsigned) { of.work(device); });
    EXPECT_EQ(of.state->streams.size(), 4u);
    EXPECT_EQ(of.state->hazards, 0u);
}

TEST(LaneMemory, TimesAreSumsByStage) {
    const Fixture of;
    LaneDevice device = of.device();
    for (int i = 0; i < 2; ++i) of.work(device);
    std::map<std::string, StageTime> times;
    for (const StageTime& time : device.memory().times()) times[std::string(time.stage)] = time;
    // Of the fake clock, every event is a second apart.
    for (const char* stage : {"diff", "overwrite", "digest", "xc_sample"}) {
        EXPECT_EQ(times[stage].calls, 2u) << stage;
        EXPECT_EQ(times[stage].seconds, 2.0) << stage;
    }
    EXPECT_EQ(times["copy in"].calls, 8u);
    EXPECT_GT(times["copy in"].seconds, 8.0);
    EXPECT_GE(times["copy out"].seconds, 8.0);
    EXPECT_EQ(times.size(), 6u);
    EXPECT_TRUE(of.cpu->stage_times().empty());
}

}  // namespace
}  // namespace refit
