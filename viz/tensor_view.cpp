#include "viz/tensor_view.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "engine/coords/tensor_layer.hpp"

namespace refit {

namespace {

constexpr Nanoseconds kNever{-1};

std::size_t column_of(const std::string& kind, std::vector<std::string>& columns) {
    const auto known = std::ranges::find(columns, kind);
    if (known != columns.end()) return static_cast<std::size_t>(known - columns.begin());
    columns.push_back(kind);
    return columns.size() - 1;
}

/// In catalog order most tensors begin where the one before ended.
void add_units(const TensorUnits& of, std::vector<UnitRun>& runs) {
    if (of.first > of.last) return;
    if (!runs.empty() && of.first >= runs.back().first && of.first <= runs.back().end) {
        runs.back().end = std::max(runs.back().end, of.last + 1);
    } else {
        runs.push_back({of.first, of.last + 1});
    }
}

std::vector<UnitRun> joined(std::vector<UnitRun> runs) {
    std::ranges::sort(runs, {}, &UnitRun::first);
    std::vector<UnitRun> all;
    for (const UnitRun& run : runs) add_units({run.first, run.end - 1}, all);
    return all;
}

class ProgressFold {
public:
    ProgressFold(const RelayTree& tree, std::size_t units)
        : units_(units), replica_(tree.nodes.size()) {
        for (NodeId id = 0; id < tree.nodes.size(); ++id)
            if (tree.nodes[id].role == NodeRole::replica) replica_[id] = replicas_++;
    }

    void fold(const Event& event) {
        switch (event.kind) {
            case EventKind::encode_begin:
                return begin(event);
            case EventKind::unit_encoded:
                if (now() == nullptr || event.index >= units_) return;
                if (now()->encoded[event.index] < Nanoseconds{0}) sizes_.push_back(event.amount);
                now()->encoded[event.index] = event.at;
                return;
            case EventKind::part_durable:
                return close_part(event);
            case EventKind::part_staged:
                return stage(event);
            case EventKind::applied:
                if (RefitProgress* refit = find(event.version); refit && at_replica(event))
                    refit->verified[replica_[event.node]] = event.at;
                return;
            default:
                return;
        }
    }

    std::vector<RefitProgress> finish() { return std::move(refits_); }

private:
    RefitProgress* now() { return refits_.empty() ? nullptr : &refits_.back(); }
    RefitProgress* find(std::uint64_t version) {
        const auto refit = std::ranges::find(refits_, version, &RefitProgress::version);
        return refit == refits_.end() ? nullptr : &*refit;
    }
    bool at_replica(const Event& event) const { return event.node < replica_.size(); }

    void begin(const Event& event) {
        if (now() != nullptr && now()->version == event.version) return;  // a restarted source
        RefitProgress refit;
        refit.version = event.version;
        refit.begun = event.at;
        refit.encoded.assign(units_, kNever);
        refit.staged.resize(replicas_);
        refit.verified.assign(replicas_, kNever);
        refits_.push_back(std::move(refit));
        sizes_.clear();
    }

    /// Units are encoded in order, and so a part ends where its bytes do.
    void close_part(const Event& event) {
        if (now() == nullptr || event.index != now()->parts.size()) return;
        std::vector<UnitRun>& parts = now()->parts;
        const std::uint32_t first = parts.empty() ? 0 : parts.back().end;
        std::uint32_t end = first;
        std::uint64_t bytes = 0;
        while (end < sizes_.size() && bytes < event.amount) bytes += sizes_[end++];
        parts.push_back({first, end});
    }

    void stage(const Event& event) {
        RefitProgress* const refit = find(event.version);
        if (refit == nullptr || refit != now() || !at_replica(event) ||
            event.index >= refit->parts.size())
            return;
        auto& staged = refit->staged[replica_[event.node]];
        if (event.index >= staged.size()) staged.resize(event.index + 1, kNever);
        staged[event.index] = event.at;
    }

    std::size_t units_;
    std::size_t replicas_ = 0;
    std::vector<std::size_t> replica_;  // by node; of replicas alone
    std::vector<RefitProgress> refits_;
    std::vector<std::uint64_t> sizes_;  // of units encoded
};

bool happened(Nanoseconds when, Nanoseconds by) { return when >= Nanoseconds{0} && when <= by; }

}  // namespace

TensorMap map_tensors(const Cast& cast) {
    TensorMap map;
    std::map<std::pair<std::optional<std::uint64_t>, std::size_t>, MapCell> cells;
    const auto tensors = cast.catalog.tensors();
    for (std::size_t t = 0; t < tensors.size(); ++t) {
        const Tensor& tensor = tensors[t];
        const std::size_t column = column_of(tensor_kind(tensor.name), map.columns);
        MapCell& cell = cells[{tensor_layer(tensor.name), column}];
        cell.column = column;
        ++cell.tensors;
        cell.words += tensor.words;
        add_units(cast.units[t], cell.units);
    }
    std::optional<std::uint64_t> row;
    for (auto& [key, cell] : cells) {
        if (map.rows.empty() || row != key.first) {
            row = key.first;
            map.rows.push_back(key.first ? "layer " + std::to_string(*key.first) : "");
        }
        cell.row = map.rows.size() - 1;
        cell.units = joined(std::move(cell.units));
        map.cells.push_back(std::move(cell));
    }
    return map;
}

std::string layer_text(const std::string& row) {
    const std::size_t space = row.find(' ');
    return space == std::string::npos ? "" : row.substr(space + 1);
}

std::vector<RefitProgress> fold_progress(const Recording& recording) {
    std::size_t units = 0;
    for (const TensorUnits& of : recording.cast.units)
        if (of.first <= of.last) units = std::max<std::size_t>(units, std::size_t{of.last} + 1);
    ProgressFold fold(recording.cast.tree, units);
    for (const Event& event : recording.timeline.events()) fold.fold(event);
    return fold.finish();
}

RefitMoment moment_of(const RefitProgress& refit, Nanoseconds at) {
    RefitMoment moment;
    moment.replicas = refit.staged.size();
    moment.verified = static_cast<std::size_t>(std::ranges::count_if(
        refit.verified, [at](Nanoseconds when) { return happened(when, at); }));
    std::vector<std::uint32_t> staged_by(refit.encoded.size());  // replicas, by unit
    for (std::size_t p = 0; p < refit.parts.size(); ++p) {
        std::uint32_t by = 0;
        for (const auto& staged : refit.staged)
            if (p < staged.size() && happened(staged[p], at)) ++by;
        for (std::uint32_t u = refit.parts[p].first; u < refit.parts[p].end; ++u)
            if (u < staged_by.size()) staged_by[u] = by;
    }
    moment.encoded.push_back(0);
    moment.staged.push_back(0);
    for (std::size_t u = 0; u < refit.encoded.size(); ++u) {
        moment.encoded.push_back(moment.encoded.back() + (happened(refit.encoded[u], at) ? 1 : 0));
        moment.staged.push_back(moment.staged.back() + staged_by[u]);
    }
    return moment;
}

CellState cell_state(const MapCell& cell, const RefitMoment& moment) {
    std::uint64_t units = 0;
    std::uint64_t encoded = 0;
    std::uint64_t staged = 0;
    for (const UnitRun& run : cell.units) {
        units += run.end - run.first;
        encoded += moment.encoded[run.end] - moment.encoded[run.first];
        staged += moment.staged[run.end] - moment.staged[run.first];
    }
    const auto share = [](std::uint64_t count, std::uint64_t of) {
        return of == 0 ? 0 : static_cast<float>(count) / static_cast<float>(of);
    };
    return {share(encoded, units), share(staged, units * moment.replicas),
            share(moment.verified, moment.replicas)};
}

const RefitProgress* refit_at(const std::vector<RefitProgress>& refits, Nanoseconds at) {
    const RefitProgress* newest = nullptr;
    for (const RefitProgress& refit : refits)
        if (refit.begun <= at) newest = &refit;
    return newest;
}

}  // namespace refit
