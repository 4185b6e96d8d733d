// The sequence of calls to NCCL, run against a library of its interface (fake_nccl.cpp) in several
// processes: exact, aborted and rebuilt under every fault, and refused where two ends differ. What
// it cannot show is NCCL itself, its streams and its speed.
#include <nccl.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "engine/base/result.hpp"
#include "engine/collective/nccl_collective.hpp"
#include "engine/collective/nccl_library.hpp"
#include "tests/collective/support.hpp"
#include "tests/support/files.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;

const fs::path kFake = REFIT_FAKE_NCCL_FOLDER;
constexpr Nanoseconds kLong = 20_s;
constexpr Nanoseconds kShort = 1_s;

/// Runs ranks over the fake library, whose shared files stand in a folder of their own.
class NcclCollective : public ::testing::Test {
protected:
    void SetUp() override { setenv("REFIT_FAKE_NCCL_FOLDER", folder_.path().c_str(), 1); }
    void TearDown() override { unsetenv("REFIT_FAKE_NCCL"); }

    static std::vector<RankEnd> run(unsigned ranks,
                                    const std::string& fault,
                                    Nanoseconds deadline = kLong) {
        setenv("REFIT_FAKE_NCCL", fault.c_str(), 1);
        return run_ranks(ranks, [=](SocketMesh mesh) {
            const auto library = open_nccl(kFake);
            SocketCollective sockets(std::move(mesh), kLong);
            const auto memory = make_host_memory();
            const auto all = make_nccl_collective(library, sockets, *memory, deadline);
            return rounds_text(*all, *memory, 6, 100'000);
        });
    }

    TestFolder folder_;
};

TEST_F(NcclCollective, IsExactOverRaggedParts) {
    for (const unsigned ranks : {1U, 2U, 4U}) {
        const auto ends = run(ranks, "");
        expect_clean(ends);
        for (const RankEnd& end : ends)
            EXPECT_TRUE(end.text.starts_with("left 0") && end.text.size() == 4 + 2 * ranks)
                << end.text;
    }
    EXPECT_TRUE(fs::is_empty(folder_.path()));  // every communicator was complete
}

TEST_F(NcclCollective, ADeadRankIsNamedAndTheOthersGoOn) {
    for (const unsigned ranks : {2U, 4U}) {
        for (unsigned victim = 0; victim < ranks; victim += 3 - ranks / 2) {
            SCOPED_TRACE(testing::Message() << ranks << " ranks, victim " << victim);
            const auto ends = run(ranks, "kill," + std::to_string(victim) + ",4");
            expect_clean(ends, {victim});
            for (unsigned rank = 0; rank < ranks; ++rank) {
                if (rank == victim) continue;
                const std::string& text = ends[rank].text;
                EXPECT_TRUE(text.starts_with("rank " + std::to_string(victim) + ", in ")) << text;
                EXPECT_NE(text.find("\nleft "), std::string::npos) << text;
                EXPECT_EQ(text.find(std::to_string(victim), text.find("left")), std::string::npos)
                    << text;
            }
        }
    }
}

TEST_F(NcclCollective, AnErrorOfTheLibraryAbortsAndEverybodyRebuilds) {
    const auto ends = run(4, "error,2,3");
    expect_clean(ends);
    EXPECT_EQ(ends[2].text, "a rank, in gather 3: NCCL: internal error\nleft 0 1 2 3");
    for (const unsigned rank : {0U, 1U, 3U}) {
        EXPECT_TRUE(ends[rank].text.starts_with("rank 2, in ")) << ends[rank].text;
        EXPECT_TRUE(ends[rank].text.ends_with("\nleft 0 1 2 3")) << ends[rank].text;
    }
}

TEST_F(NcclCollective, AStalledRankHitsTheDeadlineAndTheNextCommunicatorIsExact) {
    const auto ends = run(2, "stall,1,5", kShort);
    expect_clean(ends);
    for (const RankEnd& end : ends) {
        EXPECT_TRUE(end.text.ends_with("left 0 1")) << end.text;
        EXPECT_FALSE(end.text.starts_with("left")) << end.text;
    }
}

TEST_F(NcclCollective, ADelayWithinTheDeadlineIsNoLoss) {
    for (const RankEnd& end : run(2, "delay,0,4,200")) EXPECT_EQ(end.text, "left 0 1");
}

TEST_F(NcclCollective, AFailedStartIsALossAndTheNextStartIsExact) {
    const auto ends = run(4, "init,1,1");
    expect_clean(ends);
    EXPECT_TRUE(ends[1].text.starts_with("a rank, in gather 1: NCCL: unhandled system error\n"))
        << ends[1].text;
    for (const RankEnd& end : ends) EXPECT_TRUE(end.text.ends_with("left 0 1 2 3")) << end.text;
}

TEST_F(NcclCollective, AnotherCountIsRefusedAtBothEnds) {
    const auto ends = run_ranks(2, [](SocketMesh mesh) -> std::string {
        const auto library = open_nccl(kFake);
        SocketCollective sockets(std::move(mesh), kLong);
        const auto memory = make_host_memory();
        const auto all = make_nccl_collective(library, sockets, *memory, kLong);
        const MemoryBlock mine(*memory, all->self() == 0 ? 100 : 90);
        const MemoryBlock other(*memory, 80);
        const std::vector<std::span<std::byte>> parts{mine.bytes(), other.bytes()};
        MaybeLoss loss = all->self() == 0 ? all->gather(0, mine.bytes(), parts)
                                          : all->gather(0, mine.bytes(), {});
        if (!loss) loss = all->barrier();  // a sender may be done before the other looks
        return loss ? loss->text() : "complete";
    });
    expect_clean(ends);
    std::string texts = ends[0].text + "; " + ends[1].text;
    EXPECT_NE(texts.find("NCCL: invalid usage"), std::string::npos) << texts;
    for (const RankEnd& end : ends) EXPECT_NE(end.text, "complete");
}

TEST(NcclLibrary, IsFoundInTheFolderThatIsNamedOrNot) {
    const auto library = open_nccl(kFake);
    EXPECT_EQ(library->file, (kFake / "libnccl.so.2").string());
    EXPECT_EQ(nccl_version(*library), "2.18.5");
    NcclLibrary old;
    old.version = 2708;
    EXPECT_EQ(nccl_version(old), "2.7.8");
    const TestFolder empty;
    try {
        open_nccl(empty.path());
        FAIL() << "opened something";
    } catch (const MachineError& error) {
        const std::string text = error.what();
        EXPECT_TRUE(text.starts_with("NCCL: " + empty.path().string())) << text;
        EXPECT_EQ(text.find('\n'), std::string::npos);
    }
    write_text_file(empty / "libnccl.so.2", "no library");
    EXPECT_THROW(open_nccl(empty.path()), MachineError);
}

TEST(NcclLibrary, IsFoundInAWheelBesideAPythonOnThePath) {
    const TestFolder prefix;
    const fs::path wheel = prefix / "lib/python3.12/site-packages/nvidia/nccl/lib";
    fs::create_directories(wheel);
    fs::create_directories(prefix / "bin");
    fs::create_symlink(kFake / "libnccl.so.2", wheel / "libnccl.so.2");
    const char* const path = std::getenv("PATH");
    const std::string before = path == nullptr ? "" : path;
    setenv("PATH", (prefix / "bin").c_str(), 1);
    // Where the loader finds one of its own, that comes first.
    try {
        const auto library = open_nccl({});
        EXPECT_TRUE(library->file == "libnccl.so.2" ||
                    library->file == (wheel / "libnccl.so.2").string())
            << library->file;
    } catch (const MachineError& error) {
        ADD_FAILURE() << error.what();
    }
    setenv("PATH", before.c_str(), 1);
}

/// Two ranks of the fake library itself, which must refuse what NCCL would hang or corrupt on.
class FakeNccl : public NcclCollective {
protected:
    struct Rank {
        std::shared_ptr<const NcclLibrary> nccl;
        ncclComm_t comm;
        unsigned self;
        HostQueue queue{0};
        cudaStream_t stream() { return reinterpret_cast<cudaStream_t>(&queue); }

        ncclResult_t settle() {
            const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
            ncclResult_t state = ncclInProgress;
            do {
                nccl->async_error(comm, &state);
                if (state != ncclSuccess && state != ncclInProgress) return state;
                if (state == ncclSuccess && queue.load() == 0) return ncclSuccess;
                std::this_thread::sleep_for(std::chrono::microseconds(100));
            } while (std::chrono::steady_clock::now() < end);
            return ncclInProgress;
        }
    };

    using Body = std::function<ncclResult_t(Rank&)>;

    /// What each rank ends with, as NCCL's number.
    static std::string results(const Body& body) {
        const auto ends = run_ranks(2, [&](SocketMesh mesh) -> std::string {
            Rank rank{open_nccl(kFake), nullptr, mesh.self()};
            SocketCollective sockets(std::move(mesh), kLong);
            ncclUniqueId id{};
            if (rank.self == 0) rank.nccl->get_unique_id(&id);
            if (sockets.fan_out(0, std::as_writable_bytes(std::span(&id, 1)))) return "lost";
            ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
            config.blocking = 0;
            rank.nccl->init_rank(&rank.comm, 2, id, static_cast<int>(rank.self), &config);
            if (rank.settle() != ncclSuccess) return "no start";
            const ncclResult_t result = body(rank);
            if (sockets.barrier()) return "lost";
            rank.nccl->abort(rank.comm);
            return std::to_string(result);
        });
        return ends[0].text + " " + ends[1].text;
    }

    static std::string one_transfer(std::size_t sent, ncclDataType_t type, bool broadcast) {
        return results([=](Rank& rank) {
            std::vector<std::uint64_t> words(64);
            if (broadcast && rank.self == 0)
                rank.nccl->broadcast(words.data(), words.data(), sent, type, 0, rank.comm,
                                     rank.stream());
            else if (rank.self == 0)
                rank.nccl->send(words.data(), sent, type, 1, rank.comm, rank.stream());
            else
                rank.nccl->receive(words.data(), 16, ncclUint8, 0, rank.comm, rank.stream());
            ncclResult_t result = rank.settle();
            if (result == ncclSuccess) {  // a small piece leaves before the other end looks at it
                std::this_thread::sleep_for(std::chrono::milliseconds(200));
                result = rank.settle();
            }
            return result;
        });
    }
};

TEST_F(FakeNccl, RefusesOtherCountsTypesAndCalls) {
    EXPECT_EQ(one_transfer(16, ncclUint8, false), "0 0");
    const std::string invalid = std::to_string(ncclInvalidUsage);
    for (const std::string& got :
         {one_transfer(15, ncclUint8, false), one_transfer(16, ncclInt8, false),
          one_transfer(8, ncclBfloat16, false), one_transfer(16, ncclUint8, true)})
        EXPECT_TRUE(got.ends_with(" " + invalid)) << got;
}

TEST_F(FakeNccl, NeverCompletesWhatNobodyAnswers) {
    const std::string hangs = std::to_string(ncclInProgress);
    EXPECT_EQ(results([](Rank& rank) {
                  std::vector<std::byte> bytes(100'000);
                  if (rank.self == 1) return ncclSuccess;
                  rank.nccl->send(bytes.data(), bytes.size(), ncclUint8, 1, rank.comm,
                                  rank.stream());
                  return rank.settle();
              }),
              hangs + " 0");
    // Both send first and do not group: each waits for the other to receive.
    EXPECT_EQ(results([](Rank& rank) {
                  std::vector<std::byte> bytes(100'000);
                  const int peer = rank.self == 0 ? 1 : 0;
                  rank.nccl->send(bytes.data(), bytes.size(), ncclUint8, peer, rank.comm,
                                  rank.stream());
                  rank.nccl->receive(bytes.data(), bytes.size(), ncclUint8, peer, rank.comm,
                                     rank.stream());
                  return rank.settle();
              }),
              hangs + " " + hangs);
}

TEST_F(FakeNccl, RefusesPeersThatAreNoneAndGroupsThatNobodyStarted) {
    const std::string argument = std::to_string(ncclInvalidArgument);
    const std::string usage = std::to_string(ncclInvalidUsage);
    EXPECT_EQ(results([](Rank& rank) {
                  std::byte byte{};
                  return rank.nccl->send(&byte, 1, ncclUint8, 2, rank.comm, rank.stream());
              }),
              argument + " " + argument);
    EXPECT_EQ(results([](Rank& rank) { return rank.nccl->group_end(); }), usage + " " + usage);
    EXPECT_EQ(results([](Rank& rank) {
                  std::byte byte{};
                  rank.nccl->group_start();
                  rank.nccl->receive(&byte, 1, ncclUint8, -1, rank.comm, rank.stream());
                  return rank.nccl->group_end();
              }),
              usage + " " + usage);
}

}  // namespace
}  // namespace refit
