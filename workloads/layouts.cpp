#include "workloads/layouts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

namespace refit {

namespace {

constexpr std::uint32_t kRanksMax = 4096;

/// A map of more boxes than this (2.5 GiB) is refused before it is built.
constexpr std::uint64_t kBoxesMax = std::uint64_t{1} << 25;

/// How a tensor is spread over the ranks.
enum class Cut : std::uint8_t {
    whole,        // every rank holds all of it
    rows,         // nearly equal row counts, larger ones first
    columns,      // the same on columns
    dimension_0,  // FSDP2: chunks of ceil(n / ranks) along dimension 0
};

struct Family {
    std::string_view name;
    std::string_view key;
    std::string_view summary;
    Cut (*cut)(const Tensor&);
};

bool has_rows(const Tensor& tensor) { return tensor.shape.size() >= 2; }

Cut cut_tensor_parallel(const Tensor& tensor) {
    constexpr std::array kByRows = {"q_proj",  "k_proj",       "v_proj", "gate_proj",
                                    "up_proj", "embed_tokens", "lm_head"};
    constexpr std::array kByColumns = {"o_proj", "down_proj"};
    if (!has_rows(tensor)) return Cut::whole;
    const std::string kind = tensor_kind(tensor.name);
    if (std::ranges::find(kByRows, kind) != kByRows.end()) return Cut::rows;
    if (std::ranges::find(kByColumns, kind) != kByColumns.end()) return Cut::columns;
    return Cut::whole;
}

constexpr std::array kFamilies = {
    Family{"tp", "tp", "tensor parallel: projections by rows or columns, the rest replicated",
           cut_tensor_parallel},
    Family{"rows", "tp", "every matrix by rows, vectors replicated",
           [](const Tensor& tensor) { return has_rows(tensor) ? Cut::rows : Cut::whole; }},
    Family{"columns", "tp", "every matrix by columns, vectors replicated",
           [](const Tensor& tensor) { return has_rows(tensor) ? Cut::columns : Cut::whole; }},
    Family{"fsdp", "dp", "every tensor in chunks of dimension 0 (FSDP2)",
           [](const Tensor&) { return Cut::dimension_0; }},
    Family{"replicated", "r", "every rank holds everything",
           [](const Tensor&) { return Cut::whole; }},
};

struct Range {
    std::uint64_t first;
    std::uint64_t count;
};

Range even_part(std::uint64_t total, std::uint32_t ranks, std::uint32_t rank) {
    const std::uint64_t spare = total % ranks;
    return {total / ranks * rank + std::min<std::uint64_t>(rank, spare),
            total / ranks + (rank < spare ? 1 : 0)};
}

Range chunk_part(std::uint64_t total, std::uint32_t ranks, std::uint32_t rank) {
    const std::uint64_t chunk = total / ranks + (total % ranks != 0);
    const std::uint64_t first = std::min(total, chunk * rank);
    return {first, std::min(chunk, total - first)};
}

/// The rank's part of one tensor; local places are not set yet.
Box part_of(const Tensor& tensor, Cut cut, std::uint32_t ranks, std::uint32_t rank) {
    Range rows{0, tensor.rows}, columns{0, tensor.columns};
    if (cut == Cut::rows) {
        rows = even_part(tensor.rows, ranks, rank);
    } else if (cut == Cut::columns) {
        columns = even_part(tensor.columns, ranks, rank);
    } else if (cut == Cut::dimension_0 && has_rows(tensor)) {
        const std::uint64_t extent = tensor.shape[0];
        const std::uint64_t inner = extent > 0 ? tensor.rows / extent : 0;
        rows = chunk_part(extent, ranks, rank);
        rows = {rows.first * inner, rows.count * inner};
    } else if (cut == Cut::dimension_0) {
        columns = chunk_part(tensor.columns, ranks, rank);
    }
    return {.row_first = rows.first,
            .row_count = rows.count,
            .col_first = columns.first,
            .col_count = columns.count};
}

/// Boxes one after the other in catalog order, without gaps.
RankMap make_rank(const Catalog& catalog,
                  const Family& family,
                  std::uint32_t ranks,
                  std::uint32_t rank) {
    RankMap map;
    for (std::uint32_t id = 0; id < catalog.tensors().size(); ++id) {
        const Tensor& tensor = catalog.tensor(id);
        Box box = part_of(tensor, family.cut(tensor), ranks, rank);
        if (box.words() == 0) continue;
        box.tensor = id;
        box.local_first = map.local_words;
        box.local_row_stride = box.col_count;
        map.local_words += box.words();
        map.boxes.push_back(box);
    }
    return map;
}

std::string known_layouts() {
    std::string known;
    for (const Family& family : kFamilies)
        known += fmt::format("{}{}:{}<n>", known.empty() ? "" : ", ", family.name, family.key);
    return known;
}

/// "<key><n>" with n in 1..kRanksMax, no sign, no leading zero.
std::optional<std::uint32_t> parse_ranks(std::string_view text, std::string_view key) {
    if (!text.starts_with(key)) return std::nullopt;
    text.remove_prefix(key.size());
    if (text.empty() || text.front() < '1' || text.front() > '9') return std::nullopt;
    std::uint32_t ranks = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ranks);
    if (error != std::errc{} || end != text.data() + text.size() || ranks > kRanksMax)
        return std::nullopt;
    return ranks;
}

}  // namespace

Result<ShardMap> make_layout(const Catalog& catalog, std::string_view layout) {
    const auto refuse = [&](std::string_view why) {
        return Error{ErrorCode::invalid_input,
                     fmt::format("layout {}: {}; known are {} with n from 1 to {}",
                                 quoted_name(layout), why, known_layouts(), kRanksMax)};
    };
    const std::size_t colon = layout.find(':');
    if (colon == std::string_view::npos) return refuse("not of the form family:key<n>");
    const auto* family = std::ranges::find(kFamilies, layout.substr(0, colon), &Family::name);
    if (family == kFamilies.end()) return refuse("no such family");
    const auto ranks = parse_ranks(layout.substr(colon + 1), family->key);
    if (!ranks) return refuse(fmt::format("expected {}<n> after the colon", family->key));
    if (*ranks * std::uint64_t{catalog.tensors().size()} > kBoxesMax) {
        return Error{ErrorCode::invalid_input,
                     fmt::format("layout {}: more than {} boxes for {} tensors",
                                 quoted_name(layout), kBoxesMax, catalog.tensors().size())};
    }
    std::vector<RankMap> maps;
    for (std::uint32_t rank = 0; rank < *ranks; ++rank)
        maps.push_back(make_rank(catalog, *family, *ranks, rank));
    return ShardMap::make(catalog, std::string(layout), std::move(maps));
}

std::vector<LayoutFamily> layout_families() {
    std::vector<LayoutFamily> families;
    for (const Family& family : kFamilies) {
        families.push_back(
            {std::string(family.name), std::string(family.key), std::string(family.summary)});
    }
    return families;
}

}  // namespace refit
