// Everything panels draw from: a kept run with what is folded from it once, and what is true at the
// moment they show.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "viz/cut_view.hpp"
#include "viz/saved_run.hpp"
#include "viz/tensor_view.hpp"
#include "viz/throughput_view.hpp"
#include "viz/tile_words.hpp"
#include "viz/tree_view.hpp"
#include "workloads/published.hpp"

namespace refit {

/// The run outlives it.
struct Scene {
    Scene(const SavedRun& of, std::vector<PublishedRow> beside, const Subject& subject = {});

    /// How far a node is with the delta in flight, 0 to 1.
    float held(const NodeState& node, std::uint64_t version) const;
    /// Bits a second that crossed into the sites other than the trainer's around a moment, at the
    /// scale of the model.
    double bit_rate(Nanoseconds at) const;

    const SavedRun& run;
    std::vector<PublishedRow> published;
    SnapshotIndex snapshots;
    TreeView places;
    std::vector<LaneRow> rows;
    TensorMap map;
    std::vector<RefitProgress> progress;
    std::map<std::uint64_t, std::uint32_t> chunks;
    TimeScale rate_scale;  // of `rates`; a bin is one of its pixels
    struct SiteRates {
        std::size_t site = 0;
        std::vector<double> bits_per_second;  // at the scale of the model
    };
    std::vector<SiteRates> rates;
    std::optional<std::uint32_t> tensor;  // that cuts and words are shown of; none of no tensors
    CutView cuts;
    WordsOf words;
};

struct Moment {
    Moment(const Scene& scene, Nanoseconds when);

    Nanoseconds at;
    Snapshot snapshot;
    const RefitProgress* refit;  // the newest that has begun; null before the first

    std::uint64_t version() const { return refit == nullptr ? 0 : refit->version; }
};

/// Replica time until a moment, and how much of it was idle.
struct IdleUntil {
    Nanoseconds idle{0};
    Nanoseconds all{0};

    double share() const { return all.count == 0 ? 0 : to_seconds(idle) / to_seconds(all); }
};
/// Of one row of lanes; all zero of one that shows no rollouts.
IdleUntil idle_until(const SavedRun& run, const LaneRow& row, Nanoseconds at);

}  // namespace refit
