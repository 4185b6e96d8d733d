// What must hold for the register: decide() is a compare-and-swap fenced by the newest epoch, and
// what it decided is there after a crash.
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <set>
#include <thread>

#include "engine/store/register.hpp"
#include "tests/support/files.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;

Decision decision(std::uint64_t version, std::string_view delta = "delta") {
    return {version, sha256(as_byte_span(delta))};
}

using MakeRegister =
    std::function<std::unique_ptr<Register>(const fs::path&, const Decision& initial)>;

class AnyRegister : public testing::TestWithParam<MakeRegister> {
protected:
    TestFolder folder_;
    std::unique_ptr<Register> register_ = GetParam()(folder_ / "register.db", decision(7));
};

INSTANTIATE_TEST_SUITE_P(Registers,
                         AnyRegister,
                         testing::Values(MakeRegister(make_sqlite_register),
                                         MakeRegister([](const fs::path&, const Decision& initial) {
                                             return make_memory_register(initial);
                                         })),
                         [](const auto& made) { return made.index == 0 ? "Sqlite" : "Memory"; });

TEST_P(AnyRegister, StartsAtTheInitialDecision) { EXPECT_EQ(register_->read(), decision(7)); }

TEST_P(AnyRegister, EpochsGrowStrictly) {
    std::uint64_t last = 0;
    for (int i = 0; i < 20; ++i) {
        const std::uint64_t epoch = register_->acquire();
        EXPECT_GT(epoch, last);
        last = epoch;
    }
}

TEST_P(AnyRegister, MovesOneVersionAtATimeFromTheVersionNamed) {
    const std::uint64_t epoch = register_->acquire();
    EXPECT_FALSE(register_->decide(epoch, 6, decision(7, "other")));
    EXPECT_FALSE(register_->decide(epoch, 8, decision(9)));
    EXPECT_EQ(register_->read(), decision(7));
    EXPECT_TRUE(register_->decide(epoch, 7, decision(8, "a")));
    EXPECT_EQ(register_->read(), decision(8, "a"));
    EXPECT_TRUE(register_->decide(epoch, 8, decision(9, "b")));
    EXPECT_EQ(register_->read(), decision(9, "b"));
}

TEST_P(AnyRegister, FirstOfTwoDecisionsForOneVersionHolds) {
    const std::uint64_t epoch = register_->acquire();
    EXPECT_TRUE(register_->decide(epoch, 7, decision(8, "first")));
    EXPECT_FALSE(register_->decide(epoch, 7, decision(8, "second")));
    EXPECT_EQ(register_->read(), decision(8, "first"));
}

TEST_P(AnyRegister, AskingAgainAfterALostAnswerIsTrueAndChangesNothing) {
    const std::uint64_t epoch = register_->acquire();
    EXPECT_TRUE(register_->decide(epoch, 7, decision(8)));
    EXPECT_TRUE(register_->decide(epoch, 7, decision(8)));
    EXPECT_EQ(register_->read(), decision(8));
    register_->acquire();
    EXPECT_TRUE(register_->decide(epoch, 7, decision(8)));  // stale, yet what it asks for holds
    EXPECT_EQ(register_->read(), decision(8));
}

TEST_P(AnyRegister, StaleAndUnknownEpochsChangeNothing) {
    const std::uint64_t stale = register_->acquire();
    const std::uint64_t newest = register_->acquire();
    for (const std::uint64_t epoch : {std::uint64_t{0}, stale, newest + 1})
        EXPECT_FALSE(register_->decide(epoch, 7, decision(8))) << epoch;
    EXPECT_EQ(register_->read(), decision(7));
    EXPECT_TRUE(register_->decide(newest, 7, decision(8)));
}

TEST_P(AnyRegister, SkippingAVersionIsABug) {
    const std::uint64_t epoch = register_->acquire();
    EXPECT_DEATH((void)register_->decide(epoch, 7, decision(9)), "broken invariant");
    EXPECT_DEATH((void)register_->decide(epoch, 7, decision(7)), "broken invariant");
}

TEST(SqliteRegister, TwoHandlesOnOneFileFenceEachOther) {
    TestFolder folder;
    const auto one = make_sqlite_register(folder / "r.db", decision(0));
    const auto two = make_sqlite_register(folder / "r.db", decision(99));
    EXPECT_EQ(two->read(), decision(0));  // the file already held a decision
    const std::uint64_t first = one->acquire();
    const std::uint64_t second = two->acquire();
    EXPECT_GT(second, first);
    EXPECT_FALSE(one->decide(first, 0, decision(1, "one")));
    EXPECT_TRUE(two->decide(second, 0, decision(1, "two")));
    EXPECT_EQ(one->read(), decision(1, "two"));
}

TEST(SqliteRegister, KeepsEpochAndDecisionAcrossReopen) {
    TestFolder folder;
    std::uint64_t epoch = 0;
    {
        const auto opened = make_sqlite_register(folder / "r.db", decision(3));
        epoch = opened->acquire();
        ASSERT_TRUE(opened->decide(epoch, 3, decision(4)));
    }
    const auto again = make_sqlite_register(folder / "r.db", decision(0));
    EXPECT_EQ(again->read(), decision(4));
    EXPECT_TRUE(again->decide(epoch, 4, decision(5)));  // nobody acquired in between
    EXPECT_GT(again->acquire(), epoch);
}

TEST(SqliteRegister, DecisionOutlivesAProcessThatDiesRightAfterIt) {
    TestFolder folder;
    const pid_t child = ::fork();
    if (child == 0) {
        const auto opened = make_sqlite_register(folder / "r.db", decision(0));
        const bool decided = opened->decide(opened->acquire(), 0, decision(1, "last words"));
        ::_exit(decided ? 0 : 1);  // no destructor, no checkpoint: the log alone must hold it
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    EXPECT_EQ(make_sqlite_register(folder / "r.db", decision(0))->read(),
              decision(1, "last words"));
}

TEST(SqliteRegister, ConcurrentCoordinatorsDecideEachVersionOnce) {
    TestFolder folder;
    constexpr std::uint64_t kVersions = 12;
    std::atomic<std::uint64_t> wins = 0;
    std::vector<std::vector<std::uint64_t>> epochs(4);
    std::vector<std::thread> coordinators;
    for (std::size_t c = 0; c < epochs.size(); ++c) {
        coordinators.emplace_back([&, c] {
            const auto mine = make_sqlite_register(folder / "r.db", decision(0));  // all at once
            const std::string name = "coordinator " + std::to_string(c);
            while (true) {
                const std::uint64_t from = mine->read().version;
                if (from == kVersions) return;
                epochs[c].push_back(mine->acquire());
                if (mine->decide(epochs[c].back(), from, decision(from + 1, name))) ++wins;
            }
        });
    }
    for (std::thread& coordinator : coordinators) coordinator.join();
    EXPECT_EQ(wins, kVersions);
    std::set<std::uint64_t> distinct;
    std::size_t acquired = 0;
    for (const auto& mine : epochs) {
        distinct.insert(mine.begin(), mine.end());
        acquired += mine.size();
    }
    EXPECT_EQ(distinct.size(), acquired);  // no epoch was handed out twice
}

void expect_refused(const fs::path& file, std::string_view reason) {
    try {
        (void)make_sqlite_register(file, decision(0));
        FAIL() << "opened " << file;
    } catch (const MachineError& error) {
        const std::string what = error.what();
        EXPECT_NE(what.find(file.string()), what.npos) << what;
        EXPECT_NE(what.find(reason), what.npos) << what;
        EXPECT_EQ(what.find('\n'), what.npos) << what;
    }
}

void run_sql(const fs::path& file, const char* sql) {
    sqlite3* handle = nullptr;
    ASSERT_EQ(sqlite3_open(file.c_str(), &handle), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(handle, sql, nullptr, nullptr, nullptr), SQLITE_OK);
    ASSERT_EQ(sqlite3_close(handle), SQLITE_OK);
}

TEST(SqliteRegister, RefusesFilesThatAreNoRegister) {
    TestFolder folder;
    write_text_file(folder / "text.db", std::string(4096, 't'));
    expect_refused(folder / "text.db", "not a database");
    EXPECT_EQ(read_text_file(folder / "text.db"), std::string(4096, 't'));

    run_sql(folder / "other.db", "CREATE TABLE people (name TEXT)");
    expect_refused(folder / "other.db", "something else");

    run_sql(folder / "newer.db", "PRAGMA user_version = 2");
    expect_refused(folder / "newer.db", "schema 2");

    expect_refused(folder / "missing/r.db", "unable to open");
}

TEST(SqliteRegister, RefusesARecordWithABadHash) {
    TestFolder folder;
    (void)make_sqlite_register(folder / "r.db", decision(0));
    run_sql(folder / "r.db", "UPDATE register SET delta = x'00ff'");
    const auto opened = make_sqlite_register(folder / "r.db", decision(0));
    EXPECT_THROW((void)opened->read(), MachineError);
}

TEST(SqliteRegister, FullDiskIsAMachineErrorThatKeepsTheDecision) {
    TestFolder folder;
    if (!folder.shrink_to(128 << 10)) GTEST_SKIP() << "mounting a tiny file system needs root";
    const auto opened = make_sqlite_register(folder / "r.db", decision(0));
    const std::uint64_t epoch = opened->acquire();
    {
        std::ofstream filler(folder / "filler", std::ios::binary);
        const std::string block(4096, 'f');
        while (filler.write(block.data(), 4096).flush()) continue;
    }
    std::uint64_t version = 0;
    try {
        while (version < 1000 && opened->decide(epoch, version, decision(version + 1))) ++version;
        FAIL() << "the disk is full and still takes decisions";
    } catch (const MachineError& error) {
        EXPECT_NE(std::string(error.what()).find("r.db"), std::string::npos) << error.what();
    }
    fs::remove(folder / "filler");
    EXPECT_EQ(opened->read().version, version);
    EXPECT_TRUE(opened->decide(epoch, version, decision(version + 1)));
}

}  // namespace
}  // namespace refit
