#include "engine/observe/stolen.hpp"

#include <algorithm>
#include <optional>

namespace refit {
namespace {

/// One node: its busy spans in order of time, and how far they have been used.
struct Lane {
    std::vector<BusySpan> busy;
    std::size_t next = 0;
    std::optional<Nanoseconds> staging_since{};

    /// Staging intervals of a node come in order and do not overlap.
    Nanoseconds close(Nanoseconds at) {
        Nanoseconds stolen{0};
        if (!staging_since) return stolen;
        for (; next < busy.size() && busy[next].from < at; ++next) {
            const Nanoseconds from = std::max(busy[next].from, *staging_since);
            const Nanoseconds to = std::min(busy[next].to, at);
            if (from < to) stolen += to - from;
            if (busy[next].to > at) break;  // the next part may be decoded in it as well
        }
        staging_since.reset();
        return stolen;
    }
};

}  // namespace

Nanoseconds account_stolen(const Timeline& timeline, const std::vector<BusySpan>& busy) {
    std::vector<Lane> lanes(timeline.node_names().size());
    for (const BusySpan& span : busy) lanes[span.node].busy.push_back(span);
    Nanoseconds stolen{0};
    for (const Event& event : timeline.events()) {
        switch (event.kind) {
            case EventKind::stage_begin:
                stolen += lanes[event.node].close(event.at);
                lanes[event.node].staging_since = event.at;
                break;
            case EventKind::part_staged:
            case EventKind::check_failed:
            case EventKind::node_down:
                stolen += lanes[event.node].close(event.at);
                break;
            default:
                break;
        }
    }
    return stolen;
}

}  // namespace refit
