#include "app/run_inspect.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "app/fault_lines.hpp"
#include "app/format.hpp"
#include "engine/observe/recording.hpp"
#include "engine/record.hpp"
#include "engine/refit.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view kRecordingStart = "REFITRUN";
constexpr std::size_t kLinesMax = 12;  // of one list, in the text

/// A folder has a recording, a record or both; a file is a recording.
struct FoundRun {
    std::optional<Recording> recording;
    Json record;  // null when there is none
    std::vector<std::string> missing;
    std::vector<std::pair<std::string, std::uint64_t>> files;  // name, bytes
};

Result<Json> read_record(const fs::path& file) {
    std::ifstream stream(file, std::ios::binary);
    Json record = Json::parse(stream, nullptr, false);
    const bool known =
        record.is_object() && record.contains("schema") && record["schema"] == "refit.run/1";
    if (!known) return Error{ErrorCode::corrupt, "is no refit.run/1 record", file.string()};
    return record;
}

std::vector<std::pair<std::string, std::uint64_t>> files_of(const fs::path& path) {
    std::vector<std::pair<std::string, std::uint64_t>> files;
    std::error_code failure;
    if (fs::is_directory(path, failure)) {
        for (const auto& entry : fs::directory_iterator(path, failure))
            if (std::error_code bad; entry.is_regular_file(bad))
                files.emplace_back(entry.path().filename().string(), entry.file_size(bad));
    } else {
        files.emplace_back(path.filename().string(), fs::file_size(path, failure));
    }
    std::ranges::sort(files);
    return files;
}

Result<FoundRun> find_run(const fs::path& path) {
    FoundRun run;
    run.files = files_of(path);
    std::error_code absent;
    const bool folder = fs::is_directory(path, absent);
    const bool recorded = folder && fs::exists(path / kRecordFile, absent);
    if (recorded) {
        REFIT_TRY(record, read_record(path / kRecordFile));
        run.record = std::move(record);
    }
    auto recording = read_recording(folder ? path / kRecordingFile : path);
    if (recording.has_value()) {
        run.recording = std::move(recording).value();
        if (!run.recording->whole())
            run.missing.push_back("the recording " + run.recording->missing);
    } else if (!recorded) {
        return recording.error();
    } else {
        const bool none = recording.error().code == ErrorCode::not_found;
        run.missing.push_back(none ? "there is no recording"
                                   : "the recording " + recording.error().what);
    }
    if (folder && !recorded) run.missing.emplace_back("there is no record: the run did not end");
    return run;
}

Json nodes_of(const RelayTree& tree) {
    std::array<std::uint64_t, 3> count{};
    for (const TreeNode& node : tree.nodes) ++count[static_cast<std::size_t>(node.role)];
    return {{"source", count[0]}, {"relay", count[1]}, {"replica", count[2]}, {"coordinator", 1}};
}

Json links_of(const Cast& cast) {
    Json links = Json::array();
    for (const CastLink& link : cast.links)
        links.push_back(
            {{"from", link.from}, {"to", link.to}, {"bits_per_second", link.rate.count}});
    return links;
}

/// Seconds of each refit that began; null of one that is not done.
Json refits_of(const Timeline& timeline) {
    std::map<std::uint64_t, Json> seconds;
    for (const Event& event : timeline.events())
        if (event.kind == EventKind::step_ready) seconds.emplace(event.version, nullptr);
    for (const RefitTimes& refit : fold_refits(timeline))
        seconds[refit.version] = to_seconds(refit.seconds());
    Json refits = Json::array();
    for (const auto& [version, value] : seconds)
        refits.push_back({{"version", version}, {"seconds", value}});
    return refits;
}

Json refits_of(const Json& record) {
    Json refits = Json::array();
    if (!record.contains("refits") || !record["refits"].is_array()) return refits;
    for (const Json& refit : record["refits"]) {
        const auto version = record_value(refit, "version");
        const auto seconds = record_value(refit, "seconds");
        if (version.has_value() && seconds.has_value())
            refits.push_back({{"version", refit["version"]}, {"seconds", seconds.value()}});
    }
    return refits;
}

Json kinds_of(const Timeline& timeline) {
    std::map<EventKind, std::uint64_t> count;
    for (const Event& event : timeline.events()) ++count[event.kind];
    Json kinds = Json::object();
    for (const auto& [kind, number] : count) kinds[std::string(event_name(kind))] = number;
    return kinds;
}

Json faults_of(const Recording& recording) {
    const auto link = [&](std::uint32_t index) {
        if (index >= recording.cast.links.size()) return std::to_string(index);
        const CastLink& between = recording.cast.links[index];
        return between.from + " <-> " + between.to;
    };
    return fault_lines(recording.timeline, {link});
}

Json document_of(const FoundRun& run, const fs::path& path) {
    Json document = {{"schema", "refit.inspect/1"}, {"kind", "run"}, {"file", path.string()}};
    document["title"] = run.record.is_object() && run.record.contains("title")
                            ? run.record["title"]
                            : Json(run.recording ? run.recording->cast.title : "");
    document["whole"] = run.missing.empty();
    document["missing"] = run.missing;
    for (const char* key : {"sites", "nodes", "links", "catalog", "first_seconds", "last_seconds",
                            "events", "events_by_kind"})
        document[key] = nullptr;
    if (run.recording) {
        const Cast& cast = run.recording->cast;
        const auto& events = run.recording->timeline.events();
        document["sites"] = cast.sites;
        document["nodes"] = nodes_of(cast.tree);
        document["links"] = links_of(cast);
        document["catalog"] = {{"tensors", cast.catalog.tensors().size()},
                               {"words", cast.catalog.words().count}};
        document["events"] = events.size();
        document["events_by_kind"] = kinds_of(run.recording->timeline);
        if (!events.empty()) {
            document["first_seconds"] = to_seconds(events.front().at);
            document["last_seconds"] = to_seconds(events.back().at);
        }
    }
    document["refits"] = run.recording ? refits_of(run.recording->timeline) : refits_of(run.record);
    document["faults"] =
        run.record.is_object() && run.record.contains("faults") && run.record["faults"].is_array()
            ? run.record["faults"]
            : (run.recording ? faults_of(*run.recording) : Json::array());
    document["files"] = Json::array();
    for (const auto& [name, bytes] : run.files)
        document["files"].push_back({{"name", name}, {"bytes", bytes}});
    document["record"] = run.record;
    return document;
}

void say_row(const Console& console, std::string_view name, const std::string& value) {
    console.say(fmt::format("{:<21} {}", name, value));
}

std::string plain(const Json& value) {
    return value.is_string() ? value.get<std::string>() : value.dump();
}

/// A list as rows under one name.
template <typename Line>
void say_rows(const Console& console, const char* name, const Json& list, Line line) {
    for (std::size_t i = 0; i < list.size() && i < kLinesMax; ++i)
        say_row(console, i == 0 ? name : "", line(list[i]));
    if (list.size() > kLinesMax)
        say_row(console, "", fmt::format("and {} more", list.size() - kLinesMax));
}

void say_recording(const Console& console, const Json& document) {
    std::string nodes;
    for (const auto& [role, count] : document["nodes"].items())
        nodes += fmt::format("{}{} {}", nodes.empty() ? "" : ", ", role, count.dump());
    say_row(console, "nodes", nodes);
    say_rows(console, "sites", document["sites"], plain);
    say_rows(console, "links", document["links"], [](const Json& link) {
        return fmt::format("{} <-> {}, {}", plain(link["from"]), plain(link["to"]),
                           format_bit_rate(BitsPerSecond{link["bits_per_second"]}));
    });
    const Json& catalog = document["catalog"];
    say_row(console, "catalog",
            fmt::format("{} tensors, {} words", format_count(catalog["tensors"]),
                        format_count(catalog["words"])));
    const bool empty = document["events"] == 0;
    const std::string span =
        empty ? ""
              : fmt::format(", from {:.3f} s to {:.3f} s", document["first_seconds"].get<double>(),
                            document["last_seconds"].get<double>());
    say_row(console, "events", format_count(document["events"]) + span);
    for (const auto& [kind, count] : document["events_by_kind"].items())
        say_row(console, "  " + kind, format_count(count));
}

void say_figures(const Console& console, const Json& record) {
    for (const char* key : {"seed",
                            "link_scale",
                            "model.parameters",
                            "changed",
                            "codec.payload_bytes",
                            "codec.bits_per_parameter",
                            "codec.ratio_to_bound",
                            "full.seconds",
                            "full.bits_per_second",
                            "refit.seconds",
                            "refit.encode_seconds",
                            "refit.wire_seconds",
                            "refit.stage_seconds",
                            "refit.pause_seconds",
                            "speedup",
                            "gpu_idle.fraction",
                            "verify.exact",
                            "verify.words_checked",
                            "verify.mismatches",
                            "wire.bytes_sent",
                            "wire.bytes_needed",
                            "store.bytes_read",
                            "commit.versions",
                            "commit.resumes",
                            "commit.reencodes"}) {
        const auto value = record_value(record, key);
        say_row(console, key,
                value.has_value() ? fmt::format("{:.10g}", value.value()) : "not in the record");
    }
}

}  // namespace

bool is_run(const fs::path& path) {
    std::error_code absent;
    if (fs::is_directory(path, absent))
        return fs::exists(path / kRecordFile, absent) || fs::exists(path / kRecordingFile, absent);
    if (!fs::is_regular_file(path, absent)) return false;
    std::array<char, kRecordingStart.size()> start{};
    std::ifstream file(path, std::ios::binary);
    file.read(start.data(), start.size());
    return file && std::string_view(start.data(), start.size()) == kRecordingStart;
}

Status inspect_run(const Console& console, const fs::path& path) {
    REFIT_TRY(run, find_run(path));
    const Json document = document_of(run, path);
    console.document(document);
    say_row(console, "run", path.string());
    say_row(console, "title", plain(document["title"]));
    if (run.missing.empty()) say_row(console, "whole", "yes");
    say_rows(console, "not whole", document["missing"], plain);
    if (run.recording) say_recording(console, document);
    say_rows(console, "refits", document["refits"], [](const Json& refit) {
        return fmt::format(
            "version {}, {}", refit["version"].dump(),
            refit["seconds"].is_null() ? "not done" : format_seconds(refit["seconds"]));
    });
    say_rows(console, "faults", document["faults"], plain);
    say_rows(console, "files", document["files"], [](const Json& file) {
        return fmt::format("{}, {}", plain(file["name"]), format_bytes(Bytes{file["bytes"]}));
    });
    if (run.record.is_object()) say_figures(console, run.record);
    return Done{};
}

}  // namespace refit
