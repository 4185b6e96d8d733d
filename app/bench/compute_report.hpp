// The result of `refit bench compute` as a table for people and as a `refit.bench/1` document.
//
// Rates in the table are GFLOP/s and GB/s, decimal; the document has plain numbers. Its `rows`,
// which are those of codecs, are empty.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "app/bench/compute_rows.hpp"
#include "app/bench/gpu_rows.hpp"
#include "app/bench/report.hpp"

namespace refit {

struct ComputeBench {
    std::string model;
    std::uint64_t tokens = 0;
    std::string codec;
    std::string change;  // "adam, 3 % of words"
    ComputeRows products;
    std::vector<HostCompute> stolen;  // a row for each product there is
    GpuCompute gpu;

    bool exact() const;
};

/// Lines of at most 80 columns, but for what names say.
std::vector<std::string> compute_table(const ComputeBench& bench, const BenchHost& host);

nlohmann::ordered_json compute_document(const ComputeBench& bench, const BenchHost& host);

/// "2.0 % (-1.0 .. 4.0)": median and ends of what was stolen; and the load's share of a core where
/// it did not have one of its own, so that it was not the codec's work alone that took it.
std::string stolen_text(const HostStolen& stolen);

}  // namespace refit
