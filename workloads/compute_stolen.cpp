#include "workloads/compute_stolen.hpp"

#include <algorithm>
#include <utility>

#include "workloads/work_beside.hpp"

namespace refit {

namespace {

double median(std::vector<double> values) {
    if (values.empty()) return 0;
    std::ranges::sort(values);
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double per_second(std::uint64_t amount, Nanoseconds time) {
    return time.count > 0 ? static_cast<double>(amount) / to_seconds(time) : 0;
}

void load_beside(ComputeLoad& load,
                 const CodecWork& work,
                 const MonotonicClock& thread_clock,
                 StolenRound& round) {
    WorkBeside beside(work);
    const std::uint64_t before = beside.bytes();
    const Nanoseconds start = thread_clock();
    const LoadRun run = load.pass();
    const Nanoseconds on_core = thread_clock() - start;
    const std::uint64_t done = beside.bytes() - before;
    beside.finish();
    round.load_beside = run.flop_per_second();
    round.codec_beside = per_second(done, run.wall);
    round.on_core = run.wall.count > 0 ? to_seconds(on_core) / to_seconds(run.wall) : 0;
}

double codec_alone(const CodecWork& work, Nanoseconds about, const MonotonicClock& clock) {
    std::uint64_t bytes = 0;
    const Nanoseconds start = clock();
    Nanoseconds time{0};
    do {
        bytes += work().count;
        time = clock() - start;
    } while (time < about);
    return per_second(bytes, time);
}

}  // namespace

StolenShare stolen_share(const std::vector<StolenRound>& rounds) {
    StolenShare share;
    std::vector<double> stolen;
    const auto middle = [&](double StolenRound::*rate) {
        std::vector<double> values;
        for (const StolenRound& round : rounds) values.push_back(round.*rate);
        return median(std::move(values));
    };
    for (const StolenRound& round : rounds)
        if (round.load_alone > 0 && round.load_beside > 0)
            stolen.push_back(1 - round.load_beside / round.load_alone);
    share.load_alone = middle(&StolenRound::load_alone);
    share.load_beside = middle(&StolenRound::load_beside);
    share.codec_alone = middle(&StolenRound::codec_alone);
    share.codec_beside = middle(&StolenRound::codec_beside);
    share.on_core = middle(&StolenRound::on_core);
    share.rounds = stolen.size();
    if (stolen.empty()) return share;
    share.stolen = {median(stolen), *std::ranges::min_element(stolen),
                    *std::ranges::max_element(stolen)};
    return share;
}

StolenShare measure_stolen(ComputeLoad& load,
                           const CodecWork& work,
                           std::uint64_t rounds,
                           const StolenClocks& clocks,
                           const std::function<void()>& between) {
    std::vector<StolenRound> all(rounds);
    Nanoseconds slice{0};
    for (std::uint64_t i = 0; i < rounds; ++i) {
        StolenRound& round = all[i];
        const std::function<void()> slices[] = {
            [&] {
                const LoadRun run = load.pass();
                slice = run.wall;
                round.load_alone = run.flop_per_second();
            },
            [&] { load_beside(load, work, clocks.thread, round); },
            [&] { round.codec_alone = codec_alone(work, slice, clocks.wall); }};
        constexpr std::size_t kSlices = std::size(slices);
        for (std::size_t s = 0; s < kSlices; ++s) {
            between();
            slices[i % 2 == 0 ? s : kSlices - 1 - s]();
        }
    }
    return stolen_share(all);
}

}  // namespace refit
