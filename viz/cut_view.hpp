// How the layouts of a run cut one tensor over their ranks, in canonical coordinates: what is drawn
// as boxes from the trainer through the canonical checkpoint to each serving layout.
//
// Cuts      follow from the layout's text and the tensor alone (workloads/layouts.hpp). Ranks that
//           hold the same words share a box.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "viz/saved_run.hpp"

namespace refit {

/// Rows and columns of the tensor, ends excluded, and who holds them.
struct CutBox {
    std::uint64_t row_first = 0;
    std::uint64_t row_end = 0;
    std::uint64_t col_first = 0;
    std::uint64_t col_end = 0;
    std::vector<std::uint32_t> ranks;  // ascending

    friend bool operator==(const CutBox&, const CutBox&) = default;
};

struct TensorCut {
    std::string layout;              // "fsdp:dp4"; empty where there is none
    std::vector<std::string> users;  // "trainer", or the replicas that serve in it
    std::uint64_t ranks = 0;
    std::vector<CutBox> boxes;  // by row, then column
    std::string missing;        // one sentence: why there are no boxes
};

struct CutView {
    TensorCut trainer;
    std::vector<TensorCut> serving;  // each layout once, in the record's order
    std::vector<std::uint64_t>
        tiles;  // rows at which the tensor's tiles begin, where they are bands
};

/// The tensor to show when nobody chose: the first fused QKV, else the first expert, else the
/// largest. None of an empty catalog.
std::optional<std::uint32_t> pick_tensor(const Catalog& catalog);

CutView view_cuts(const SavedRun& run, std::uint32_t tensor);

/// "0", "0-3", "0, 2, 5".
std::string ranks_text(const std::vector<std::uint32_t>& ranks);

}  // namespace refit
