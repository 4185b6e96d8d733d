// The bit-exact map: a cell for every layer and kind of tensor, and how far it is at a moment.
//
// Cells     rows are layers (the number in a tensor's name; names without one share the first row),
//           columns are kinds in the order the first layer has them. A cell stands for all tensors
//           of its layer and kind: 384 experts are one cell.
// Times     of every refit and cell: when its units were encoded; at each replica, when the parts
//           that carry them were staged, and when the resident check of the whole passed.
// State     of a cell at a time, of the newest refit that has begun: the shares of its units
// encoded
//           and of its units x replicas staged and verified.
// Parts     hold whole units in order: their sizes say which (engine/codec/delta.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "viz/saved_run.hpp"

namespace refit {

/// Consecutive units.
struct UnitRun {
    std::uint32_t first = 0;
    std::uint32_t end = 0;

    friend bool operator==(const UnitRun&, const UnitRun&) = default;
};

struct MapCell {
    std::size_t row = 0;
    std::size_t column = 0;
    std::uint32_t tensors = 0;
    std::uint64_t words = 0;
    std::vector<UnitRun> units;  // ascending; a unit that several of its tensors share counts once
};

struct TensorMap {
    std::vector<std::string> rows;     // "", "layer 0", ...
    std::vector<std::string> columns;  // kinds
    std::vector<MapCell> cells;        // by row, then column
};

TensorMap map_tensors(const Cast& cast);

/// The number of a row's layer as text: "12" of "layer 12"; "" of those of no layer.
std::string layer_text(const std::string& row);

/// When things happened in one refit; a negative time: they did not.
struct RefitProgress {
    std::uint64_t version = 0;
    Nanoseconds begun{0};
    std::vector<Nanoseconds> encoded;              // by unit
    std::vector<UnitRun> parts;                    // that were durable
    std::vector<std::vector<Nanoseconds>> staged;  // by replica in tree order, by part
    std::vector<Nanoseconds> verified;             // by replica in tree order
};
std::vector<RefitProgress> fold_progress(const Recording& recording);

/// The newest refit that has begun; null before the first.
const RefitProgress* refit_at(const std::vector<RefitProgress>& refits, Nanoseconds at);

/// How far a refit is at a moment, made once a frame: O(units + parts x replicas).
struct RefitMoment {
    std::vector<std::uint32_t> encoded;  // of the units before unit u
    std::vector<std::uint64_t> staged;   // of them, summed over replicas
    std::size_t verified = 0;            // replicas
    std::size_t replicas = 0;
};
RefitMoment moment_of(const RefitProgress& refit, Nanoseconds at);

/// Shares of a cell, 0 to 1.
struct CellState {
    float encoded = 0;
    float staged = 0;
    float verified = 0;

    friend bool operator==(const CellState&, const CellState&) = default;
};
CellState cell_state(const MapCell& cell, const RefitMoment& moment);

}  // namespace refit
