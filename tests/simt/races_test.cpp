// The kernels under the thread sanitizer: no race as they are, one or a wrong result with any
// synchronisation taken away.
//
// Model    each mutant runs in a child process, because reading junk may crash it; the first report
//          of a race ends the child. Reports are not symbolised, which would take most of the time:
//          TSAN_OPTIONS=symbolize=1 shows the lines.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "tests/kernels/support.hpp"
#include "tests/simt/support.hpp"
#include "tests/simt/sync_kernels.cuh"
#include "tests/simt/sync_names.hpp"
#include "tests/simt/xc_support.hpp"

namespace refit {
constexpr int kRaceStatus = 3;
}

extern "C" const char* __tsan_default_options();
extern "C" const char* __tsan_default_options() {
    return "symbolize=0:exitcode=0:suppress_equal_stacks=0:suppress_equal_addresses=0";
}

/// Called by the sanitizer's runtime for each race.
extern "C" void __tsan_on_report(void* report);
extern "C" void __tsan_on_report(void* /*report*/) {
    std::fprintf(stderr, "a race was reported\n");
    _exit(refit::kRaceStatus);
}

namespace refit {
namespace {

using kernels::SyncShared;

/// Digests and words of everything the kernels give, for comparing two runs.
using Results = std::vector<std::uint64_t>;

void add(Results& results, const std::vector<std::uint16_t>& words) {
    results.insert(results.end(), words.begin(), words.end());
}

Results run_product_kernels(const simt::Schedule& schedule) {
    TestRng rng{61};
    Results results;
    SimtKernels kernels(schedule);
    const std::size_t words = 4 * 4096 + 100;
    const WordVector base = random_words(rng, words);
    const WordVector next = random_next(rng, base, 20);
    const Changes changes = kernels.diff(base, next);
    results.push_back(changes.segments.size());
    add(results, changes.positions);
    add(results, changes.words);
    results.push_back(kernels.compare(base, next));

    Placement p = whole_tensor(100, 160);
    WordVector memory = random_words(rng, 16000);
    results.push_back(kernels.digest(memory, {&p, 1}, 5));
    results.push_back(kernels.digest_change(base, changes, {&p, 1}, 5));
    kernels.overwrite(memory, changes, {&p, 1});
    add(results, memory);
    kernels.scatter(base, {&p, 1}, memory);
    add(results, memory);
    WordVector tile = random_words(rng, 16000);
    kernels.gather(memory, {&p, 1}, tile);
    add(results, tile);
    return results;
}

/// A dense segment, which is copied before what changes in it.
Results run_stage(const simt::Schedule& schedule) {
    TestRng rng{62};
    const WordVector base = random_words(rng, 2100);
    std::vector<std::uint32_t> index(base.size());
    for (std::uint32_t i = 0; i < index.size(); ++i) index[i] = i;
    const WordVector mask(base.size(), 1);
    const kernels::TileMasks tile{{0, base.size()}, index, mask};
    Results results;
    add(results, SimtKernels(schedule).stage_batch(base, {&tile, 1}).words);
    return results;
}

/// Tiles of many classes of steps to payloads and back.
Results run_xc(const simt::Schedule& schedule) {
    TestRng rng{63};
    XcCase of = random_xc_case(rng, 600, 200);
    of.tables.stages = 4;
    for (std::size_t i = 0; i < of.base.size(); ++i) {
        const auto size_class = static_cast<unsigned>(rng.below(5));
        if (of.base[i] != of.next[i])
            of.next[i] = stepped(of.base[i], random_step(rng, size_class));
    }
    const kernels::TileSpan tile{0, of.base.size()};
    SimtXc xc(schedule);
    const XcExponents sample = xc.sample(of.base, {&tile, 1}, of.tables.context.mantissa_bits);
    const XcScanned scanned = xc.scan(of.base, of.next, {&tile, 1}, of.tables.context);
    const XcInput input{tile, &of.tables, of.levels};
    const auto payload = xc.encode_batch(of.base, scanned, {&input, 1})[0];
    Results results(sample.begin(), sample.end());
    for (const XcExponents& counts : scanned.counts.steps)
        results.insert(results.end(), counts.begin(), counts.end());
    add(results, scanned.base);
    for (const std::byte byte : payload) results.push_back(std::to_integer<std::uint64_t>(byte));
    Changes changes;
    const auto changed = static_cast<std::uint32_t>(scanned.base.size());
    results.push_back(
        static_cast<std::uint64_t>(xc.decode(of.base, payload, changed, of.tables, changes)));
    add(results, changes.words);
    return results;
}

/// Look-back over more blocks than a small diff has.
Results run_scan(const simt::Schedule& schedule) {
    const unsigned count = 128 * 9 + 1;
    const std::vector<std::uint32_t> changed(count, 100);
    const std::vector<kernels::SegmentSpan> spans(count, {0, 4096, 0, 0});
    std::vector<unsigned long long> parts(kernels::scan_parts(count));
    std::vector<unsigned long long> offsets(count + 1);
    unsigned ticket = 0;
    simt::Queue queue{schedule, {}};
    simt::launch(queue, kernels::scan_shape(count), kernels::scan_staged, changed.data(),
                 spans.data(), count, kernels::ScanScratch{offsets.data(), parts.data(), &ticket});
    return {offsets.begin(), offsets.end()};
}

Results run_sync_kernels(const simt::Schedule& schedule) {
    simt::Queue queue{schedule, {}};
    std::vector<unsigned> in(256);
    for (unsigned i = 0; i < 256; ++i) in[i] = i;
    std::vector<unsigned> turned(256);
    std::vector<unsigned> warp(64);
    std::vector<unsigned> handed(8);
    unsigned ticket = 0;
    unsigned word = 0;
    unsigned flag = 0;
    simt::launch(queue, {"turn_around", {1}, {128}, sizeof(SyncShared)}, kernels::turn_around,
                 in.data(), turned.data());
    simt::launch(queue, {"turn_warp", {1}, {32}, sizeof(SyncShared)}, kernels::turn_warp, in.data(),
                 warp.data());
    simt::launch(queue, {"hand_over", {8}, {1}}, kernels::hand_over, &ticket, &word, &flag,
                 handed.data());
    Results results(turned.begin(), turned.end());
    results.insert(results.end(), warp.begin(), warp.end());
    results.push_back(static_cast<std::uint64_t>(std::count(handed.begin(), handed.end(), 42u)));
    return results;
}

Results run_all(const simt::Schedule& schedule) {
    Results results = run_product_kernels(schedule);
    for (const Results& more :
         {run_scan(schedule), run_stage(schedule), run_xc(schedule), run_sync_kernels(schedule)})
        results.insert(results.end(), more.begin(), more.end());
    return results;
}

/// Runs `body` in a child process; 0 when it says that nothing was found.
template <class Body>
int in_child(bool quiet, const Body& body) {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
        if (quiet) dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
        int found = 1;
        try {
            found = body() ? 1 : 0;
        } catch (const std::exception& e) {
            std::fprintf(stderr, "%s\n", e.what());
        }
        _exit(found);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return status;
}

__global__ void write_one_word(unsigned* word) { *word = blockIdx.x; }

TEST(Races, BlocksThatWriteOneWordAreFound) {
    for (const unsigned resident : {1u, 2u}) {
        const int status = in_child(true, [resident] {
            simt::Queue queue{{simt::Order::forward, 0, resident}, {}};
            unsigned word = 0;
            simt::launch(queue, {"write_one_word", {2}, {1}}, write_one_word, &word);
            return false;
        });
        EXPECT_NE(status, 0) << resident << " resident";
    }
}

TEST(Races, TheKernelsHaveNone) {
    const int status = in_child(false, [] {
        const Results want = run_all({simt::Order::forward, 0, 1});
        bool wrong = false;
        for (const unsigned resident : {1u, 2u, 7u})
            for (const simt::Order order :
                 {simt::Order::forward, simt::Order::reverse, simt::Order::random})
                wrong = wrong || run_all({order, resident, resident}) != want;
        return wrong;
    });
    EXPECT_EQ(status, 0);
}

TEST(Races, EveryMutantIsKilled) {
    const Results want = run_all({simt::Order::forward, 0, 1});
    std::vector<std::string> names = sync_names("kernels/cuda");
    const std::size_t product = names.size();
    for (const std::string& name : sync_names("tests/simt")) names.push_back(name);
    std::size_t killed = 0;
    std::size_t raced = 0;
    for (const std::string& name : names) {
        const int status = in_child(true, [&] {
            for (const unsigned resident : {1u, 2u})
                if (run_all({simt::Order::forward, 0, resident, name.c_str()}) != want) return true;
            return false;
        });
        if (status != 0) ++killed;
        if (WIFEXITED(status) && WEXITSTATUS(status) == kRaceStatus) ++raced;
        EXPECT_NE(status, 0) << name << " survives";
    }
    std::printf("%zu of %zu mutants killed, %zu by a race report; %zu are of kernels/cuda\n",
                killed, names.size(), raced, product);
}

}  // namespace
}  // namespace refit
