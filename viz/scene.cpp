#include "viz/scene.hpp"

#include <algorithm>
#include <span>

#include "viz/chunk_counts.hpp"

namespace refit {

namespace {

constexpr std::size_t kRateBins = 900;

/// Links of a run on few words are scaled down with them; people think of the model's.
double model_scale(const SavedRun& run) {
    return run.record.is_object() ? 1 / run.record["link_scale"].get<double>() : 1;
}

}  // namespace

Scene::Scene(const SavedRun& of, std::vector<PublishedRow> beside, const Subject& subject)
    : run(of),
      published(std::move(beside)),
      snapshots(of.recording.timeline),
      places(lay_out(of.recording.cast.tree)),
      rows(lane_rows(of)),
      map(map_tensors(of.recording.cast)),
      progress(fold_progress(of.recording)),
      chunks(chunk_counts(of.recording.timeline)),
      rate_scale(TimeScale::squeezed(of.recording.timeline, static_cast<float>(kRateBins))),
      tensor(subject.tensor ? subject.tensor : pick_tensor(of.recording.cast.catalog)),
      words(subject.words) {
    if (tensor) cuts = view_cuts(run, *tensor);
    for (const Throughput& site : throughput(run, rate_scale, kRateBins)) {
        std::vector<double> bits = bit_rates(site, rate_scale);
        for (double& rate : bits) rate *= model_scale(run);
        rates.push_back({site.site, std::move(bits)});
    }
}

float Scene::held(const NodeState& node, std::uint64_t version) const {
    const auto all = chunks.find(version);
    if (all == chunks.end() || all->second == 0) return 0;
    return std::min(1.0F, static_cast<float>(node.chunks) / static_cast<float>(all->second));
}

double Scene::bit_rate(Nanoseconds at) const {
    const auto bin = std::min(kRateBins - 1, static_cast<std::size_t>(rate_scale.x(at)));
    double sum = 0;
    const std::size_t trainer = run.recording.cast.tree.nodes.front().site;
    for (const SiteRates& site : rates)
        if (site.site != trainer) sum += site.bits_per_second[bin];
    return sum;
}

Moment::Moment(const Scene& scene, Nanoseconds when)
    : at(when), snapshot(scene.snapshots.at(when)), refit(refit_at(scene.progress, when)) {}

IdleUntil idle_until(const SavedRun& run, const LaneRow& row, Nanoseconds at) {
    IdleUntil until;
    if (row.track != Track::rollouts) return until;
    for (const Span& span : std::span(run.spans).subspan(row.first, row.count)) {
        if (span.from >= at) break;
        if (span.kind != SpanKind::idle && span.kind != SpanKind::busy) continue;
        const Nanoseconds length = std::min(span.to, at) - span.from;
        if (span.kind == SpanKind::idle) until.idle += length;
        until.all += length;
    }
    return until;
}

}  // namespace refit
