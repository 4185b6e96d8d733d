// The in-place update without crashes: what it writes, what it refuses, and that a refusal touches
// nothing. Crashes are in in_place_crash_test.cpp.
#include "engine/store/in_place.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>

#include "engine/store/in_place_journal.hpp"
#include "tests/engine/in_place_fixture.hpp"
#include "tests/support/simulated_disk.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;

Status accept(const InPlaceView&) { return Done{}; }

/// A case on the real disk.
class OnDisk {
public:
    explicit OnDisk(std::size_t number = 0) : files(update_cases()[number]) {
        for (const auto& [name, content] : files.old_files) write_text_file(folder / name, content);
    }

    fs::path target() const { return files.target(folder.path()).path; }
    bool is_old() const { return FolderReader(files, folder.path()).holds(files.old_files); }
    bool is_new() const { return FolderReader(files, folder.path()).holds(files.new_files); }
    Result<std::unique_ptr<InPlaceUpdate>> begin(bool allow_linked = false) {
        InPlaceTarget wanted = files.target(folder.path());
        wanted.allow_linked = allow_linked;
        return InPlaceUpdate::begin(*disk, wanted, as_byte_span(files.name), Bytes{});
    }

    TestFolder folder;
    std::unique_ptr<Disk> disk = make_posix_disk();
    UpdateCase files;
};

constexpr std::size_t kResized = 1;
constexpr std::size_t kEverything = 2;

TEST(InPlace, MakesEveryCaseOnTheRealDisk) {
    for (std::size_t number = 0; number < update_cases().size(); ++number) {
        OnDisk on(number);
        const Status done = update_files(*on.disk, on.folder.path(), on.files);
        ASSERT_TRUE(done.has_value()) << on.files.name << ": " << done.error().what;
        EXPECT_TRUE(on.is_new()) << on.files.name;
        EXPECT_FALSE(interrupted(*on.disk, on.target()).value().has_value());
        EXPECT_FALSE(recover(*on.disk, on.target(), accept).value());
    }
}

TEST(InPlace, WritesAnyPatchesInTheOrderTheyCome) {
    constexpr std::uint64_t kSeed = 77;
    SCOPED_TRACE(kSeed);
    for (std::uint64_t round = 0; round < 20; ++round) {
        Rng rng(kSeed, round);
        std::string text = random_text(round, 300'000 + rng.below(2));
        SimulatedDisk disk(SimulatedDisk::image_of({{"/d/m", text}}));
        auto update = std::move(InPlaceUpdate::begin(disk, {"/d/m"}, {}, Bytes{})).value();
        const auto file = update->patched_file("m").value();
        for (int patch = 0; patch < 60; ++patch) {
            const std::uint64_t offset = rng.below(text.size() - 1);
            if (rng.chance(300'000)) {  // bytes
                const std::uint64_t size = rng.below(
                    std::min<std::uint64_t>(text.size() - offset, patch % 9 == 0 ? 200'000 : 9));
                const std::string bytes = random_text(rng.next(), size);
                update->patch_bytes(file, offset, as_byte_span(bytes));
                text.replace(offset, size, bytes);
                continue;
            }
            std::vector<std::uint32_t> positions;
            std::vector<std::uint16_t> words;
            const std::uint64_t step = rng.chance(500'000) ? 1 : 3000;
            for (std::uint64_t at = rng.below(step);
                 offset + 2 * at + 1 < text.size() && positions.size() < 100;
                 at += 1 + rng.below(step)) {
                positions.push_back(static_cast<std::uint32_t>(at));
                words.push_back(static_cast<std::uint16_t>(rng.next()));
                std::memcpy(text.data() + offset + 2 * at, &words.back(), 2);
            }
            if (rng.chance(100'000) && !words.empty()) {  // one word twice: the later one counts
                const std::uint16_t before = 0xABCD;
                update->patch_words(file, offset, std::span(positions).last(1), {&before, 1});
                update->patch_words(file, offset, std::span(positions).last(1),
                                    std::span(words).last(1));
            }
            update->patch_words(file, offset, positions, words);
        }
        ASSERT_TRUE(update->commit(accept).has_value());
        ASSERT_TRUE(content_at(disk, "/d/m") == text) << round;
    }
}

TEST(InPlace, AnUpdateWithoutChangesTouchesNothing) {
    OnDisk on(kEverything);
    SimulatedDisk disk(SimulatedDisk::image_of({{"/d/m", "old"}}));
    auto update = std::move(InPlaceUpdate::begin(disk, {"/d/m"}, {}, Bytes{})).value();
    update->patch_words(update->patched_file("m").value(), 0, {}, {});
    int checks = 0;
    const Status done = update->commit([&](const InPlaceView& view) -> Status {
        EXPECT_EQ(view.path("m"), "/d/m");
        ++checks;
        return Done{};
    });
    EXPECT_TRUE(done.has_value());
    EXPECT_EQ(checks, 1);
    EXPECT_TRUE(disk.log().empty());
}

TEST(InPlace, AbandonedItLeavesNothing) {
    for (std::size_t number = 0; number < update_cases().size(); ++number) {
        OnDisk on(number);
        {
            auto update = std::move(on.begin()).value();
            ASSERT_TRUE(describe(*update, on.files).has_value());
        }
        EXPECT_TRUE(on.is_old()) << on.files.name;
    }
}

TEST(InPlace, AFailedCheckKeepsTheHeadHiddenUntilOneSucceeds) {
    OnDisk on(kEverything);
    const InPlaceCheck refuse = [](const InPlaceView&) -> Status {
        return Error{ErrorCode::mismatch, "no"};
    };
    {
        auto update = std::move(on.begin()).value();
        ASSERT_TRUE(describe(*update, on.files).has_value());
        EXPECT_EQ(update->commit(refuse).error().code, ErrorCode::mismatch);
    }
    EXPECT_EQ(FolderReader(on.files, on.folder.path()).shown(), Shown::nothing);
    EXPECT_EQ(as_text(*interrupted(*on.disk, on.target()).value()), on.files.name);
    EXPECT_EQ(on.begin().error().code, ErrorCode::invalid_input);
    EXPECT_EQ(recover(*on.disk, on.target(), refuse).error().code, ErrorCode::mismatch);
    EXPECT_TRUE(recover(*on.disk, on.target(), check_of(*on.disk, on.files)).value());
    EXPECT_TRUE(on.is_new());
}

TEST(InPlace, AFailedCheckOfANewFileKeepsTheOld) {
    OnDisk on(kResized);
    {
        auto update = std::move(on.begin()).value();
        ASSERT_TRUE(describe(*update, on.files).has_value());
        const Status done = update->commit([](const InPlaceView&) -> Status {
            return Error{ErrorCode::mismatch, "no"};
        });
        EXPECT_FALSE(done.has_value());
    }
    EXPECT_TRUE(on.is_old());
}

TEST(InPlace, OnlyOneAtATimeWorksInAFolder) {
    OnDisk on(kEverything);
    {
        auto first = std::move(on.begin()).value();
        EXPECT_NE(on.begin().error().what.find("at work"), std::string::npos);
        EXPECT_EQ(recover(*on.disk, on.target(), accept).error().code, ErrorCode::invalid_input);
    }
    EXPECT_TRUE(on.begin().has_value());
}

TEST(InPlace, RefusesLinksByNameUnlessTheyAreAllowed) {
    for (const bool hard : {false, true}) {
        OnDisk on(kEverything);
        const fs::path shard = on.folder / "b";
        const fs::path kept = on.folder.path().string() + "-kept";
        fs::rename(shard, kept);
        if (hard) {
            fs::create_hard_link(kept, shard);
        } else {
            fs::create_symlink(kept, shard);
        }
        const auto refused = on.begin();
        ASSERT_FALSE(refused.has_value());
        EXPECT_EQ(refused.error().code, ErrorCode::invalid_input);
        EXPECT_EQ(refused.error().where, shard.string());
        EXPECT_NE(refused.error().what.find(hard ? "hard links" : "symbolic link"),
                  std::string::npos);
        {
            auto update = std::move(on.begin(true)).value();
            ASSERT_TRUE(describe(*update, on.files).has_value());
            ASSERT_TRUE(update->commit(check_of(*on.disk, on.files)).has_value());
        }
        EXPECT_TRUE(on.is_new());
        fs::remove(kept);
    }
}

TEST(InPlace, AllowedALinkToAFileUpdatesTheFileBehindIt) {
    OnDisk on;
    const fs::path link = on.folder / "link.safetensors";
    fs::create_symlink("m.safetensors", link);
    EXPECT_EQ(InPlaceUpdate::begin(*on.disk, {link}, {}, Bytes{}).error().where, link.string());
    InPlaceTarget allowed{link};
    allowed.allow_linked = true;
    {
        auto update = std::move(InPlaceUpdate::begin(*on.disk, allowed, {}, Bytes{})).value();
        ASSERT_TRUE(describe(*update, on.files).has_value());
        ASSERT_TRUE(update
                        ->commit([&](const InPlaceView&) -> Status {
                            EXPECT_FALSE(fs::exists(link)) << "shows what is half done";
                            EXPECT_TRUE(interrupted(*on.disk, link).value().has_value());
                            return Done{};
                        })
                        .has_value());
    }
    EXPECT_TRUE(fs::is_symlink(link));
    EXPECT_TRUE(read_text_file(link) == on.files.new_files.at("m.safetensors"));
}

TEST(InPlace, RefusesALinkToADirectory) {
    OnDisk on(kEverything);
    const fs::path link = on.folder.path().string() + "-link";
    fs::create_directory_symlink(on.folder.path(), link);
    for (const fs::path& path : {link, link / ""}) {
        InPlaceTarget target = on.files.target(path);
        EXPECT_EQ(InPlaceUpdate::begin(*on.disk, target, {}, Bytes{}).error().code,
                  ErrorCode::invalid_input);
    }
    fs::remove(link);
}

TEST(InPlace, RefusesTargetsItCannotWorkWith) {
    OnDisk on(kEverything);
    const auto code = [&](const InPlaceTarget& target) {
        const auto begun = InPlaceUpdate::begin(*on.disk, target, {}, Bytes{});
        return begun.has_value() ? std::optional<ErrorCode>() : begun.error().code;
    };
    EXPECT_EQ(code({on.folder / "absent"}), ErrorCode::not_found);
    EXPECT_EQ(code({on.folder / "absent/absent"}), ErrorCode::not_found);
    EXPECT_EQ(code({on.folder.path()}), ErrorCode::invalid_input);
    EXPECT_EQ(code({on.folder / "a", {"a"}}), ErrorCode::invalid_input);
    EXPECT_EQ(code({on.folder.path(), {"../a"}}), ErrorCode::invalid_input);
    for (const std::size_t length : {236u, 237u, 250u, 255u}) {
        const fs::path path = on.folder / std::string(length, 'x');
        write_text_file(path, "x");
        EXPECT_FALSE(interrupted(*on.disk, path).value().has_value());
        EXPECT_EQ(code({path}).has_value(), length > 236);
    }
    write_text_file(on.folder / "a.refit-applying", "somebody's");
    EXPECT_EQ(code({on.folder / "a"}), ErrorCode::invalid_input);
    fs::remove(on.folder / "a");
    EXPECT_EQ(interrupted(*on.disk, on.folder / "a").error().code, ErrorCode::corrupt);
}

TEST(InPlace, RefusesFilesItCannotWorkWith) {
    OnDisk on(kEverything);
    auto update = std::move(on.begin()).value();
    EXPECT_EQ(update->patched_file("absent").error().code, ErrorCode::not_found);
    for (const char* name : {"", ".", "..", "../a", "a/b", ".a.refit-new", ".refit-journal"})
        EXPECT_EQ(update->create_file(name, 1).error().code, ErrorCode::invalid_input) << name;
    fs::create_directory(on.folder / "folder");
    EXPECT_EQ(update->remove_file("folder").error().code, ErrorCode::invalid_input);
    const auto file = update->patched_file("a").value();
    const std::vector<std::uint32_t> positions = {4500};
    const std::vector<std::uint16_t> words = {1};
    EXPECT_DEATH(update->patch_words(file, 0, positions, words), "broken invariant");
    EXPECT_DEATH(update->patch_bytes(file, file.bytes, as_byte_span("x")), "broken invariant");
}

TEST(InPlace, ChecksTheSpaceFirst) {
    SimulatedDisk disk(SimulatedDisk::image_of({{"/d/m", "old"}}));
    disk.set_free_space(Bytes{99});
    EXPECT_THROW((void)InPlaceUpdate::begin(disk, {"/d/m"}, {}, Bytes{100}), MachineError);
    EXPECT_TRUE(InPlaceUpdate::begin(disk, {"/d/m"}, {}, Bytes{99}).has_value());
    EXPECT_TRUE(disk.log().empty());
}

TEST(InPlace, AFileTooLargeForTheProcessIsLeftAlone) {
    OnDisk on;
    const auto limited = [&] {
        std::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{4096, 4096};
        setrlimit(RLIMIT_FSIZE, &limit);
        try {
            (void)std::move(on.begin()).value()->patched_file("m.safetensors");
        } catch (const MachineError&) {
            std::_Exit(7);
        }
        std::_Exit(0);
    };
    EXPECT_EXIT(limited(), testing::ExitedWithCode(7), "");
    EXPECT_TRUE(on.is_old());
}

TEST(InPlace, NewFilesGetTheRightsOfThoseTheyReplace) {
    OnDisk on(kResized);
    ::chmod(on.target().c_str(), 0640);
    ASSERT_TRUE(update_files(*on.disk, on.folder.path(), on.files).has_value());
    EXPECT_EQ(fs::status(on.target()).permissions(), fs::perms(0640));
}

TEST(InPlace, RecoveryRefusesOtherFilesThanItsOwn) {
    const UpdateCase files = update_cases()[0];
    SimulatedDisk first(
        SimulatedDisk::image_of({{"/d/m.safetensors", files.old_files.at("m.safetensors")}}));
    first.stop_at(8);  // hidden, not yet overwritten
    EXPECT_THROW((void)update_files(first, "/d", files), Killed);
    ASSERT_TRUE(first.now().names.contains("/d/m.safetensors.refit-applying"));

    DiskImage shorter = first.now();
    shorter.change(shorter.names.at("/d/m.safetensors.refit-applying")).pop_back();
    SimulatedDisk short_disk(shorter);
    EXPECT_EQ(recover(short_disk, "/d/m.safetensors", accept).error().code, ErrorCode::corrupt);
    EXPECT_TRUE(short_disk.log().empty());

    DiskImage two = first.now();
    two.names["/d/m.safetensors"] = two.names.at("/d/m.safetensors.refit-applying");
    SimulatedDisk two_disk(two);
    EXPECT_EQ(recover(two_disk, "/d/m.safetensors", accept).error().code, ErrorCode::invalid_input);
    EXPECT_TRUE(two_disk.log().empty());
}

}  // namespace
}  // namespace refit
