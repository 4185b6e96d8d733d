#include "engine/emulate/strata.hpp"

#include <algorithm>
#include <map>

#include "engine/base/rng.hpp"
#include "engine/coords/tensor_layer.hpp"

namespace refit {

namespace {

constexpr std::uint64_t kThirds = 3;
constexpr std::uint64_t kTilesMin = 2;

std::string kind_of(const std::string& name) {
    const bool expert = name.find(".experts.") != std::string::npos;
    return (expert ? "experts." : "") + tensor_kind(name);
}

}  // namespace

std::vector<Stratum> stratify(const Catalog& catalog,
                              const Grid& grid,
                              const std::vector<bool>& still) {
    std::uint64_t layers = 0;
    for (const Tensor& tensor : catalog.tensors())
        layers = std::max(layers, tensor_layer(tensor.name).value_or(0) + 1);
    const auto first_layer = [layers](std::uint64_t third) {
        return (third * layers + kThirds - 1) / kThirds;
    };

    std::vector<Stratum> strata;
    std::map<std::pair<std::string, std::uint64_t>, std::size_t> found;
    for (std::uint32_t t = 0; t < grid.tiles().size(); ++t) {
        const Tile& tile = grid.tile(t);
        const std::string& name = catalog.tensor(tile.pieces.front().tensor).name;
        const auto layer = tensor_layer(name);
        const bool idle = !still.empty() && still[tile.pieces.front().tensor];
        const std::string kind = (idle ? "still " : "") + kind_of(name);
        const std::uint64_t third = layer ? *layer * kThirds / layers : kThirds;
        const auto [at, is_new] = found.try_emplace({kind, third}, strata.size());
        if (is_new) {
            Stratum stratum{kind, {}, {}};
            if (layer) {
                stratum.name += ", layers " + std::to_string(first_layer(third)) + "-" +
                                std::to_string(first_layer(third + 1) - 1);
            }
            strata.push_back(std::move(stratum));
        }
        strata[at->second].tiles.push_back(t);
        strata[at->second].words += Words{tile.words};
    }
    return strata;
}

std::vector<std::vector<std::uint32_t>> draw_tiles(const std::vector<Stratum>& strata,
                                                   Words budget,
                                                   std::uint64_t seed) {
    Words all;
    for (const Stratum& stratum : strata) all += stratum.words;
    REFIT_ASSERT(all.count > 0);
    const double share =
        std::min(1.0, static_cast<double>(budget.count) / static_cast<double>(all.count));
    std::vector<std::vector<std::uint32_t>> drawn;
    for (std::size_t s = 0; s < strata.size(); ++s) {
        const std::uint64_t tiles = strata[s].tiles.size();
        const auto wanted = static_cast<std::uint64_t>(share * static_cast<double>(tiles) + 0.5);
        const std::uint64_t count = std::min(tiles, std::max(kTilesMin, wanted));
        std::vector<std::uint32_t> pool = strata[s].tiles;
        Rng rng(seed, s);
        for (std::uint64_t i = 0; i < count; ++i)
            std::swap(pool[i], pool[i + rng.below(tiles - i)]);
        pool.resize(count);
        std::ranges::sort(pool);
        drawn.push_back(std::move(pool));
    }
    return drawn;
}

}  // namespace refit
