// The tables of `refit reproduce`, as plain values.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/reproduce/study.hpp"

namespace refit {

/// What the published systems' fixed cost is taken to be; bytes come on top.
struct FixedCost {
    double seconds = 0;
    std::string source;
};

struct ReproduceSpec {
    std::string headline_model = "kimi-k2-1t";
    double headline_changed = 0.03;
    std::vector<std::string> profiles;
    std::vector<std::string> codecs;
    std::vector<std::string> grid_models = {"qwen3-30b-a3b", "qwen3-235b-a22b", "kimi-k2-1t"};
    std::vector<double> grid_changed = {0.01, 0.03, 0.05};
    std::vector<std::string> grid_profiles = {"adam", "uniform"};  // the first also elsewhere
    FixedCost fixed;
    std::uint64_t seed = 1;
};

/// A full transfer and two codecs, ours and a published style, on one model and rate.
struct GridRow {
    CodecTime full;
    CodecTime published_style;
    CodecTime ours;
    FixedCost fixed;

    /// Table B: all three with the fixed cost.
    double published_speedup() const {
        return full.seconds.value / (fixed.seconds + published_style.seconds.value);
    }
    double our_speedup() const { return full.seconds.value / (fixed.seconds + ours.seconds.value); }
};

/// One link rate of the sweep.
struct LinkRow {
    BitsPerSecond rate;
    double full_seconds = 0;
    double our_seconds = 0;
};

/// One switch of the attribution: with it and all before it on.
struct AttributionRow {
    std::string switched;  // "change rate", "codec", "tree", "overlap"; first: nothing
    std::string how;
    double seconds = 0;
};

struct ReproduceTables {
    std::vector<CodecTime> headline;  // table A: by profile, then codec; full first
    std::vector<GridRow> grid;
    std::vector<LinkRow> links;
    double break_even_bits_per_second = 0;  // 0: none below the highest rate tried
    std::vector<AttributionRow> attribution;
    std::string attribution_topology;
};

/// Called with each finished row, as a line for people.
using OnRow = std::function<void(const std::string&)>;

Result<ReproduceTables> make_tables(Study& study,
                                    const ReproduceSpec& spec,
                                    const Scenario& attribution,
                                    const OnRow& on_row);

}  // namespace refit
