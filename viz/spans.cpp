#include "viz/spans.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>

namespace refit {

namespace {

/// What one node has begun and not ended.
struct Open {
    std::optional<Span> codec;
    std::optional<Span> receiving;
    std::optional<Span> sending;
    std::optional<Span> down;
};

class SpanFold {
public:
    explicit SpanFold(std::size_t nodes) : open_(nodes) {}

    void fold(const Event& event) {
        last_ = event.at;
        if (event.node >= open_.size()) return;
        Open& open = open_[event.node];
        switch (event.kind) {
            case EventKind::encode_begin:
                return begin(open.codec, event, Track::codec, SpanKind::encode);
            case EventKind::unit_encoded:
                if (open.codec) open.codec->amount += event.amount;
                return;
            case EventKind::stage_begin:
                return begin(open.codec, event, Track::codec, SpanKind::stage);
            case EventKind::part_staged:
                if (open.codec) open.codec->amount = event.amount;
                return end(open.codec, event.at);
            case EventKind::sealed:
            case EventKind::check_failed:
                return end(open.codec, event.at);
            case EventKind::chunk_received:
                return transfer(open.receiving, event, Track::receiving, SpanKind::receive);
            case EventKind::chunk_sent:
                return transfer(open.sending, event, Track::sending, SpanKind::send);
            case EventKind::node_down:
                end(open.codec, event.at);
                end_transfer(open.receiving);
                end_transfer(open.sending);
                return begin(open.down, event, Track::rollouts, SpanKind::down);
            case EventKind::node_up:
                return end(open.down, event.at);
            default:
                return;
        }
    }

    std::vector<Span> finish() {
        for (Open& open : open_) {
            end(open.codec, last_);
            end_transfer(open.receiving);
            end_transfer(open.sending);
            end(open.down, last_);
        }
        return std::move(spans_);
    }

private:
    void begin(std::optional<Span>& slot, const Event& event, Track track, SpanKind kind) {
        end(slot, event.at);
        slot = Span{event.node, track, kind, {}, event.version, 0, event.at, event.at};
    }
    void end(std::optional<Span>& slot, Nanoseconds at) {
        if (!slot) return;
        slot->to = at;
        spans_.push_back(*slot);
        slot.reset();
    }
    /// A transfer ends with its last chunk, which is known when the next one begins.
    void end_transfer(std::optional<Span>& slot) {
        if (slot) end(slot, slot->to);
    }
    void transfer(std::optional<Span>& slot, const Event& event, Track track, SpanKind kind) {
        if (slot && slot->version != event.version) end_transfer(slot);
        if (!slot) begin(slot, event, track, kind);
        slot->to = event.at;
        slot->amount += event.amount;
    }

    std::vector<Open> open_;
    std::vector<Span> spans_;
    Nanoseconds last_{0};
};

}  // namespace

std::string_view track_name(Track track) {
    constexpr std::array<std::string_view, 4> kNames = {"rollouts", "codec", "receiving",
                                                        "sending"};
    return kNames[static_cast<std::size_t>(track)];
}

std::string_view span_name(SpanKind kind) {
    constexpr std::array<std::string_view, 7> kNames = {"busy",    "idle", "encode", "stage",
                                                        "receive", "send", "down"};
    return kNames[static_cast<std::size_t>(kind)];
}

std::vector<Span> fold_spans(const Recording& recording, const IdleAccount& idle) {
    SpanFold fold(recording.timeline.node_names().size());
    for (const Event& event : recording.timeline.events()) fold.fold(event);
    std::vector<Span> spans = fold.finish();
    // A replica that is down is idle, in recovery: the account has it already.
    std::erase_if(spans, [&](const Span& span) {
        return span.kind == SpanKind::down && span.node < recording.cast.tree.nodes.size() &&
               recording.cast.tree.nodes[span.node].role == NodeRole::replica;
    });
    for (const BusySpan& busy : idle.busy_spans)
        spans.push_back({busy.node, Track::rollouts, SpanKind::busy, {}, 0, 0, busy.from, busy.to});
    for (const IdleSpan& span : idle.idle_spans)
        spans.push_back(
            {span.node, Track::rollouts, SpanKind::idle, span.cause, 0, 0, span.from, span.to});
    std::ranges::sort(spans, {}, [](const Span& span) {
        return std::tuple(span.node, span.track, span.from, span.to);
    });
    return spans;
}

}  // namespace refit
