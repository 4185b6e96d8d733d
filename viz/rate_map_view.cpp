#include "viz/rate_map_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace refit {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kByLayer = "changed_by_layer";

/// The refits of a record that have shares by layer: that of `version`, else all.
std::vector<const Json*> refits_of(const Json& record, std::uint64_t version) {
    std::vector<const Json*> all;
    if (!record.is_object() || !record.contains("refits")) return all;
    for (const Json& refit : record["refits"]) {
        if (!refit.contains(kByLayer)) continue;
        if (refit.value("version", std::uint64_t{0}) == version) return {&refit};
        all.push_back(&refit);
    }
    return all;
}

std::optional<double> share_in(const Json& refit,
                               const std::string& layer,
                               const std::string& kind) {
    const Json& layers = refit[kByLayer];
    const auto of_layer = layers.find(layer);
    if (of_layer == layers.end() || !of_layer->is_object()) return std::nullopt;
    const auto share = of_layer->find(kind);
    if (share == of_layer->end() || !share->is_number()) return std::nullopt;
    return share->get<double>();
}

std::optional<double> mean_share(const std::vector<const Json*>& refits,
                                 const std::string& layer,
                                 const std::string& kind) {
    double sum = 0;
    std::size_t count = 0;
    for (const Json* refit : refits) {
        const auto share = share_in(*refit, layer, kind);
        if (!share) continue;
        sum += *share;
        ++count;
    }
    if (count == 0) return std::nullopt;
    return sum / static_cast<double>(count);
}

class Means {
public:
    explicit Means(std::size_t size) : changed_(size), words_(size) {}

    void add(std::size_t at, double share, double words) {
        changed_[at] += share * words;
        words_[at] += words;
    }
    std::vector<std::optional<double>> all() const {
        std::vector<std::optional<double>> means(words_.size());
        for (std::size_t i = 0; i < means.size(); ++i)
            if (words_[i] > 0) means[i] = changed_[i] / words_[i];
        return means;
    }

private:
    std::vector<double> changed_;
    std::vector<double> words_;
};

}  // namespace

RateMap rate_map(const Json& record, const TensorMap& map, std::uint64_t version) {
    const std::vector<const Json*> refits = refits_of(record, version);
    RateMap rates;
    if (refits.size() == 1)
        rates.of = "refit " + std::to_string(refits[0]->value("version", std::uint64_t{0}));
    else if (refits.size() > 1)
        rates.of = "the mean of " + std::to_string(refits.size()) + " refits";
    Means kinds(map.columns.size());
    Means layers(map.rows.size());
    for (const MapCell& cell : map.cells) {
        const auto share =
            mean_share(refits, layer_text(map.rows[cell.row]), map.columns[cell.column]);
        rates.cells.push_back(share);
        if (!share) continue;
        ++rates.measured;
        rates.most = std::max(rates.most, *share);
        kinds.add(cell.column, *share, static_cast<double>(cell.words));
        layers.add(cell.row, *share, static_cast<double>(cell.words));
    }
    rates.of_kind = kinds.all();
    rates.of_layer = layers.all();
    return rates;
}

std::string share_text(double share) {
    const double percent = 100 * share;
    return fmt::format("{:.{}f}", percent, percent < 9.995 ? 2 : percent < 99.95 ? 1 : 0);
}

}  // namespace refit
