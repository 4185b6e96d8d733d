// The journal by itself: what a changed word costs, and that no damage and no hostile content gets
// past the first reading.
#include "engine/store/in_place_journal.hpp"

#include <gtest/gtest.h>

#include "tests/engine/in_place_fixture.hpp"
#include "tests/support/simulated_disk.hpp"

namespace refit {
namespace {

/// A journal on a simulated disk.
class Journal {
public:
    Journal() : writer_(*file_, as_byte_span("identity"), {"head"}) {}

    JournalWriter& writer() { return writer_; }
    std::uint64_t bytes() const { return file_->bytes(); }
    Result<JournalPlan> read() const { return read_journal(*file_, nullptr); }
    Result<JournalPlan> finish() {
        writer_.commit();
        return read();
    }

private:
    SimulatedDisk disk_{DiskImage{}};
    std::unique_ptr<DiskFile> file_ = disk_.create("/d/journal", "");
    JournalWriter writer_;
};

constexpr std::uint64_t kMillion = 1'000'000;

/// Bytes of journal a word takes when each of a million words changes with this probability.
double bytes_a_word(std::uint64_t per_million) {
    Journal journal;
    journal.writer().select(journal.writer().patched({"m", 2 * kMillion}));
    Rng rng(5, per_million);
    std::uint64_t changed = 0;
    for (std::uint64_t i = 0; i < kMillion; ++i) {
        if (!rng.chance(per_million)) continue;
        journal.writer().add_word(2 * i, static_cast<std::uint16_t>(rng.next()));
        ++changed;
    }
    EXPECT_TRUE(journal.finish().has_value());
    return static_cast<double>(journal.bytes()) / static_cast<double>(changed);
}

TEST(InPlaceJournal, TakesFourBytesAWordAndTwoWhereAllChange) {
    for (const std::uint64_t per_million : {10'000u, 30'000u, 500'000u}) {
        const double bytes = bytes_a_word(per_million);
        std::printf("changed %.1f %%: %.3f bytes a word\n",
                    static_cast<double>(per_million) / 10'000, bytes);
        EXPECT_LT(bytes, 4.1);
    }
    EXPECT_LT(bytes_a_word(kMillion), 2.001);
}

TEST(InPlaceJournal, ReturnsThePlanItWasGiven) {
    Journal journal;
    EXPECT_EQ(journal.writer().patched({"a", 10}), 0u);
    EXPECT_EQ(journal.writer().patched({"b", 20}), 1u);
    journal.writer().created({"c", 30});
    journal.writer().removed("d");
    const JournalPlan plan = journal.finish().value();
    EXPECT_EQ(as_text(plan.identity), "identity");
    EXPECT_EQ(plan.heads, std::vector<std::string>{"head"});
    ASSERT_EQ(plan.patched.size(), 2u);
    EXPECT_EQ(plan.patched[1].name, "b");
    EXPECT_EQ(plan.patched[1].bytes, 20u);
    ASSERT_EQ(plan.created.size(), 1u);
    EXPECT_EQ(plan.created[0].bytes, 30u);
    EXPECT_EQ(plan.removed, std::vector<std::string>{"d"});
}

TEST(InPlaceJournal, IsNothingWithoutItsEnd) {
    Journal journal;
    EXPECT_EQ(journal.read().error().code, ErrorCode::truncated);
}

/// Well formed and with a right hash, but made by somebody else.
TEST(InPlaceJournal, RefusesHostileContentUnderARightHash) {
    const std::vector<std::function<void(JournalWriter&)>> hostile = {
        [](JournalWriter& journal) {
            journal.patched({"../outside", 4});
        },
        [](JournalWriter& journal) {
            journal.created({"/etc/passwd", 4});
        },
        [](JournalWriter& journal) { journal.removed(".."); },
        [](JournalWriter& journal) { journal.removed(std::string(300, 'x')); },
        [](JournalWriter& journal) { journal.removed(std::string("a\0b", 3)); },
        [](JournalWriter& journal) { journal.removed(".refit-journal"); },
        [](JournalWriter& journal) {
            journal.removed("twice");
            journal.created({"twice", 1});
        },
        [](JournalWriter& journal) { journal.add_word(0, 1); },  // of no file
        [](JournalWriter& journal) { journal.add_bytes(0, as_byte_span("x")); },
        [](JournalWriter& journal) {
            journal.select(journal.patched({"m", 4}));
            journal.add_word(3, 1);
        },
        [](JournalWriter& journal) {
            journal.select(journal.patched({"m", 4}));
            journal.add_word(~std::uint64_t{0}, 1);
        },
        [](JournalWriter& journal) {
            journal.select(journal.patched({"m", 4}));
            journal.add_word(0, 1);
            journal.add_word(2, 1);
            journal.add_word(4, 1);  // a run, whose last word lies outside
        },
        [](JournalWriter& journal) {
            journal.select(journal.patched({"m", 4}));
            journal.add_bytes(2, as_byte_span("xyz"));
        },
        [](JournalWriter& journal) {
            journal.select(journal.patched({"m", 4}));
            journal.add_bytes(~std::uint64_t{0}, as_byte_span("xyz"));
        },
    };
    for (std::size_t i = 0; i < hostile.size(); ++i) {
        Journal journal;
        hostile[i](journal.writer());
        const auto plan = journal.finish();
        ASSERT_FALSE(plan.has_value()) << i;
        EXPECT_TRUE(plan.error().code == ErrorCode::corrupt ||
                    plan.error().code == ErrorCode::truncated)
            << i;
    }
}

/// The disk of an update that died with its journal in place and nothing touched.
DiskImage interrupted_image(const UpdateCase& files, std::size_t stop) {
    Files paths;
    for (const auto& [name, content] : files.old_files) paths["/d/" + name] = content;
    SimulatedDisk disk(SimulatedDisk::image_of(paths));
    disk.stop_at(stop);
    EXPECT_THROW((void)update_files(disk, "/d", files), Killed);
    return disk.now();
}

/// Neither interrupted() nor recover() takes it, and the disk is as it was.
void expect_refused(const DiskImage& image, const UpdateCase& files, const std::string& what) {
    SimulatedDisk disk(image);
    const std::filesystem::path path = files.target("/d").path;
    const auto asked = interrupted(disk, path);
    ASSERT_FALSE(asked.has_value()) << what;
    EXPECT_NE(asked.error().where.find("refit-journal"), std::string::npos);
    const auto recovered = recover(disk, path, check_of(disk, files));
    ASSERT_FALSE(recovered.has_value()) << what;
    ASSERT_TRUE(recovered.error().code == ErrorCode::corrupt ||
                recovered.error().code == ErrorCode::truncated)
        << what;
    ASSERT_TRUE(disk.log().empty()) << what;
}

TEST(InPlaceJournal, AnyFlippedBitAndAnyCutIsRefusedAndTouchesNothing) {
    UpdateCase files;
    files.name = "small";
    files.old_files = {{kIndex, "old"}, {"a", random_text(1, 600)}, {"b", "b"}};
    files.new_files = {{kIndex, "new"}, {"a", with_changes(random_text(1, 600), 2, 9)}, {"c", "c"}};
    std::size_t stop = 0;
    DiskImage image;
    for (; !image.names.contains("/d/.refit-journal"); ++stop)
        image = interrupted_image(files, stop);
    const int journal = image.names.at("/d/.refit-journal");
    const std::size_t bytes = image.content(journal).size();
    for (std::size_t bit = 0; bit < 8 * bytes; ++bit) {
        DiskImage damaged = image;
        char& byte = damaged.change(journal)[bit / 8];
        byte = static_cast<char>(byte ^ (1 << bit % 8));
        expect_refused(damaged, files, "bit " + std::to_string(bit));
        if (HasFatalFailure()) return;
    }
    for (std::size_t cut = 0; cut < bytes; ++cut) {
        DiskImage damaged = image;
        damaged.change(journal).resize(cut);
        expect_refused(damaged, files, "cut to " + std::to_string(cut));
        if (HasFatalFailure()) return;
    }
    DiskImage longer = image;
    longer.change(journal) += 'x';
    expect_refused(longer, files, "one byte more");

    SimulatedDisk sound(image);
    EXPECT_TRUE(recover(sound, "/d", check_of(sound, files)).value());
    std::printf("%zu bits, %zu cuts\n", 8 * bytes, bytes);
}

}  // namespace
}  // namespace refit
