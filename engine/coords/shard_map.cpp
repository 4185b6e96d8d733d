#include "engine/coords/shard_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "engine/coords/coverage.hpp"
#include "engine/coords/disjoint.hpp"
#include "engine/coords/holders.hpp"

namespace refit {

namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::size_t kRanksMax = std::size_t{1} << 16;
constexpr std::uint64_t kLocalWordsEnd = std::uint64_t{1} << 48;

auto order_of(const Box& box) { return std::tuple(box.tensor, box.row_first, box.col_first); }

/// Whether {first + i * step : i < count} stays below `extent`; holds no 64-bit product.
bool fits(const Progression& p, std::uint64_t extent) {
    return Wide{p.first} + Wide{p.count - 1} * p.step < extent;
}

Status check_box(const Catalog& catalog, const Box& box, std::uint64_t local_words) {
    const auto refuse = [](std::string what) { return Error{ErrorCode::invalid_input, what}; };
    if (box.tensor >= catalog.tensors().size())
        return refuse(fmt::format("a box of tensor {}, which does not exist", box.tensor));
    const Tensor& tensor = catalog.tensor(box.tensor);
    if (box.row_count == 0 || box.col_count == 0)
        return refuse(fmt::format("an empty box of tensor {}", quoted_name(tensor.name)));
    if (box.row_step == 0 || box.col_step == 0 ||
        (box.row_count > 1 && box.local_row_stride == 0) ||
        (box.col_count > 1 && box.local_col_stride == 0))
        return refuse(fmt::format("a box of tensor {} has stride 0", quoted_name(tensor.name)));
    if (!fits(box.rows(), tensor.rows) || !fits(box.columns(), tensor.columns))
        return refuse(fmt::format("a box reaches outside tensor {}", quoted_name(tensor.name)));
    // Counts are below 2^48 by now, so neither product nor sum can pass 128 bits.
    const Wide local_last = Wide{box.local_first} + Wide{box.row_count - 1} * box.local_row_stride +
                            Wide{box.col_count - 1} * box.local_col_stride;
    if (local_last >= local_words) {
        return refuse(fmt::format("a box of tensor {} reaches outside the {} local words",
                                  quoted_name(tensor.name), local_words));
    }
    return Done{};
}

Placement placement_of(const Tensor& tensor, const Piece& piece, const Box& box) {
    return {.tile_first = piece.tile_first,
            .tile_words = piece.words,
            .tensor_first = piece.tensor_first,
            .columns = tensor.columns,
            .row_first = box.row_first,
            .row_count = box.row_count,
            .row_step = box.row_step,
            .col_first = box.col_first,
            .col_count = box.col_count,
            .col_step = box.col_step,
            .local_first = box.local_first,
            .local_row_stride = box.local_row_stride,
            .local_col_stride = box.local_col_stride,
            .tensor = piece.tensor};
}

}  // namespace

Box restrict_box(const Box& box, const Progression& rows, const Progression& columns) {
    const std::uint64_t row_skip = (rows.first - box.row_first) / box.row_step;
    const std::uint64_t col_skip = (columns.first - box.col_first) / box.col_step;
    const std::uint64_t row_ratio = rows.count > 1 ? rows.step / box.row_step : 1;
    const std::uint64_t col_ratio = columns.count > 1 ? columns.step / box.col_step : 1;
    return {.tensor = box.tensor,
            .row_first = rows.first,
            .row_count = rows.count,
            .row_step = rows.step,
            .col_first = columns.first,
            .col_count = columns.count,
            .col_step = columns.step,
            .local_first =
                box.local_first + row_skip * box.local_row_stride + col_skip * box.local_col_stride,
            .local_row_stride = box.local_row_stride * row_ratio,
            .local_col_stride = box.local_col_stride * col_ratio};
}

Result<ShardMap> ShardMap::make(const Catalog& catalog,
                                std::string layout,
                                std::vector<RankMap> ranks) {
    if (ranks.empty() || ranks.size() > kRanksMax) {
        return Error{ErrorCode::invalid_input,
                     fmt::format("layout {} has {} ranks; 1 to {} are allowed", layout,
                                 ranks.size(), kRanksMax)};
    }
    for (std::size_t r = 0; r < ranks.size(); ++r) {
        if (ranks[r].local_words >= kLocalWordsEnd) {
            return Error{ErrorCode::invalid_input,
                         fmt::format("layout {}, rank {}: 2^48 local words or more", layout, r)};
        }
        for (const Box& box : ranks[r].boxes) {
            const Status status = check_box(catalog, box, ranks[r].local_words);
            if (status.has_value()) continue;
            return Error{status.error().code,
                         fmt::format("layout {}, rank {}: {}", layout, r, status.error().what)};
        }
        std::ranges::stable_sort(ranks[r].boxes, {}, order_of);
    }
    ShardMap map;
    map.layout_ = std::move(layout);
    map.ranks_ = std::move(ranks);
    return map;
}

std::vector<Placement> ShardMap::placements(const Catalog& catalog,
                                            const Tile& tile,
                                            std::uint32_t rank) const {
    REFIT_ASSERT(rank < ranks_.size());
    const std::vector<Box>& boxes = ranks_[rank].boxes;
    std::vector<Placement> placements;
    for (const Piece& piece : tile.pieces) {
        const Tensor& tensor = catalog.tensor(piece.tensor);
        const PieceWindow window = piece_window(tensor, piece);
        auto box = std::ranges::lower_bound(boxes, piece.tensor, {}, &Box::tensor);
        for (; box != boxes.end() && box->tensor == piece.tensor; ++box) {
            const auto rows = intersect(box->rows(), window.rows);
            const auto columns = intersect(box->columns(), window.columns);
            if (!rows || !columns) continue;
            placements.push_back(placement_of(tensor, piece, restrict_box(*box, *rows, *columns)));
        }
    }
    return placements;
}

std::vector<Placement> ShardMap::all_placements(const Catalog& catalog, std::uint32_t rank) const {
    REFIT_ASSERT(rank < ranks_.size());
    std::vector<Placement> placements;
    placements.reserve(ranks_[rank].boxes.size());
    for (const Box& box : ranks_[rank].boxes) {
        const Tensor& tensor = catalog.tensor(box.tensor);
        placements.push_back(placement_of(tensor, Piece{box.tensor, 0, tensor.words, 0}, box));
    }
    return placements;
}

Result<Coverage> ShardMap::prove(const Catalog& catalog) const {
    const auto in_layout = [&](const Error& error) {
        return Error{error.code, fmt::format("layout {}: {}", layout_, error.what)};
    };
    Coverage coverage;
    coverage.canonical_words = catalog.words().count;
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
        const Status disjoint = prove_disjoint(catalog, ranks_[r], r);
        if (!disjoint.has_value()) return in_layout(disjoint.error());
        std::uint64_t held = 0;
        for (const Box& box : ranks_[r].boxes) held += box.words();
        coverage.held_words += held;
        coverage.padding_words += ranks_[r].local_words - held;
        coverage.boxes += ranks_[r].boxes.size();
    }

    const Holders holders(catalog, ranks_);
    CopyCounter counter;
    coverage.copies_min = catalog.words().count > 0 ? ~std::uint64_t{0} : 0;
    for (std::uint32_t t = 0; t < catalog.tensors().size(); ++t) {
        const Tensor& tensor = catalog.tensor(t);
        if (tensor.words == 0) continue;
        const auto counted = counter.count(tensor, holders.of(t));
        if (!counted.has_value()) return in_layout(counted.error());
        const Copies& copies = counted.value();
        if (copies.min == 0) {
            return in_layout(
                {ErrorCode::invalid_input,
                 fmt::format("no rank holds tensor {}, row {}, column {}", quoted_name(tensor.name),
                             copies.first_min / tensor.columns,
                             copies.first_min % tensor.columns)});
        }
        coverage.copies_min = std::min(coverage.copies_min, copies.min);
        coverage.copies_max = std::max(coverage.copies_max, copies.max);
    }
    return coverage;
}

}  // namespace refit
