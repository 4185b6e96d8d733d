// What the run's codec makes of a change, beside what a whole checkpoint takes and beside the
// entropy bound, in bits per parameter: what is drawn on a log axis.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "viz/bar_view.hpp"

namespace refit {

struct CodecBar {
    std::string name;  // "full-zstd", "xc", "refit 2"
    double bits = 0;   // per parameter
    std::string note;  // "6.4 bits a change"
    std::optional<std::pair<double, double>> ci95;
    enum class Of : std::uint8_t { checkpoint, run, refit } of = Of::checkpoint;
};

struct CodecView {
    std::vector<CodecBar> bars;
    double bound = 0;  // bits per parameter; 0: the record has none
    double ratio_to_bound = 0;
    std::string provenance;        // of the codec's bits
    std::string bound_provenance;  // of the bound
    LogAxis axis;
};

/// The run has a record. Full checkpoints first, then the codec over the run, then its refits.
CodecView view_codec(const nlohmann::ordered_json& record);

}  // namespace refit
