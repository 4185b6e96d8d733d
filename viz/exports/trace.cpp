#include "viz/exports/trace.hpp"

#include <fmt/format.h>

#include <array>
#include <map>
#include <ostream>
#include <tuple>

namespace refit {

namespace {

constexpr std::int64_t kBins = 200;

/// Nanoseconds as microseconds, without a rounding.
std::string micros(Nanoseconds time) {
    return fmt::format("{}.{:03}", time.count / 1000, time.count % 1000);
}

/// A number that no double would keep; null for none.
std::string id_text(NodeId node) { return node == kNoNode ? "null" : std::to_string(node); }

Track track_of(EventKind kind) {
    switch (kind) {
        case EventKind::encode_begin:
        case EventKind::unit_encoded:
        case EventKind::part_durable:
        case EventKind::sealed:
        case EventKind::stage_begin:
        case EventKind::part_staged:
        case EventKind::staged:
            return Track::codec;
        case EventKind::chunk_sent:
            return Track::sending;
        case EventKind::chunk_received:
        case EventKind::chunk_repeated:
        case EventKind::chunk_refused:
        case EventKind::store_read:
        case EventKind::connected:
        case EventKind::disconnected:
            return Track::receiving;
        default:
            return Track::rollouts;
    }
}

class TraceWriter {
public:
    TraceWriter(const SavedRun& run, std::ostream& out) : run_(run), out_(out) {}

    void write() {
        out_ << "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
        write_names();
        for (const Span& span : run_.spans) write_span(span);
        write_events();
        write_counters();
        out_ << "\n]}\n";
    }

private:
    /// Links are events of nobody: they stand below the nodes.
    std::size_t network_process() const { return run_.recording.timeline.node_names().size(); }
    std::size_t process(NodeId node) const {
        return node == kNoNode ? network_process() : std::size_t{node};
    }

    /// One object of the list; `rest` begins after the phase.
    void object(char phase, std::size_t process, std::size_t thread, const std::string& rest) {
        out_ << (first_ ? "\n" : ",\n")
             << fmt::format("{{\"ph\":\"{}\",\"pid\":{},\"tid\":{},{}}}", phase, process, thread,
                            rest);
        first_ = false;
    }

    void name(const char* what, std::size_t process, std::size_t thread, const std::string& name) {
        object('M', process, thread,
               fmt::format("\"name\":\"{}\",\"args\":{{\"name\":{}}}", what,
                           nlohmann::json(name).dump()));
    }

    void write_names() {
        const auto& names = run_.recording.timeline.node_names();
        for (std::size_t node = 0; node < names.size(); ++node) {
            name("process_name", node, 0, names[node]);
            object('M', node, 0,
                   fmt::format("\"name\":\"process_sort_index\",\"args\":{{\"sort_index\":{}}}",
                               node));
            for (const Track track :
                 {Track::rollouts, Track::codec, Track::receiving, Track::sending})
                name("thread_name", node, static_cast<std::size_t>(track),
                     std::string(track_name(track)));
        }
        name("process_name", network_process(), 0, "links");
    }

    void write_span(const Span& span) {
        std::string what(span_name(span.kind));
        if (span.kind == SpanKind::idle) what += " " + std::string(cause_name(span.cause));
        const std::string args =
            span.track == Track::rollouts
                ? ""
                : fmt::format("\"version\":{},\"bytes\":{}", span.version, span.amount);
        object('X', span.node, static_cast<std::size_t>(span.track),
               fmt::format("\"name\":\"{}\",\"cat\":\"{}\",\"ts\":{},\"dur\":{},\"args\":{{{}}}",
                           what, track_name(span.track), micros(span.from),
                           micros(span.to - span.from), args));
    }

    void write_events() {
        for (const Event& event : run_.recording.timeline.events()) {
            object('i', process(event.node), static_cast<std::size_t>(track_of(event.kind)),
                   fmt::format("\"s\":\"t\",\"name\":\"{}\",\"cat\":\"event\",\"ts\":{},\"args\":{{"
                               "\"version\":{},\"peer\":{},\"index\":{},\"amount\":{}}}",
                               event_name(event.kind), micros(event.at), event.version,
                               id_text(event.peer), event.index, event.amount));
            write_arrow(event);
        }
    }

    /// Sent and received on an edge; then received and staged, when the part's last chunk is there.
    /// What was sent and lost, or sent again since, has no arrow.
    void write_arrow(const Event& event) {
        switch (event.kind) {
            case EventKind::chunk_sent:
                sent_[{event.version, event.node, event.peer, event.index}] = event;
                return;
            case EventKind::chunk_received:
                if (const auto sent =
                        sent_.find({event.version, event.peer, event.node, event.index});
                    sent != sent_.end()) {
                    arrow({sent->second, Track::sending}, {event, Track::receiving});
                    sent_.erase(sent);
                }
                last_received_[event.node] = event;
                return;
            case EventKind::stage_begin:
                if (const auto last = last_received_.find(event.node); last != last_received_.end())
                    arrow({last->second, Track::receiving}, {event, Track::codec});
                return;
            default:
                return;
        }
    }

    using Key =
        std::tuple<std::uint64_t, NodeId, NodeId, std::uint32_t>;  // version, from, to, chunk

    struct ArrowEnd {
        const Event& event;
        Track track;
    };

    void arrow(const ArrowEnd& from, const ArrowEnd& to) {
        flow('s', from, "");
        flow('f', to, ",\"bp\":\"e\"");
        ++arrows_;
    }

    void flow(char phase, const ArrowEnd& end, const char* binding) {
        object(phase, process(end.event.node), static_cast<std::size_t>(end.track),
               fmt::format("\"name\":\"chunk\",\"cat\":\"flow\",\"id\":{},\"ts\":{}{}", arrows_,
                           micros(end.event.at), binding));
    }

    void write_counters() {
        const std::int64_t end = std::max<std::int64_t>(run_.end().count, kBins);
        std::map<NodeId, std::array<std::uint64_t, kBins>> received;
        for (const Event& event : run_.recording.timeline.events()) {
            if (event.kind != EventKind::chunk_received) continue;
            const auto bin = std::min<std::int64_t>(kBins - 1, event.at.count / (end / kBins));
            received[event.node][static_cast<std::size_t>(bin)] += event.amount;
        }
        const double bin_seconds = static_cast<double>(end / kBins) / 1e9;
        for (const auto& [node, bins] : received) {
            for (std::size_t bin = 0; bin < bins.size(); ++bin) {
                const double rate = static_cast<double>(bins[bin]) * 8e-9 / bin_seconds;
                const Nanoseconds at{static_cast<std::int64_t>(bin) * (end / kBins)};
                object('C', node, 0,
                       fmt::format("\"name\":\"received Gbit/s\",\"ts\":{},\"args\":{{\"rate\":"
                                   "{:.6g}}}",
                                   micros(at), rate));
            }
        }
    }

    const SavedRun& run_;
    std::ostream& out_;
    bool first_ = true;
    std::map<Key, Event> sent_;  // and not arrived yet
    std::size_t arrows_ = 0;
    std::map<NodeId, Event> last_received_;
};

}  // namespace

void write_trace(const SavedRun& run, std::ostream& out) { TraceWriter(run, out).write(); }

}  // namespace refit
