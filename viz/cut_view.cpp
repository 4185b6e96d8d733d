#include "viz/cut_view.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "workloads/layouts.hpp"

namespace refit {

namespace {

std::vector<CutBox> boxes_of(const ShardMap& map) {
    std::map<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t>, CutBox> boxes;
    for (std::uint32_t rank = 0; rank < map.ranks().size(); ++rank) {
        for (const Box& box : map.ranks()[rank].boxes) {
            const CutBox cut{box.row_first,
                             box.row_first + (box.row_count - 1) * box.row_step + 1,
                             box.col_first,
                             box.col_first + (box.col_count - 1) * box.col_step + 1,
                             {}};
            CutBox& known = boxes[{cut.row_first, cut.col_first, cut.row_end, cut.col_end}];
            if (known.ranks.empty()) known = cut;
            known.ranks.push_back(rank);
        }
    }
    std::vector<CutBox> all;
    for (auto& [place, box] : boxes) all.push_back(std::move(box));
    return all;
}

TensorCut cut_of(const Catalog& alone, const std::string& layout) {
    TensorCut cut;
    cut.layout = layout;
    const auto map = make_layout(alone, layout);
    if (!map.has_value()) {
        cut.missing = "This program does not know the layout.";
        return cut;
    }
    cut.ranks = map.value().ranks().size();
    cut.boxes = boxes_of(map.value());
    if (cut.boxes.empty()) cut.missing = "The tensor has no words.";
    return cut;
}

/// The rows at which tiles begin; none when a row is longer than a tile.
std::vector<std::uint64_t> tile_rows(const Catalog& alone) {
    std::vector<std::uint64_t> rows;
    const Tensor& tensor = alone.tensor(0);
    const Grid grid(alone);
    for (const Tile& tile : grid.tiles()) {
        const std::uint64_t first = tile.pieces.front().tensor_first;
        if (first % tensor.columns != 0) return {};
        rows.push_back(first / tensor.columns);
    }
    return rows;
}

bool is_fused_qkv(const std::string& name) {
    return tensor_kind(name).find("qkv") != std::string::npos;
}

bool is_expert(const std::string& name) { return name.find(".experts.") != std::string::npos; }

}  // namespace

std::optional<std::uint32_t> pick_tensor(const Catalog& catalog) {
    const auto tensors = catalog.tensors();
    if (tensors.empty()) return std::nullopt;
    for (const auto wanted : {is_fused_qkv, is_expert})
        for (std::uint32_t t = 0; t < tensors.size(); ++t)
            if (tensors[t].shape.size() >= 2 && wanted(tensors[t].name)) return t;
    const auto largest = std::ranges::max_element(tensors, {}, &Tensor::words);
    return static_cast<std::uint32_t>(largest - tensors.begin());
}

CutView view_cuts(const SavedRun& run, std::uint32_t tensor) {
    CutView view;
    const Tensor& of = run.recording.cast.catalog.tensor(tensor);
    // A layout cuts every tensor by itself: only places in a rank's memory depend on the others.
    const auto alone = Catalog::make({{of.name, of.type, of.shape}});
    REFIT_ASSERT(alone.has_value());
    view.tiles = tile_rows(alone.value());
    view.trainer.missing = "This run has no record, so its layouts are not known.";
    if (!run.record.is_object()) return view;
    view.trainer.missing = "No trainer map took part: a model's words are made in canonical order.";
    for (const auto& map : run.record["maps"]) {
        const std::string name = map["name"];
        const std::string layout = map["layout"];
        if (name == "trainer") {
            view.trainer = cut_of(alone.value(), layout);
            view.trainer.users = {name};
            continue;
        }
        const auto known = std::ranges::find(view.serving, layout, &TensorCut::layout);
        TensorCut& cut = known != view.serving.end()
                             ? *known
                             : view.serving.emplace_back(cut_of(alone.value(), layout));
        cut.users.push_back(name);
    }
    return view;
}

std::string ranks_text(const std::vector<std::uint32_t>& ranks) {
    std::string text;
    for (std::size_t i = 0; i < ranks.size();) {
        std::size_t end = i + 1;
        while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
        if (!text.empty()) text += ", ";
        text += std::to_string(ranks[i]);
        if (end - i > 1) text += "-" + std::to_string(ranks[end - 1]);
        i = end;
    }
    return text;
}

}  // namespace refit
