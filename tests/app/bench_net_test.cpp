// `refit bench net` in the program, and its rows: every word that arrives is compared, and one that
// is wrong is counted.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "app/bench/net_bench.hpp"
#include "engine/collective/socket_collective.hpp"
#include "tests/app/driver.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;

TEST(BenchNet, ComparesEveryWordThatArrives) {
    for (const std::uint64_t ranks : {1UL, 2UL, 3UL}) {
        const Outcome outcome = run_refit(
            {"bench", "net", "--ranks", std::to_string(ranks), "--max", "64KiB", "--json"});
        ASSERT_EQ(outcome.code, 0) << outcome.err;
        const nlohmann::json document = outcome.document();
        EXPECT_EQ(document["schema"], "refit.bench/1");
        EXPECT_TRUE(document["rows"].empty());
        const nlohmann::json& net = document["net"];
        EXPECT_EQ(keys_of(net), (std::set<std::string>{"collective", "nccl_version", "transport",
                                                       "memory", "ranks", "provenance", "rows"}));
        EXPECT_EQ(net["collective"], "cpu");
        EXPECT_TRUE(net["nccl_version"].is_null());
        EXPECT_EQ(net["provenance"], "measured");
        EXPECT_EQ(net["ranks"], ranks);
        EXPECT_NE(net["transport"].get<std::string>().find("no GPU figure"), std::string::npos);
        ASSERT_EQ(net["rows"].size(), 8U);  // 1, 4, 16, 64 KiB of both
        std::uint64_t bytes = 1024;
        for (const auto& row : net["rows"]) {
            EXPECT_EQ(row["bytes"], bytes);
            EXPECT_EQ(row["wrong"], 0);
            EXPECT_TRUE(row["device_seconds"].is_null());
            const bool gathers = row["operation"] == "gather";
            const std::uint64_t arrivals = gathers ? 1 : ranks - 1;
            EXPECT_EQ(row["checked"], (25 + 1) * bytes / 2 * arrivals) << row;
            const double algbw = static_cast<double>(bytes) / row["seconds"].get<double>();
            EXPECT_DOUBLE_EQ(row["algbw_bytes_per_second"], algbw);
            const double share = gathers ? static_cast<double>(ranks - 1) : 1;
            const double of = gathers ? static_cast<double>(ranks) : 1;
            EXPECT_DOUBLE_EQ(row["busbw_bytes_per_second"], algbw * share / of);
            bytes = bytes == 65536 ? 1024 : 4 * bytes;
        }
    }
}

TEST(BenchNet, SaysInWordsWhatItIs) {
    const Outcome outcome = run_refit({"bench", "net", "--max", "1KiB"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_TRUE(outcome.out.starts_with(
        "2 ranks: Unix sockets between processes, host memory; no GPU figure\n"))
        << outcome.out;
    for (const char* part : {"\nfan-out ", "\ngather ", "1.00 KiB", "busbw", "host memory"})
        EXPECT_NE(outcome.out.find(part), std::string::npos) << part << "\n" << outcome.out;
}

TEST(BenchNet, TakesItsOwnFlagsAndNoOthers) {
    expect_refused(run_refit({"bench", "net", "--words", "64Ki"}), 2,
                   "bench: --words is not for bench net");
    expect_refused(run_refit({"bench", "codec", "--ranks", "2"}), 2,
                   "bench: --ranks is not for bench codec");
    expect_refused(run_refit({"bench", "net", "--share-gpu"}), 2, "--share-gpu needs --nccl");
    expect_refused(run_refit({"bench", "net", "--ranks", "17"}), 2, "--ranks");
    for (const char* size : {"1000B", "257MiB", "0B"})
        expect_refused(run_refit({"bench", "net", "--max", size}), 3,
                       "--max: takes 1 KiB to 256 MiB");
    expect_refused(run_refit({"bench", "net", "--max", "much"}), 3, "much");
}

TEST(BenchNet, WithoutNcclOrWithoutAGpuItIsOneLine) {
    const TestFolder empty;
    expect_refused(run_refit({"bench", "net", "--nccl", "--cuda-libs", empty.path().string()}), 1,
                   "bench net: NCCL: ");
    if (fs::exists("/dev/nvidiactl")) GTEST_SKIP() << "this machine has a GPU";
    const Outcome outcome = run_refit({"bench", "net", "--nccl"});
    const bool no_library = outcome.err.find("bench net: NCCL: ") != std::string::npos;
    expect_refused(outcome, 1, no_library ? "libnccl.so.2" : "bench net: no GPU: ");
}

/// Flips a bit of what arrives in every fan-out.
class Flipping final : public Collective {
public:
    explicit Flipping(std::unique_ptr<Collective> inner) : inner_(std::move(inner)) {}
    unsigned self() const override { return inner_->self(); }
    std::span<const unsigned> ranks() const override { return inner_->ranks(); }
    MaybeLoss gather(unsigned owner,
                     std::span<const std::byte> mine,
                     std::span<const std::span<std::byte>> parts) override {
        return inner_->gather(owner, mine, parts);
    }
    MaybeLoss fan_out(unsigned owner, std::span<std::byte> bytes) override {
        MaybeLoss loss = inner_->fan_out(owner, bytes);
        if (owner != self()) bytes[bytes.size() - 1] ^= std::byte{1};
        return loss;
    }
    MaybeLoss barrier() override { return inner_->barrier(); }
    MaybeLoss check() override { return inner_->check(); }
    void abort() override { inner_->abort(); }
    void rebuild() override { inner_->rebuild(); }
    MaybeLoss finish() override { return inner_->finish(); }

private:
    std::unique_ptr<Collective> inner_;
};

NetWorld flipping_world(SocketMesh mesh) {
    NetWorld world;
    world.memory = make_host_memory();
    world.sockets =
        std::make_unique<Flipping>(std::make_unique<SocketCollective>(std::move(mesh), 20_s));
    return world;
}

TEST(NetRows, CountWordsThatAreWrong) {
    const volatile std::sig_atomic_t never = 0;
    const Console console(never);
    const NetRows net = measure_net(console, {3, 4096, 7}, flipping_world);
    ASSERT_EQ(net.rows.size(), 4U);
    for (const NetRow& row : net.rows)
        EXPECT_EQ(row.wrong, row.operation == "fan-out" ? (25 + 1) * 2 : 0) << row.operation;
    EXPECT_FALSE(net.exact());
}

TEST(NetRows, ARankThatFailsIsOneLine) {
    const volatile std::sig_atomic_t never = 0;
    const Console console(never);
    const NetSetup failing = [](SocketMesh mesh) -> NetWorld {
        if (mesh.self() == 1) throw MachineError("a reason of its own");
        return flipping_world(std::move(mesh));
    };
    try {
        measure_net(console, {2, 1024, 7}, failing);
        FAIL() << "nothing failed";
    } catch (const MachineError& error) {
        EXPECT_STREQ(error.what(), "bench net: a reason of its own");
    }
}

}  // namespace
}  // namespace refit
