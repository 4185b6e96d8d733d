// Every crash of an in-place update on a simulated disk: each prefix of its operations, with each
// subset of what was not durable. The target shows old, nothing or new; recovery makes it whole.
#include <gtest/gtest.h>

#include <cstdio>

#include "tests/engine/in_place_fixture.hpp"
#include "tests/support/simulated_disk.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kSeed = 20'261;

constexpr CrashEffort kThorough = kSanitized ? CrashEffort{5, 4} : CrashEffort{10, 24};
constexpr CrashEffort kQuick = kSanitized ? CrashEffort{0, 1} : CrashEffort{4, 2};
constexpr CrashEffort kMutants{4, 4};

Reader read_image(const UpdateCase& files, const DiskImage& image) {
    Reader::Found found;
    for (const auto& [name, inode] : image.names)
        found[name.substr(name.rfind('/') + 1)] = &image.content(inode);
    return {files, std::move(found)};
}

/// Follows crashes of one case and remembers the first thing that went wrong.
class Explorer {
public:
    explicit Explorer(const UpdateCase& files) : case_(files) {}

    std::uint64_t states() const { return states_; }
    const std::string& violation() const { return violation_; }

    /// The log of `disk` ends with a commit or recovery that returned.
    void explore(const SimulatedDisk& disk,
                 std::size_t first,
                 const CrashEffort& effort,
                 int depth) {
        const bool whole = read_image(case_, disk.now()).holds(case_.new_files);
        for_each_crash(disk, first, effort, kSeed, [&](const DiskImage& image, std::size_t length) {
            ++states_;
            if (violation_.empty() && read_image(case_, image).shown() == Shown::mix)
                violation_ = "the target shows a mix";
            if (whole && length == disk.log().size())
                expect_new(image, "a crash after the commit lost it");
            recover_from(image, depth);
            if (!violation_.empty())
                violation_ += " (" + case_.name + ", after operation " + std::to_string(length) +
                              (length > 0 ? ": " + disk.log()[length - 1].label : "") + ")";
            return violation_.empty();
        });
    }

    SimulatedDisk fresh_disk() const { return SimulatedDisk(start_image()); }

private:
    DiskImage start_image() const {
        Files files;
        for (const auto& [name, content] : case_.old_files)
            files[SimulatedDisk::kFolder + ("/" + name)] = content;
        return SimulatedDisk::image_of(files);
    }

    fs::path target() const { return case_.target(SimulatedDisk::kFolder).path; }

    void expect_new(const DiskImage& image, const std::string& otherwise) {
        if (violation_.empty() && !read_image(case_, image).holds(case_.new_files))
            violation_ = otherwise;
    }

    void recover_from(const DiskImage& image, int depth) {
        if (!violation_.empty()) return;
        SimulatedDisk disk(image);
        try {
            complete(disk);
        } catch (const MachineError& error) {
            violation_ = std::string("recovery failed: ") + error.what();
        }
        const bool sampled = draw(kSeed, 3, states_) % 16 == 0;
        if (violation_.empty() && depth > 0 && sampled && !disk.log().empty())
            explore(disk, 0, {0, 2}, depth - 1);
    }

    /// What the next call of the program does.
    void complete(SimulatedDisk& disk) {
        const auto unfinished = interrupted(disk, target());
        if (!unfinished.has_value()) {
            violation_ = "an unfinished update is refused: " + unfinished.error().what;
            return;
        }
        const bool durable = unfinished.value().has_value();
        const auto recovered = recover(disk, target(), check_of(disk, case_));
        if (!recovered.has_value()) {
            violation_ = "recovery refused: " + recovered.error().what;
            return;
        }
        if (recovered.value() != durable) violation_ = "recovery skipped a durable journal";
        if (durable) return expect_new(disk.now(), "recovery left something else than new");
        if (read_image(case_, disk.now()).holds(case_.new_files)) return;
        if (!read_image(case_, disk.now()).holds(case_.old_files)) {
            violation_ = "without a journal the files are neither old nor new";
            return;
        }
        if (draw(kSeed, 4, states_) % 4 != 0) return;
        const Status updated = update_files(disk, SimulatedDisk::kFolder, case_);
        if (!updated.has_value()) violation_ = "a fresh update fails: " + updated.error().what;
        expect_new(disk.now(), "a fresh update left something else than new");
    }

    const UpdateCase& case_;
    std::uint64_t states_ = 0;
    std::string violation_;
};

/// The update runs until operation `stop`, then its process dies.
void killed(SimulatedDisk& disk, const UpdateCase& files, std::size_t stop) {
    disk.stop_at(stop);
    try {
        (void)update_files(disk, SimulatedDisk::kFolder, files);
    } catch (const Killed&) {
    }
    disk.revive();
}

/// What the next process does. Where nothing happened yet, the update cleans up for itself.
void complete_or_update(SimulatedDisk& disk, const UpdateCase& files) {
    const fs::path path = files.target(SimulatedDisk::kFolder).path;
    const bool unfinished = interrupted(disk, path).value().has_value();
    if (unfinished || read_image(files, disk.now()).shown() != Shown::old_files) {
        const auto recovered = recover(disk, path, check_of(disk, files));
        ASSERT_TRUE(recovered.has_value()) << recovered.error().what;
        ASSERT_TRUE(read_image(files, disk.now()).holds(files.new_files));
        return;
    }
    const Status updated = update_files(disk, SimulatedDisk::kFolder, files);
    ASSERT_TRUE(updated.has_value()) << updated.error().what;
}

class InPlaceCase : public testing::TestWithParam<UpdateCase> {};

INSTANTIATE_TEST_SUITE_P(Cases,
                         InPlaceCase,
                         testing::ValuesIn(update_cases()),
                         [](const auto& made) {
                             std::string name = made.param.name;
                             std::erase_if(name, [](char c) { return c == ',' || c == ' '; });
                             return name;
                         });

TEST_P(InPlaceCase, PowerLossAtEveryInstantLeavesOldNothingOrNew) {
    Explorer explorer(GetParam());
    SimulatedDisk disk = explorer.fresh_disk();
    const Status done = update_files(disk, SimulatedDisk::kFolder, GetParam());
    ASSERT_TRUE(done.has_value()) << done.error().what;
    explorer.explore(disk, 0, kThorough, 1);
    EXPECT_EQ(explorer.violation(), "");
    std::printf("%zu operations, %llu crash states, seed %llu\n", disk.log().size(),
                static_cast<unsigned long long>(explorer.states()),
                static_cast<unsigned long long>(kSeed));
}

TEST_P(InPlaceCase, PowerLossAfterAKillAndDuringTheNextRun) {
    Explorer explorer(GetParam());
    SimulatedDisk whole = explorer.fresh_disk();
    (void)update_files(whole, SimulatedDisk::kFolder, GetParam());
    for (std::size_t stop = 0; stop < whole.log().size(); ++stop) {
        SimulatedDisk disk = explorer.fresh_disk();
        killed(disk, GetParam(), stop);
        complete_or_update(disk, GetParam());
        explorer.explore(disk, stop, kQuick, 0);
        ASSERT_EQ(explorer.violation(), "") << "killed before operation " << stop;
    }
    std::printf("%zu kills, %llu crash states\n", whole.log().size(),
                static_cast<unsigned long long>(explorer.states()));
}

TEST_P(InPlaceCase, WithoutAnyOneOfItsSyncsAnUpdateIsUnsafe) {
    int spare = 0;
    for (std::size_t ignored = 0;; ++ignored) {
        Explorer explorer(GetParam());
        SimulatedDisk disk = explorer.fresh_disk();
        disk.ignore_sync(ignored);
        const Status done = update_files(disk, SimulatedDisk::kFolder, GetParam());
        ASSERT_TRUE(done.has_value());
        if (disk.ignored().empty()) break;  // there was no such sync
        explorer.explore(disk, 0, kMutants, 0);
        if (explorer.violation().empty()) ++spare;
        std::printf("without %s: %s\n", disk.ignored().c_str(), explorer.violation().c_str());
    }
    EXPECT_EQ(spare, GetParam().spare_syncs);
}

TEST(InPlaceCrash, RecoveryFirstMakesDurableWhatADeadUpdateRenamed) {
    const std::vector<UpdateCase> cases = update_cases();
    for (const UpdateCase& files : cases) {
        if (files.name == "lone file, resized") continue;  // has no journal
        Explorer explorer(files);
        SimulatedDisk whole = explorer.fresh_disk();
        (void)update_files(whole, SimulatedDisk::kFolder, files);
        for (std::size_t stop = 0; stop < whole.log().size() && explorer.violation().empty();
             ++stop) {
            SimulatedDisk disk = explorer.fresh_disk();
            killed(disk, files, stop);
            disk.ignore_sync(0);
            complete_or_update(disk, files);
            explorer.explore(disk, stop, kQuick, 0);
        }
        EXPECT_NE(explorer.violation(), "") << files.name;
    }
}

}  // namespace
}  // namespace refit
