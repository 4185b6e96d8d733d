// The rows of `refit bench kernels`: every operation at every size on every device.
//
// Proof      a mixed case first: all slots run once over junk, then are compared.
// Speed      not on the executor. At each size the copy of the device, then every operation: slots
// in
//            turn, median of the runs, and all slots compared once more. What nobody measured has
//            its floor and no speed.
// Errors     Interrupted passes through; a device that fails throws std::runtime_error.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/bench/kernel_floors.hpp"
#include "app/console.hpp"

namespace refit {

struct KernelRow {
    const KernelFloor* floor = nullptr;
    KernelCounts counts;
    double floor_bytes = 0;
    bool mixed = false;  // tiles of every kind; never timed
    bool ran = false;
    std::uint64_t checked_words = 0;  // of the tiles whose results were compared
    std::uint64_t wrong = 0;
    std::optional<double> seconds;                   // median, of one run
    std::optional<double> ceiling_bytes_per_second;  // of the copy

    std::optional<double> bytes_per_second() const;
    std::optional<double> share_of_ceiling() const;
};

/// One device, or one that is not there: then its rows have floors alone.
struct KernelTable {
    std::string backend;  // "cpu", "simt", "cuda"
    std::string detail;
    std::string absence;  // why nothing was measured; empty if it was
    std::vector<KernelRow> rows;

    bool exact() const;
};

struct KernelBenchSpec {
    std::string backend = "auto";  // auto: cpu, and cuda if only its floors
    std::string devices;           // of cuda, as --devices has them; empty: the first
    std::uint64_t words = 0;       // the one size to measure; 0: the usual ones
    std::uint64_t seed = 1;
};

std::vector<KernelTable> measure_kernels(const Console& console, const KernelBenchSpec& spec);

}  // namespace refit
