// `refit bench net`: its flags, the ranks it starts, and the result as a table for people and as a
// `refit.bench/1` document.
//
// Rates in the table are GB/s, decimal; the document has bytes/s. Its `rows`, which are those of
// codecs, are empty.
#pragma once

#include <CLI/App.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "app/bench/net_rows.hpp"
#include "app/bench/report.hpp"
#include "app/command.hpp"

namespace refit {

struct NetFlags {
    bool nccl = false;
    bool share_gpu = false;
    unsigned ranks = 2;
    std::string largest = "64MiB";
    std::string libraries;  // a folder; empty: search
};

/// `flags` outlive the command.
void add_net_flags(CLI::App& command, NetFlags& flags);

/// Between which ends, over what, and what it is not: for people.
std::string net_transport(const NetFlags& flags);

/// Lines of at most 80 columns, but for what names say.
std::vector<std::string> net_table(const NetFlags& flags,
                                   const NetRows& net,
                                   const BenchHost& host);

nlohmann::ordered_json net_document(const NetFlags& flags,
                                    const NetRows& net,
                                    const BenchHost& host);

/// Without NCCL or without a GPU for each rank: MachineError in one line.
Result<ExitCode> bench_net(const Console& console, const NetFlags& flags, std::uint64_t seed);

}  // namespace refit
