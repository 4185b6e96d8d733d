// Speed of the weight field on one core: both versions of rows of 4096 words.
//
// Rows      field/LAW/LEVEL. Counter ns_per_word: base and next together, from the measuring
//           thread's CPU clock, so that other processes do not count.
#include <benchmark/benchmark.h>

#include <array>
#include <ctime>

#include "kernels/weight_field.hpp"

namespace refit {
namespace {

constexpr std::uint32_t kColumns = 4096;

double cpu_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void time_field(benchmark::State& state, FieldLaw law, FillField fill) {
    FieldTensor tensor;
    tensor.columns = kColumns;
    tensor.law = law;
    tensor.sigma_exponent = -8;
    tensor.activity = -21 * 64;
    tensor.row_spread = 20;
    tensor.column_levels = 4;
    tensor.chance = tensor.hot_chance = std::uint64_t{1} << 27;
    std::array<std::uint16_t, kColumns> base{};
    std::array<std::uint16_t, kColumns> next{};
    double seconds = 0;
    std::uint64_t row = 0;
    for (const auto unused : state) {
        (void)unused;
        const double start = cpu_seconds();
        for (const std::uint64_t last = row + 16; row < last; ++row)
            fill(tensor, {row, 0}, {0, 1}, base, next);
        const double spent = cpu_seconds() - start;
        benchmark::DoNotOptimize(next);
        state.SetIterationTime(spent);
        seconds += spent;
    }
    state.counters["ns_per_word"] = seconds * 1e9 / static_cast<double>(row * kColumns);
}

void add_level(const FieldLevel& level) {
    const std::pair<const char*, FieldLaw> laws[] = {{"drift", FieldLaw::drift},
                                                     {"spread", FieldLaw::spread},
                                                     {"even", FieldLaw::even},
                                                     {"fresh", FieldLaw::fresh}};
    for (const auto& [name, law] : laws) {
        const auto run = [law = law, fill = level.fill](benchmark::State& state) {
            time_field(state, law, fill);
        };
        const std::string row = std::string("field/") + name + "/" + level.name;
        benchmark::RegisterBenchmark(row.c_str(), run)->UseManualTime()->MinTime(0.2);
    }
}

}  // namespace
}  // namespace refit

int main(int argc, char** argv) {
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
    for (const refit::FieldLevel& level : refit::field_levels()) refit::add_level(level);
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return 0;
}
