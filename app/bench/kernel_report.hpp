// The result of `refit bench kernels` as a table for people and as a `refit.bench/1` document.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "app/bench/kernel_rows.hpp"
#include "app/bench/report.hpp"

namespace refit {

/// Lines of at most 80 columns, but for what names say.
std::vector<std::string> kernel_lines(const std::vector<KernelTable>& tables,
                                      const BenchHost& host);

nlohmann::ordered_json kernel_document(const std::vector<KernelTable>& tables,
                                       const BenchHost& host);

}  // namespace refit
