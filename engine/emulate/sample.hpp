// A sampled bit pass: some tiles measured, the delta of the whole model estimated.
//
// Measured   each drawn tile goes through the whole bit pass, in units of its own stratum. A tile's
//            bytes are its share of its unit's, by what it takes when it is encoded alone; what a
//            unit costs beyond its tiles (tables, heads) follows from the two.
// Expanded   a unit of the model is what its tiles were measured at; a tile that was not takes the
//            bytes per word of a tile of its stratum drawn for it. Then all that was not measured
//            is scaled so that the total is the estimate, or an end of its interval.
#pragma once

#include <map>
#include <string>

#include "engine/codec/change_stats.hpp"
#include "engine/emulate/bit_pass.hpp"
#include "engine/emulate/estimate.hpp"
#include "engine/emulate/strata.hpp"
#include "engine/sim/recorded_bits.hpp"

namespace refit {

/// The tiles of a sample, as a grid of their own: stratum after stratum.
struct TileSample {
    std::vector<Stratum> strata;
    std::vector<std::vector<std::uint32_t>> tiles;  // by stratum, numbers in the model's grid
    Grid grid;
    std::vector<UnitRange> units;         // of `grid`; none reaches over two strata
    std::vector<std::size_t> stratum_of;  // by unit

    Words words() const;
};

TileSample draw_sample(const Catalog& catalog,
                       const Grid& grid,
                       std::uint64_t unit_words,
                       Words budget,
                       std::uint64_t seed,
                       const std::vector<bool>& still = {});

struct MeasuredTile {
    double bytes = 0;  // of the delta, without its share of what a unit costs beyond its tiles
    std::uint64_t words = 0;
    std::uint64_t changed = 0;
    std::uint64_t staged_bytes = 0;
    std::uint32_t tile = 0;  // in the model's grid
};

struct SampleMeasures {
    std::vector<std::vector<MeasuredTile>> tiles;  // by stratum
    double unit_bytes = 0;                         // what a unit costs beyond its tiles
    double bound_bits = 0;                         // estimate for the model
    std::map<std::string, KindChange> kinds;       // of the sample
    std::map<LayerKind, KindChange> layers;        // of the sample; those that it misses are absent
};

/// Runs the sample through `pass`, which works on sample.grid. `between` is called after each unit.
Result<SampleMeasures> measure_sample(const TileSample& sample,
                                      const Catalog& catalog,
                                      BitPass& pass,
                                      const WordPairs& pairs,
                                      const std::function<void(Words)>& between);

/// Bytes of the delta of a model cut into `units` units. The interval also holds what is not known
/// of the cost of the cuts, so a sample of everything has one, too.
Estimate estimate_payload(const TileSample& sample,
                          const SampleMeasures& measures,
                          std::size_t units);
Estimate estimate_changed(const TileSample& sample, const SampleMeasures& measures);

struct ModelDelta {
    RecordedDelta delta;  // parts closed; hashes are phantoms
    std::uint64_t measured_bytes = 0;
};

/// The delta of the whole model, `payload_bytes` in all.
ModelDelta expand(const TileSample& sample,
                  const SampleMeasures& measures,
                  const Grid& grid,
                  std::uint64_t payload_bytes,
                  const DeltaSpec& delta,
                  std::uint64_t seed);

}  // namespace refit
