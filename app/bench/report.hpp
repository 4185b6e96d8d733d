// The result of `refit bench codec` as a table for people and as a `refit.bench/1` document.
//
// Rates in the table are GB/s, decimal; the document has plain numbers in bytes/s and, where a
// figure does not apply to a row, null.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "app/bench/codec_rows.hpp"

namespace refit {

struct BenchHost {
    std::string cpu;
    std::string device;  // Device::detail()
    unsigned threads = 0;
    double wall_seconds = 0;
};

/// Lines of at most 80 columns, but for what titles say.
std::vector<std::string> bench_table(const std::vector<BenchSample>& samples,
                                     const std::vector<BenchRow>& rows,
                                     const BenchHost& host);

/// `host` of every document of refit.bench/1.
nlohmann::ordered_json host_json(const BenchHost& host);

nlohmann::ordered_json bench_document(const std::vector<BenchSample>& samples,
                                      const std::vector<BenchRow>& rows,
                                      const BenchHost& host);

}  // namespace refit
