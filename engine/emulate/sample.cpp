#include "engine/emulate/sample.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/rng.hpp"

namespace refit {

namespace {

/// The model's units are cut elsewhere than the sample's, which end with their strata, so tables
/// and compressor windows hold other tiles together. Of the whole payload: a test holds three
/// codecs to it.
constexpr double kCutError = 0.002;

std::vector<Tile> tiles_of(const Grid& grid, const std::vector<std::vector<std::uint32_t>>& drawn) {
    std::vector<Tile> tiles;
    for (const auto& stratum : drawn)
        for (const std::uint32_t t : stratum) tiles.push_back(grid.tile(t));
    return tiles;
}

/// What the units and their tiles, each alone, were encoded to.
struct UnitBytes {
    double whole = 0;
    std::vector<double> alone;
    std::size_t stratum = 0;
    std::size_t first = 0;  // of its tiles in the stratum's list
};

/// n tiles alone cost n times what a unit of them costs once.
double beyond_tiles(const std::vector<UnitBytes>& units) {
    double more = 0;
    double times = 0;
    for (const UnitBytes& unit : units) {
        double alone = 0;
        for (const double bytes : unit.alone) alone += bytes;
        more += alone - unit.whole;
        times += static_cast<double>(unit.alone.size() - 1);
    }
    return times > 0 ? std::max(0.0, more / times) : 0;
}

void share_out(const std::vector<UnitBytes>& units, SampleMeasures& measures) {
    measures.unit_bytes = beyond_tiles(units);
    for (const UnitBytes& unit : units) {
        double alone = 0;
        for (const double bytes : unit.alone) alone += bytes;
        const double left = std::max(0.0, unit.whole - measures.unit_bytes);
        for (std::size_t i = 0; i < unit.alone.size(); ++i)
            measures.tiles[unit.stratum][unit.first + i].bytes = left * unit.alone[i] / alone;
    }
}

/// The bound of each tensor's part of the sample, by stratum.
class BoundCounts {
public:
    void add(std::size_t stratum,
             const Catalog& catalog,
             const Tile& tile,
             std::span<const std::uint16_t> base,
             std::span<const std::uint16_t> next) {
        for (const Piece& piece : tile.pieces) {
            counts_[{stratum, piece.tensor}].add(catalog.tensor(piece.tensor).type,
                                                 base.subspan(piece.tile_first, piece.words),
                                                 next.subspan(piece.tile_first, piece.words));
        }
    }
    /// Small tensors of several layers share tiles, so layers are counted by tensor.
    std::map<LayerKind, KindChange> layers(const Catalog& catalog) const {
        std::map<LayerKind, KindChange> layers;
        for (const auto& [place, counter] : counts_) {
            KindChange& sum = layers[layer_kind(catalog.tensor(place.second).name)];
            sum.words += counter.words();
            sum.changed += counter.changed();
        }
        return layers;
    }
    double estimate(const TileSample& sample, const Grid& model_tiles) const {
        std::vector<double> bits(sample.strata.size());
        for (const auto& [place, counter] : counts_) bits[place.first] += counter.bound_bits();
        double total = 0;
        std::size_t next = 0;
        for (std::size_t s = 0; s < sample.strata.size(); ++s) {
            std::uint64_t words = 0;
            for (std::size_t i = 0; i < sample.tiles[s].size(); ++i)
                words += model_tiles.tile(next++).words;
            total += bits[s] * static_cast<double>(sample.strata[s].words.count) /
                     static_cast<double>(words);
        }
        return total;
    }

private:
    std::map<std::pair<std::size_t, std::uint32_t>, ChangeCounter> counts_;
};

std::vector<StratumValues> values_of(const TileSample& sample,
                                     const SampleMeasures& measures,
                                     double (*value)(const MeasuredTile&)) {
    std::vector<StratumValues> strata;
    for (std::size_t s = 0; s < sample.strata.size(); ++s) {
        StratumValues& stratum = strata.emplace_back();
        stratum.tiles = sample.strata[s].tiles.size();
        stratum.words = static_cast<double>(sample.strata[s].words.count);
        for (const MeasuredTile& tile : measures.tiles[s]) {
            stratum.tile_words.push_back(static_cast<double>(tile.words));
            stratum.tile_values.push_back(value(tile));
        }
    }
    return strata;
}

/// What each tile of the model has or is taken to have.
std::vector<MeasuredTile> tiles_of_model(const TileSample& sample,
                                         const SampleMeasures& measures,
                                         const Grid& grid,
                                         std::uint64_t seed,
                                         std::vector<bool>& measured) {
    std::vector<MeasuredTile> tiles(grid.tiles().size());
    measured.assign(tiles.size(), false);
    for (std::size_t s = 0; s < sample.strata.size(); ++s) {
        const std::vector<MeasuredTile>& known = measures.tiles[s];
        for (const std::uint32_t t : sample.strata[s].tiles) {
            const MeasuredTile& from = known[draw(seed, 0x7174, t) % known.size()];
            const std::uint64_t words = grid.tile(t).words;
            const double scale = static_cast<double>(words) / static_cast<double>(from.words);
            const auto scaled = [scale](std::uint64_t n) {
                return static_cast<std::uint64_t>(static_cast<double>(n) * scale);
            };
            tiles[t] = {from.bytes * scale, words, scaled(from.changed), scaled(from.staged_bytes),
                        t};
        }
        for (const MeasuredTile& tile : known) {
            tiles[tile.tile] = tile;
            measured[tile.tile] = true;
        }
    }
    return tiles;
}

}  // namespace

Words TileSample::words() const {
    Words words;
    for (const Tile& tile : grid.tiles()) words += Words{tile.words};
    return words;
}

TileSample draw_sample(const Catalog& catalog,
                       const Grid& grid,
                       std::uint64_t unit_words,
                       Words budget,
                       std::uint64_t seed,
                       const std::vector<bool>& still) {
    std::vector<Stratum> strata = stratify(catalog, grid, still);
    std::vector<std::vector<std::uint32_t>> drawn = draw_tiles(strata, budget, seed);
    Grid own(tiles_of(grid, drawn));
    std::vector<UnitRange> units;
    std::vector<std::size_t> stratum_of;
    std::uint32_t next = 0;
    for (std::size_t s = 0; s < drawn.size(); ++s) {
        std::uint64_t words = 0;
        for (std::size_t i = 0; i < drawn[s].size(); ++i, ++next) {
            const std::uint64_t more = own.tile(next).words;
            if (i == 0 || words + more > unit_words) {
                units.push_back({next, 0});
                stratum_of.push_back(s);
                words = 0;
            }
            ++units.back().tile_count;
            words += more;
        }
    }
    return {std::move(strata), std::move(drawn), std::move(own), std::move(units),
            std::move(stratum_of)};
}

Result<SampleMeasures> measure_sample(const TileSample& sample,
                                      const Catalog& catalog,
                                      BitPass& pass,
                                      const WordPairs& pairs,
                                      const std::function<void(Words)>& between) {
    SampleMeasures measures;
    measures.tiles.resize(sample.strata.size());
    std::vector<UnitBytes> units;
    BoundCounts bound;
    for (std::size_t u = 0; u < sample.units.size(); ++u) {
        const UnitRange range = sample.units[u];
        const std::size_t stratum = sample.stratum_of[u];
        REFIT_TRY(unit, pass.run(range, pairs));
        std::vector<MeasuredTile>& measured = measures.tiles[stratum];
        UnitBytes& bytes = units.emplace_back();
        bytes.whole = static_cast<double>(unit->encoded.bytes.size());
        bytes.stratum = stratum;
        bytes.first = measured.size();
        Words words;
        for (std::uint32_t i = 0; i < range.tile_count; ++i) {
            const Tile& tile = sample.grid.tile(range.first_tile + i);
            const std::uint64_t changed = unit->encoded.changed[i];
            measured.push_back({0, tile.words, changed, unit->staged_bytes[i],
                                sample.tiles[stratum][measured.size()]});
            bytes.alone.push_back(
                static_cast<double>(pass.encode_again({range.first_tile + i, 1}).bytes.size()));
            bound.add(stratum, catalog, tile, pass.base(i), pass.next(i));
            KindChange& kind =
                measures.kinds[tensor_kind(catalog.tensor(tile.pieces.front().tensor).name)];
            kind.words += tile.words;
            kind.changed += changed;
            words += Words{tile.words};
        }
        between(words);
    }
    share_out(units, measures);
    measures.bound_bits = bound.estimate(sample, sample.grid);
    measures.layers = bound.layers(catalog);
    return measures;
}

Estimate estimate_payload(const TileSample& sample,
                          const SampleMeasures& measures,
                          std::size_t units) {
    Estimate estimate = estimate_total(
        values_of(sample, measures, [](const MeasuredTile& tile) { return tile.bytes; }));
    const double value = estimate.value + measures.unit_bytes * static_cast<double>(units);
    const double half = std::hypot((estimate.high - estimate.low) / 2, kCutError * value);
    return {value, value - half, value + half};
}

Estimate estimate_changed(const TileSample& sample, const SampleMeasures& measures) {
    return estimate_total(values_of(sample, measures, [](const MeasuredTile& tile) {
        return static_cast<double>(tile.changed);
    }));
}

ModelDelta expand(const TileSample& sample,
                  const SampleMeasures& measures,
                  const Grid& grid,
                  std::uint64_t payload_bytes,
                  const DeltaSpec& delta,
                  std::uint64_t seed) {
    std::vector<bool> measured;
    const std::vector<MeasuredTile> tiles = tiles_of_model(sample, measures, grid, seed, measured);
    const std::vector<UnitRange> units = make_units(grid, delta.unit_words);
    double known = measures.unit_bytes * static_cast<double>(units.size());
    double phantom = 0;
    for (std::size_t t = 0; t < tiles.size(); ++t)
        (measured[t] ? known : phantom) += tiles[t].bytes;
    const double left = std::max(0.0, static_cast<double>(payload_bytes) - known);
    const double factor = phantom > 0 ? left / phantom : 0;

    ModelDelta model;
    double bytes = 0;
    std::uint64_t given = 0;
    for (const UnitRange range : units) {
        RecordedUnit& unit = model.delta.units.emplace_back();
        std::uint64_t staged = 0;
        bytes += measures.unit_bytes;
        for (std::uint32_t i = 0; i < range.tile_count; ++i) {
            const MeasuredTile& tile = tiles[range.first_tile + i];
            bytes += measured[range.first_tile + i] ? tile.bytes : factor * tile.bytes;
            unit.changed_words += tile.changed;
            staged += tile.staged_bytes;
        }
        // Rounded as a running sum, so that the total is right.
        const auto due = static_cast<std::uint64_t>(std::llround(bytes));
        unit.bytes = due - given;
        given = due;
        model.delta.staged_bytes.push_back(staged);
    }
    for (std::size_t t = 0; t < tiles.size(); ++t)
        if (measured[t]) model.measured_bytes += static_cast<std::uint64_t>(tiles[t].bytes);
    close_phantom_parts(model.delta.units, delta, seed);
    ByteWriter writer;
    writer.write(seed);
    writer.write(given);
    model.delta.next_version = sha256(writer.bytes());
    return model;
}

}  // namespace refit
