#include "app/bench/tile_sample.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "app/progress.hpp"
#include "engine/base/rng.hpp"
#include "workloads/change_profile.hpp"

namespace refit {
namespace {

constexpr std::uint64_t kLayerGroups = 4;
__extension__ using Wide = unsigned __int128;

using Stratum = std::pair<std::string, std::uint64_t>;  // kind, layer group

/// A tile belongs where its first tensor does; tiles are shared within one class only.
std::map<Stratum, std::vector<std::uint32_t>> strata_of(const Catalog& catalog, const Grid& grid) {
    std::uint64_t layers = 1;
    for (const Tensor& tensor : catalog.tensors())
        layers = std::max(layers, tensor_layer(tensor.name).value_or(0) + 1);
    std::map<Stratum, std::vector<std::uint32_t>> strata;
    for (std::uint32_t tile = 0; tile < grid.tiles().size(); ++tile) {
        const std::string& name = catalog.tensor(grid.tile(tile).pieces.front().tensor).name;
        const auto layer = tensor_layer(name);
        const std::uint64_t group = layer ? *layer * kLayerGroups / layers : kLayerGroups;
        strata[{tensor_kind(name), group}].push_back(tile);
    }
    return strata;
}

template <class T>
void shuffle(std::vector<T>& items, Rng& rng) {
    for (std::size_t left = items.size(); left > 1; --left)
        std::swap(items[left - 1], items[rng.below(left)]);
}

}  // namespace

std::vector<std::uint32_t> draw_tiles(const Catalog& catalog,
                                      const Grid& grid,
                                      std::uint64_t limit_words,
                                      std::uint64_t seed) {
    Rng rng(seed, 3);
    std::vector<std::vector<std::uint32_t>> strata;
    for (auto& [stratum, tiles] : strata_of(catalog, grid)) strata.push_back(std::move(tiles));
    shuffle(strata, rng);
    const std::uint64_t total = catalog.words().count;
    std::vector<std::uint32_t> drawn;
    Wide passed = 0;
    Wide taken = 0;
    for (std::vector<std::uint32_t>& tiles : strata) {
        shuffle(tiles, rng);
        for (const std::uint32_t tile : tiles) {
            const std::uint64_t words = grid.tile(tile).words;
            passed += words;
            if ((taken + words) * total > passed * std::min(limit_words, total)) continue;
            taken += words;
            drawn.push_back(tile);
        }
    }
    std::ranges::sort(drawn);
    return drawn;
}

Catalog catalog_of_tiles(const Catalog& catalog,
                         const Grid& grid,
                         std::span<const std::uint32_t> tiles) {
    std::map<std::uint32_t, std::uint64_t> words;
    for (const std::uint32_t tile : tiles)
        for (const Piece& piece : grid.tile(tile).pieces) words[piece.tensor] += piece.words;
    std::vector<TensorSpec> specs;
    for (const auto& [id, count] : words) {
        const Tensor& tensor = catalog.tensor(id);
        TensorSpec spec{tensor.name, tensor.type, tensor.shape};
        if (count < tensor.words && tensor.columns <= kTileWordsMax) {
            spec.shape = {count / tensor.columns, tensor.columns};
        } else if (count < tensor.words) {
            spec.shape = {count};
        }
        specs.push_back(std::move(spec));
    }
    auto smaller = Catalog::make(std::move(specs));
    REFIT_ASSERT(smaller.has_value());
    return std::move(smaller).value();
}

WordPair read_tiles(const Console& console,
                    const Catalog& catalog,
                    const Grid& grid,
                    std::span<const std::uint32_t> tiles,
                    const Versions& versions) {
    WordPair pair{catalog_of_tiles(catalog, grid, tiles), {}, {}};
    const Words words = pair.catalog.words();
    pair.base.resize(words.count);
    pair.next.resize(words.count);
    Progress progress(console, "read", size_of(words));
    std::map<std::uint32_t, std::uint64_t> filled;
    for (const std::uint32_t tile : tiles) {
        for (const Piece& piece : grid.tile(tile).pieces) {
            const auto id = pair.catalog.find(catalog.tensor(piece.tensor).name);
            REFIT_ASSERT(id.has_value());
            std::uint64_t& at = filled[piece.tensor];
            const std::uint64_t first = pair.catalog.tensor(*id).first_word + at;
            versions.base.read(piece.tensor, piece.tensor_first,
                               std::span(pair.base).subspan(first, piece.words));
            versions.next.read(piece.tensor, piece.tensor_first,
                               std::span(pair.next).subspan(first, piece.words));
            at += piece.words;
        }
        progress.advance(size_of(Words{grid.tile(tile).words}));
    }
    return pair;
}

}  // namespace refit
