// `refit bench kernels`: batches that stay on a device, their floors, the rows and the program.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "app/bench/kernel_report.hpp"
#include "kernels/simt/simt_batches.hpp"
#include "tests/app/driver.hpp"

namespace refit {
namespace {

constexpr std::uint64_t kMixedWords = std::uint64_t{64} << 10;

const BatchCase& mixed_case() {
    static const BatchCase kCase =
        make_kernel_case(*make_cpu_device(1, "scalar"), {kMixedWords, true, 3});
    return kCase;
}

std::vector<std::unique_ptr<BatchDevice>> every_batch_device() {
    std::vector<std::unique_ptr<BatchDevice>> devices;
    devices.push_back(make_cpu_batches(make_cpu_device(1)));
    devices.push_back(make_simt_batches());
    devices.push_back(make_simt_batches({simt::Order::random, 7, 3}));
    return devices;
}

/// Another result of every operation.
BatchCase damaged(BatchCase of) {
    BatchTile& tile = of.tiles[3];
    tile.changes.words.back() ^= 1;
    tile.decoded.words.back() ^= 1;
    tile.digest ^= 1;
    tile.digest_change ^= 1;
    tile.list.step.back() ^= 1;
    tile.payload.back() ^= std::byte{1};
    of.sample[7] ^= 1;
    return of;
}

TEST(KernelCase, HasTilesOfEveryKindThatDecodeToTheirChanges) {
    const BatchCase& of = mixed_case();
    ASSERT_EQ(of.tiles.size(), kMixedTiles);
    bool dense = false;
    bool unchanged = false;
    bool raw = false;
    for (const BatchTile& tile : of.tiles) {
        unchanged = unchanged || tile.index.empty();
        raw = raw || (tile.payload.empty() && !tile.index.empty());
        for (const SegmentChanges& s : tile.changes.segments) dense = dense || s.dense;
        if (tile.payload.empty()) continue;
        EXPECT_EQ(tile.fault, XcFault::none);
        EXPECT_EQ(tile.decoded, tile.changes);
    }
    EXPECT_TRUE(dense);
    EXPECT_TRUE(unchanged);
    EXPECT_TRUE(raw);
    EXPECT_NE(of.tiles.back().words % kSegmentWords % 8, 0u);
}

TEST(KernelCase, OfMeasuringChangesAboutThreePercent) {
    const auto device = make_cpu_device(1);
    const BatchCase of = make_kernel_case(*device, {2 * kKernelTileWords, false, 5});
    const KernelCounts counts = count_kernel_case(of);
    EXPECT_EQ(counts.tiles, 2u);
    EXPECT_EQ(counts.words, 2 * kKernelTileWords);
    EXPECT_EQ(counts.segments, counts.words / 4096);
    EXPECT_EQ(counts.changing_words, counts.words);
    EXPECT_EQ(counts.changed, of.changed());
    EXPECT_GT(counts.changed, counts.words * 25 / 1000);
    EXPECT_LT(counts.changed, counts.words * 35 / 1000);
    EXPECT_LE(counts.sectors, counts.changed);
    EXPECT_GT(counts.sectors, counts.changed / 2);
    EXPECT_LT(counts.payload_bytes * 8, counts.words / 2);
}

TEST(KernelBatch, EveryOperationIsExactOnEveryDevice) {
    const BatchCase* const slots[] = {&mixed_case(), &mixed_case()};
    for (const auto& device : every_batch_device()) {
        for (const KernelFloor& floor : kernel_floors()) {
            const auto batch = device->make(floor.operation, slots);
            if (batch == nullptr) {
                EXPECT_EQ(floor.operation, BatchOperation::compare);
                EXPECT_EQ(device->name(), "cpu");
                continue;
            }
            batch->poison();
            for (const std::size_t slot : {0u, 1u, 0u}) {
                const auto seconds = batch->run(slot);
                EXPECT_EQ(seconds.has_value(), device->name() == "cpu") << floor.name;
            }
            EXPECT_EQ(batch->wrong(0), 0u) << device->name() << " " << floor.name;
            EXPECT_EQ(batch->wrong(1), 0u) << device->name() << " " << floor.name;
        }
    }
}

TEST(KernelBatch, WhatDidNotRunIsWrong) {
    const BatchCase* const slots[] = {&mixed_case(), &mixed_case()};
    for (const auto& device : every_batch_device()) {
        for (const KernelFloor& floor : kernel_floors()) {
            const auto batch = device->make(floor.operation, slots);
            if (batch == nullptr) continue;
            batch->poison();
            batch->run(0);
            EXPECT_GT(batch->wrong(1), 0u) << device->name() << " " << floor.name;
        }
    }
}

TEST(KernelBatch, AnotherResultIsSeen) {
    BatchCase changing = mixed_case();
    const BatchCase* const slots[] = {&changing};
    for (const auto& device : every_batch_device()) {
        for (const KernelFloor& floor : kernel_floors()) {
            const auto batch = device->make(floor.operation, slots);
            if (batch == nullptr) continue;
            batch->poison();
            batch->run(0);
            EXPECT_EQ(batch->wrong(0), 0u) << device->name() << " " << floor.name;
            const BatchCase good = changing;
            BatchCase bad = damaged(changing);
            bad.base.front() ^= 1;
            bad.next[1] ^= 1;
            std::swap(changing, bad);
            const std::uint64_t wrong = batch->wrong(0);
            changing = good;
            EXPECT_GT(wrong, 0u) << device->name() << " " << floor.name;
        }
    }
}

TEST(KernelFloors, AreThoseOfTheirFormulas) {
    KernelCounts counts;
    counts.words = 1000;
    counts.changing_words = 800;
    counts.changed = 30;
    counts.segments = 5;
    counts.sectors = 20;
    counts.positions = 30;
    counts.stored = 30;
    counts.payload_bytes = 23;
    const std::map<std::string_view, double> expected = {
        {"copy", 4000},
        {"compare", 4000},
        {"diff", 4000 + 5 * 20 + 30 * 4},
        {"stage", 30 * 6 + 20 * 32 + 5 * 20 + 30 * 4},
        {"overwrite", 5 * 20 + 30 * 4 + 20 * 64},
        {"gather", 4000},
        {"scatter", 4000},
        {"digest", 2000},
        {"digest_change", 5 * 20 + 30 * 4 + 20 * 32},
        {"xc_sample", 5 * 128},
        {"xc_scan", 4125 + 30 * 4 + 5 * 132},
        {"xc_encode", 800 * 2.125 + 30 * 4 + 5 + 23},
        {"xc_decode", 800 * 2 + 23 + 5 * 20 + 30 * 4},
        {"field", 4000}};
    EXPECT_EQ(kernel_floors().front().operation, BatchOperation::copy);
    std::set<BatchOperation> operations;
    for (const KernelFloor& floor : kernel_floors()) {
        operations.insert(floor.operation);
        ASSERT_TRUE(expected.contains(floor.name)) << floor.name;
        EXPECT_DOUBLE_EQ(floor_bytes(floor, counts), expected.at(floor.name)) << floor.name;
    }
    EXPECT_EQ(operations.size(), expected.size());
    EXPECT_EQ(kernel_floors().size(), expected.size());
}

TEST(KernelFloors, NameEveryKernelThatWasCompiled) {
    std::set<std::string_view> named;
    for (const KernelFloor& floor : kernel_floors())
        for (const std::string_view kernel : floor.kernels)
            if (!kernel.empty()) named.insert(kernel);
    std::set<std::string_view> compiled;
    for (const SassCount& count : sass_counts()) {
        compiled.insert(count.kernel);
        EXPECT_GT(count.instructions, 0);
        EXPECT_GE(count.loop_per_word, 0);
    }
    EXPECT_EQ(named, compiled);
    EXPECT_EQ(sass_counts().size(), 3 * compiled.size());
    for (const KernelFloor& floor : kernel_floors())
        EXPECT_EQ(operation_sass(floor, kSassShown).instructions > 0,
                  floor.operation != BatchOperation::copy);
}

TEST(KernelRow, SharesFollowFromSecondsAndCeiling) {
    KernelRow row;
    row.floor = &kernel_floors().front();
    row.floor_bytes = 8e9;
    EXPECT_FALSE(row.bytes_per_second().has_value());
    EXPECT_FALSE(row.share_of_ceiling().has_value());
    row.seconds = 2.0;
    EXPECT_DOUBLE_EQ(row.bytes_per_second().value(), 4e9);
    EXPECT_FALSE(row.share_of_ceiling().has_value());
    row.ceiling_bytes_per_second = 16e9;
    EXPECT_DOUBLE_EQ(row.share_of_ceiling().value(), 0.25);
    KernelTable table;
    table.rows = {row};
    EXPECT_TRUE(table.exact());
    table.rows.back().wrong = 1;
    EXPECT_FALSE(table.exact());
}

const std::set<std::string> kRowKeys = {"operation",
                                        "backend",
                                        "device",
                                        "state",
                                        "words",
                                        "tiles",
                                        "mixed",
                                        "changed",
                                        "floor_bytes",
                                        "floor_seconds",
                                        "seconds",
                                        "bytes_per_second",
                                        "wrong",
                                        "checked_words",
                                        "share_of_ceiling",
                                        "words_per_second",
                                        "ceiling_bytes_per_second"};

const std::vector<const char*> kSpeedKeys = {"floor_seconds",    "seconds",
                                             "bytes_per_second", "ceiling_bytes_per_second",
                                             "share_of_ceiling", "words_per_second"};

TEST(BenchKernels, OnTheExecutorProveBitsAndSayNoSpeed) {
    const Outcome outcome = run_refit({"bench", "kernels", "--backend", "simt", "--json"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const nlohmann::json document = outcome.document();
    EXPECT_EQ(document["schema"], "refit.bench/1");
    EXPECT_TRUE(document["rows"].empty());
    const nlohmann::json& kernels = document["kernels"];
    EXPECT_EQ(keys_of(kernels), (std::set<std::string>{"compiler", "floors", "absent", "rows"}));
    EXPECT_EQ(kernels["floors"].size(), kernel_floors().size());
    EXPECT_TRUE(kernels["absent"].empty());
    ASSERT_EQ(kernels["rows"].size(), kernel_floors().size());
    for (const nlohmann::json& row : kernels["rows"]) {
        EXPECT_EQ(keys_of(row), kRowKeys);
        EXPECT_EQ(row["state"], "proved");
        EXPECT_EQ(row["wrong"], 0) << row;
        EXPECT_GT(row["checked_words"], 4 * 60'000);
        for (const char* key : kSpeedKeys) EXPECT_TRUE(row[key].is_null()) << row;
    }
    const Outcome text = run_refit({"bench", "kernels", "--backend", "simt"});
    EXPECT_NE(text.out.find("bits are proved here; no speed"), std::string::npos);
    EXPECT_EQ(text.out.find(" us "), std::string::npos) << text.out;
}

TEST(BenchKernels, OnTheCpuHaveSpeedsBesideItsCopy) {
    const Outcome outcome =
        run_refit({"bench", "kernels", "--backend", "cpu", "--words", "256Ki", "--json"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const nlohmann::json rows = outcome.document()["kernels"]["rows"];
    std::size_t measured = 0;
    for (const nlohmann::json& row : rows) {
        EXPECT_EQ(row["wrong"], 0) << row;
        EXPECT_EQ(row["mixed"], row["state"] == "proved");
        if (row["state"] != "measured") continue;
        ++measured;
        EXPECT_EQ(row["words"], 256 << 10);
        for (const char* key : kSpeedKeys) EXPECT_GT(row[key], 0) << row;
        if (row["operation"] != "copy") continue;
        EXPECT_DOUBLE_EQ(row["share_of_ceiling"], 1.0);
    }
    EXPECT_EQ(measured, kernel_floors().size() - 1);
    EXPECT_EQ(rows.size(), 2 * measured);
}

TEST(BenchKernels, WithoutAGpuHaveFloorsAndNoNumberThatNobodyMeasured) {
    const std::vector<std::string> command = {"bench", "kernels", "--backend",
                                              "cuda",  "--words", "256Ki"};
    std::vector<std::string> json = command;
    json.emplace_back("--json");
    const Outcome outcome = run_refit(json);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const nlohmann::json kernels = outcome.document()["kernels"];
    if (kernels["absent"].empty()) GTEST_SKIP() << "this machine has a GPU";
    EXPECT_FALSE(kernels["absent"][0]["reason"].get<std::string>().empty());
    ASSERT_EQ(kernels["rows"].size(), kernel_floors().size());
    for (const nlohmann::json& row : kernels["rows"]) {
        EXPECT_EQ(row["state"], "not measured");
        EXPECT_GT(row["floor_bytes"], 0);
        EXPECT_TRUE(row["wrong"].is_null());
        for (const char* key : kSpeedKeys) EXPECT_TRUE(row[key].is_null()) << row;
    }
    const std::string text = run_refit(command).out;
    EXPECT_NE(text.find("not measured: "), std::string::npos) << text;
    EXPECT_NE(text.find(" not measured "), std::string::npos) << text;
    EXPECT_EQ(text.find(" us "), std::string::npos) << text;
}

TEST(BenchKernels, RefuseFlagsOfOthersAndDevicesThatAreNone) {
    const auto refused = [](std::vector<std::string> more, int code, const std::string& says) {
        more.insert(more.begin(), "bench");
        const Outcome outcome = run_refit(more);
        EXPECT_EQ(outcome.code, code) << outcome.err;
        EXPECT_TRUE(outcome.out.empty()) << outcome.out;
        EXPECT_TRUE(outcome.one_line()) << outcome.err;
        EXPECT_NE(outcome.err.find(says), std::string::npos) << outcome.err;
    };
    refused({"kernels", "--codec", "xc"}, 2, "--codec is not for bench kernels");
    refused({"kernels", "--model", "qwen3-8b"}, 2, "--model is not for bench kernels");
    refused({"codec", "--backend", "simt"}, 2, "--backend is not for bench codec");
    refused({"compute", "--devices", "0"}, 2, "--devices is not for bench compute");
    refused({"kernels", "--backend", "cuda", "--devices", "0,0"}, 3, "takes numbers like");
    refused({"kernels", "--backend", "abacus"}, 2, "--backend");
}

}  // namespace
}  // namespace refit
