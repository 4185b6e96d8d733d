#include <fmt/format.h>

#include <map>
#include <ostream>

#include "viz/exports/tables.hpp"

namespace refit {

namespace {

/// A label value: backslash, quote and line feed are escaped, nothing else.
std::string label(const std::string& text) {
    std::string escaped;
    for (const char c : text) {
        if (c == '\\' || c == '"') escaped += '\\';
        escaped += c == '\n' ? std::string("\\n") : std::string(1, c);
    }
    return escaped;
}

class Metrics {
public:
    explicit Metrics(std::ostream& out) : out_(out) {}

    /// The samples that follow belong to it.
    void family(const char* name, const char* type, const char* help) {
        name_ = name;
        out_ << fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, type);
    }
    void sample(const std::string& labels, const std::string& value) {
        out_ << name_ << (labels.empty() ? "" : "{" + labels + "}") << ' ' << value << '\n';
    }

private:
    std::ostream& out_;
    std::string name_;
};

std::string seconds(Nanoseconds time) {
    return fmt::format("{}.{:09}", time.count / 1'000'000'000, time.count % 1'000'000'000);
}

void write_wire(const SavedRun& run, Metrics& metrics) {
    std::map<std::pair<NodeId, NodeId>, EdgeTraffic> edges;
    for (const EdgeTraffic& edge : run.edges) {
        EdgeTraffic& sum = edges[{edge.parent, edge.child}];
        sum.sent_bytes += edge.sent_bytes;
        sum.kept_bytes += edge.kept_bytes;
        sum.repeated += edge.repeated;
    }
    const auto each = [&](auto value_of) {
        for (const auto& [ends, edge] : edges) {
            metrics.sample(fmt::format("from=\"{}\",to=\"{}\"", label(run.node_name(ends.first)),
                                       label(run.node_name(ends.second))),
                           std::to_string(value_of(edge)));
        }
    };
    metrics.family("refit_wire_sent_bytes_total", "counter", "Chunk bytes sent over an edge.");
    each([](const EdgeTraffic& edge) { return edge.sent_bytes; });
    metrics.family("refit_wire_kept_bytes_total", "counter",
                   "Chunk bytes that arrived over an edge and were kept.");
    each([](const EdgeTraffic& edge) { return edge.kept_bytes; });
    metrics.family("refit_wire_repeated_chunks_total", "counter",
                   "Chunks that arrived although they were held.");
    each([](const EdgeTraffic& edge) { return edge.repeated; });
}

void write_replicas(const SavedRun& run, Metrics& metrics) {
    std::map<NodeId, Nanoseconds> busy;
    std::map<std::pair<NodeId, IdleCause>, Nanoseconds> idle;
    for (const BusySpan& span : run.idle.busy_spans) busy[span.node] += span.to - span.from;
    for (const IdleSpan& span : run.idle.idle_spans)
        idle[{span.node, span.cause}] += span.to - span.from;
    const auto replica = [&](NodeId node) {
        return fmt::format("replica=\"{}\"", label(run.node_name(node)));
    };
    metrics.family("refit_gpu_busy_seconds_total", "counter",
                   "Seconds a replica's GPUs worked on rollouts.");
    for (const auto& [node, time] : busy) metrics.sample(replica(node), seconds(time));
    metrics.family("refit_gpu_idle_seconds_total", "counter",
                   "Seconds a replica's GPUs waited, by cause.");
    for (const auto& [key, time] : idle)
        metrics.sample(fmt::format("{},cause=\"{}\"", replica(key.first), cause_name(key.second)),
                       seconds(time));
    metrics.family("refit_gpu_stolen_seconds_total", "counter",
                   "Seconds of staging on replicas that worked, an upper bound.");
    metrics.sample("", seconds(run.stolen));

    std::map<NodeId, std::uint64_t> versions;
    for (const Event& event : run.recording.timeline.events())
        if (event.kind == EventKind::serving) versions[event.node] = event.version;
    metrics.family("refit_policy_version", "gauge", "The version a replica serves.");
    for (const auto& [node, version] : versions)
        metrics.sample(replica(node), std::to_string(version));
}

void write_record(const nlohmann::ordered_json& record, Metrics& metrics) {
    if (!record.is_object()) return;
    metrics.family("refit_mismatched_words_total", "counter",
                   "Words that differed after a resident check.");
    metrics.sample("", record["verify"]["mismatches"].dump());
    metrics.family("refit_checked_words_total", "counter", "Words that resident checks read.");
    metrics.sample("", record["verify"]["words_checked"].dump());
    metrics.family("refit_seconds", "gauge",
                   "Mean seconds of a refit, from final weights to the last member serving.");
    metrics.sample(fmt::format("provenance=\"{}\"",
                               record["refit"]["seconds"]["provenance"].get<std::string>()),
                   record["refit"]["seconds"]["value"].dump());
    metrics.family("refit_payload_bytes", "gauge", "Mean payload of a refit.");
    metrics.sample("", record["codec"]["payload_bytes"]["value"].dump());
}

}  // namespace

void write_prometheus(const SavedRun& run, std::ostream& out) {
    Metrics metrics(out);
    write_wire(run, metrics);
    write_replicas(run, metrics);
    write_record(run.record, metrics);
}

}  // namespace refit
