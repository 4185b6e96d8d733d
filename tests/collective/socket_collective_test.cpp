// The collective of the CPU must move exactly the bytes it is given, name who is lost, and be exact
// again among those left, whoever dies and whenever.
#include <algorithm>
#include <thread>

#include "tests/collective/support.hpp"

namespace refit {
namespace {

constexpr Nanoseconds kLong = 20_s;  // never reached where all is well
constexpr Nanoseconds kShort = 1_s;  // of tests in which somebody is silent

RankBody rounds_body(std::uint64_t rounds,
                     std::size_t limit,
                     std::function<void(unsigned, std::uint64_t)> before = {},
                     Nanoseconds deadline = kLong) {
    return [=](SocketMesh mesh) {
        SocketCollective all(std::move(mesh), deadline);
        const auto memory = make_host_memory();
        return rounds_text(all, *memory, rounds, limit, [&](std::uint64_t round) {
            if (before) before(all.self(), round);
        });
    };
}

TEST(SocketCollective, MovesRaggedPartsAndCopiesExactly) {
    for (const unsigned ranks : {1U, 2U, 3U, 4U, 7U}) {
        const auto ends = run_ranks(ranks, rounds_body(12, 200'000));
        expect_clean(ends);
        std::string all;
        for (unsigned rank = 0; rank < ranks; ++rank)
            all += (rank == 0 ? "" : " ") + std::to_string(rank);
        for (const RankEnd& end : ends) EXPECT_EQ(end.text, "left " + all);
    }
}

TEST(SocketCollective, IsExactAtEverySizeAroundAChunk) {
    const auto ends = run_ranks(3, [](SocketMesh mesh) -> std::string {
        SocketCollective all(std::move(mesh), kLong);
        for (const std::size_t size : {std::size_t{0}, std::size_t{1}, kFrameBytesMax - 1,
                                       kFrameBytesMax, kFrameBytesMax + 1, 5 * kFrameBytesMax}) {
            auto bytes = pattern(1, size, size);
            if (all.self() != 1) std::ranges::fill(bytes, std::byte{0});
            if (const MaybeLoss loss = all.fan_out(1, bytes)) return loss->text();
            if (bytes != pattern(1, size, size)) return "wrong at " + std::to_string(size);
        }
        const MaybeLoss loss = all.barrier();
        return loss ? loss->text() : "exact";
    });
    for (const RankEnd& end : ends) EXPECT_EQ(end.text, "exact");
}

TEST(SocketCollective, RanksMayBeThreads) {
    auto meshes = SocketMesh::make(3);
    std::vector<std::string> texts(3);
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < 3; ++rank)
        threads.emplace_back([mesh = std::move(meshes[rank]), &text = texts[rank]]() mutable {
            SocketCollective all(std::move(mesh), kLong);
            const auto memory = make_host_memory();
            text = rounds_text(all, *memory, 6, 100'000);
        });
    for (std::thread& thread : threads) thread.join();
    for (const std::string& text : texts) EXPECT_EQ(text, "left 0 1 2");
}

TEST(SocketCollective, NamesADeadRankAndIsExactAmongTheOthers) {
    for (const unsigned ranks : {2U, 3U, 4U}) {
        for (unsigned victim = 0; victim < ranks; ++victim) {
            SCOPED_TRACE(testing::Message() << ranks << " ranks, victim " << victim);
            const auto ends =
                run_ranks(ranks, rounds_body(8, 150'000, [=](unsigned self, std::uint64_t round) {
                              if (self == victim && round == 3) raise(SIGKILL);
                          }));
            expect_clean(ends, {victim});
            std::vector<unsigned> left;
            for (unsigned rank = 0; rank < ranks; ++rank)
                if (rank != victim) left.push_back(rank);
            const std::string named = "rank " + std::to_string(victim) + ", in ";
            for (const unsigned rank : left) {
                const std::string& text = ends[rank].text;
                EXPECT_TRUE(text.starts_with(named)) << text;
                EXPECT_TRUE(text.ends_with("\nleft " + ranks_text(left))) << text;
                EXPECT_EQ(std::ranges::count(text, '\n'), 1) << text;
            }
        }
    }
}

TEST(SocketCollective, GoesOnFromAnyNumberOfDeathsAtAnyTime) {
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        const unsigned ranks = 3 + static_cast<unsigned>(draw(seed, 0, 0) % 4);
        std::vector<std::uint64_t> death(ranks, 1000);
        std::vector<unsigned> killed;
        for (unsigned rank = 0; rank < ranks; ++rank)
            if (draw(seed, 1, rank) % 2 == 0) death[rank] = draw(seed, 2, rank) % 6;
        if (std::ranges::count(death, 1000U) == 0) death.back() = 1000;
        std::vector<unsigned> left;
        for (unsigned rank = 0; rank < ranks; ++rank)
            (death[rank] < 1000 ? killed : left).push_back(rank);
        const auto ends =
            run_ranks(ranks, rounds_body(10, 80'000, [=](unsigned self, std::uint64_t round) {
                          if (round == death[self]) raise(SIGKILL);
                      }));
        expect_clean(ends, killed);
        for (const unsigned rank : left)
            EXPECT_TRUE(ends[rank].text.ends_with("left " + ranks_text(left)))
                << rank << ": " << ends[rank].text;
    }
}

TEST(SocketCollective, ASilentRankIsCutOffAndKnowsIt) {
    const auto ends = run_ranks(3, [](SocketMesh mesh) -> std::string {
        const unsigned self = mesh.self();
        SocketCollective all(std::move(mesh), kShort);
        if (self == 1) {  // alive, but longer away than two deadlines of the others
            std::this_thread::sleep_for(std::chrono::milliseconds(3000));
            if (!all.barrier()) return "nothing lost";
            all.rebuild();
            return "left " + ranks_text(all.ranks());
        }
        const MaybeLoss loss = all.barrier();
        if (!loss) return "nothing lost";
        all.rebuild();
        const MaybeLoss then = all.barrier();
        return loss->text() + "; left " + ranks_text(all.ranks()) + (then ? then->text() : "");
    });
    expect_clean(ends);
    EXPECT_EQ(ends[0].text, "rank 1, in barrier 1: is silent; left 0 2");
    EXPECT_TRUE(ends[2].text.ends_with("; left 0 2")) << ends[2].text;
    EXPECT_EQ(ends[1].text, "left 1");
}

TEST(SocketCollective, ALateRankThatRebuildsInTimeStaysIn) {
    const auto ends = run_ranks(3, [](SocketMesh mesh) -> std::string {
        SocketCollective all(std::move(mesh), kShort);
        if (all.self() == 2) std::this_thread::sleep_for(std::chrono::milliseconds(1300));
        if (const MaybeLoss loss = all.barrier(); !loss) return "nothing lost";
        all.rebuild();
        const MaybeLoss then = all.barrier();
        return then ? then->text() : "left " + ranks_text(all.ranks());
    });
    for (const RankEnd& end : ends) EXPECT_EQ(end.text, "left 0 1 2");
}

TEST(SocketCollective, AnotherSizeOrAnotherCallIsRefusedAndRepaired) {
    for (const bool other_call : {false, true}) {
        const auto ends = run_ranks(2, [other_call](SocketMesh mesh) -> std::string {
            SocketCollective all(std::move(mesh), kLong);
            std::vector<std::byte> mine(all.self() == 0 ? 100 : 90);
            std::vector<std::byte> part(80);
            const std::vector<std::span<std::byte>> parts{mine, part};
            MaybeLoss loss;
            if (all.self() == 0) {
                loss = all.gather(0, mine, parts);
            } else {
                loss = other_call ? all.fan_out(1, mine) : all.gather(0, mine, {});
            }
            const std::string said = loss ? loss->reason : "complete";
            all.rebuild();
            const MaybeLoss then = all.barrier();
            return said + (then ? then->text() : "; left " + ranks_text(all.ranks()));
        });
        expect_clean(ends);
        EXPECT_EQ(ends[0].text, other_call ? "makes another call, fan-out with owner 1; left 0 1"
                                           : "sends 90 bytes where 80 are expected; left 0 1");
        EXPECT_EQ(ends[1].text, "complete; left 0 1");  // it only sent
    }
}

TEST(SocketCollective, AfterALossNothingSucceedsBeforeTheRebuild) {
    const auto ends = run_ranks(2, [](SocketMesh mesh) -> std::string {
        SocketCollective all(std::move(mesh), kLong);
        if (all.self() == 1) return "gone";
        while (!all.check()) std::this_thread::yield();
        std::vector<std::byte> bytes(3);
        const MaybeLoss first = all.barrier();
        const MaybeLoss second = all.fan_out(0, bytes);
        if (!first || !second) return "succeeded";
        all.rebuild();
        if (all.fan_out(0, bytes)) return "did not go on alone";
        return second->text();
    });
    EXPECT_EQ(ends[0].text, "rank 1, in no call yet: closed its connection");
}

/// A rank that speaks in frames of the test's choice.
void say(SocketMesh& mesh, unsigned to, Frame frame, std::span<const std::byte> bytes = {}) {
    frame.total = frame.kind < Frame::notice ? bytes.size() : frame.total;
    ASSERT_EQ(mesh.send(to, frame, bytes), SocketMesh::Io::done);
}

TEST(SocketCollective, BytesOfAGivenUpCallAreNotTakenForThoseOfTheNext) {
    auto meshes = SocketMesh::make(2);
    SocketMesh other = std::move(meshes[1]);
    SocketCollective all(std::move(meshes[0]), kLong);
    const auto stale = pattern(0, 0, 40);
    const auto fresh = pattern(1, 1, 40);
    say(other, 0, {Frame::join, 0, 0, 0, 0, 0});
    all.rebuild();
    EXPECT_EQ(ranks_text(all.ranks()), "0 1");
    say(other, 0, {Frame::fan_out, 1, 0, 1, 0, 0}, stale);
    say(other, 0, {Frame::fan_out, 1, 1, 1, 0, 0}, fresh);
    std::vector<std::byte> got(40);
    const MaybeLoss loss = all.fan_out(1, got);
    EXPECT_FALSE(loss) << loss->text();
    EXPECT_EQ(got, fresh);
}

TEST(SocketCollective, BytesThatAreAheadOfTheRebuildWaitForIt) {
    auto meshes = SocketMesh::make(3);
    SocketMesh leader = std::move(meshes[0]);
    SocketMesh third = std::move(meshes[2]);
    SocketCollective all(std::move(meshes[1]), kLong);
    const auto bytes = pattern(2, 1, 40);
    std::vector<std::byte> got(40);
    MaybeLoss loss;
    std::thread rank([&] {
        all.rebuild();
        loss = all.fan_out(2, got);
    });
    say(third, 1, {Frame::fan_out, 2, 1, 1, 0, 0}, bytes);
    Frame frame;
    std::size_t size = 0;
    while (frame.kind != Frame::join)
        if (leader.receive(1, frame, {}, size) != SocketMesh::Io::done) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));  // it looks at what is there
    say(leader, 1, {Frame::view, 0, 1, 0, 0b111, 0});
    rank.join();
    EXPECT_FALSE(loss) << loss->text();
    EXPECT_EQ(got, bytes);
}

TEST(SocketCollective, FramesThatMakeNoSenseAreALoss) {
    for (const Frame& frame :
         {Frame{Frame::view, 0, 7, 0, 0b11, 0}, Frame{99, 1, 0, 1, 40, 0},
          Frame{Frame::fan_out, 1, 5, 1, 0, 0}, Frame{Frame::fan_out, 1, 0, 2, 0, 0},
          Frame{Frame::fan_out, 1, 0, 1, 0, 8}}) {
        auto meshes = SocketMesh::make(2);
        SocketMesh other = std::move(meshes[1]);
        SocketCollective all(std::move(meshes[0]), kLong);
        say(other, 0, frame, frame.kind < Frame::notice ? pattern(0, 0, 40) : pattern(0, 0, 0));
        std::vector<std::byte> got(40);
        const MaybeLoss loss = all.fan_out(1, got);
        ASSERT_TRUE(loss) << frame.kind;
        EXPECT_EQ(loss->kind, Loss::Kind::disagreed) << loss->text();
        EXPECT_EQ(loss->rank, 1U);
    }
}

TEST(RankProcesses, SayHowTheyEnded) {
    const auto ends = run_ranks(3, [](SocketMesh mesh) -> std::string {
        if (mesh.self() == 0) return std::string(300'000, 'x');
        if (mesh.self() == 1) throw std::runtime_error("a reason");
        raise(SIGKILL);
        return "";
    });
    EXPECT_TRUE(ends[0].clean);
    EXPECT_EQ(ends[0].text.size(), 300'000U);
    EXPECT_FALSE(ends[1].clean);
    EXPECT_EQ(ends[1].text, "a reason");
    EXPECT_EQ(ends[2].signal, SIGKILL);
}

TEST(RankProcesses, EndWhenTheCallerGivesUp) {
    struct Enough {};
    const auto forever = [](SocketMesh) -> std::string {
        while (true) std::this_thread::sleep_for(std::chrono::seconds(1));
    };
    EXPECT_THROW(run_ranks(2, forever, [] { throw Enough{}; }), Enough);
}

}  // namespace
}  // namespace refit
