#include "viz/saved_run.hpp"

#include <fstream>

#include "engine/observe/stolen.hpp"
#include "viz/record_shape.hpp"

namespace refit {

namespace {

Result<nlohmann::ordered_json> load_record(const std::filesystem::path& file) {
    std::error_code absent;
    if (!std::filesystem::exists(file, absent)) return nlohmann::ordered_json();
    std::ifstream stream(file, std::ios::binary);
    auto record = nlohmann::ordered_json::parse(stream, nullptr, false);
    const Status checked = check_record(record);
    if (!checked.has_value())
        return Error{checked.error().code, checked.error().what, file.string()};
    return record;
}

}  // namespace

Nanoseconds SavedRun::end() const {
    const auto& events = recording.timeline.events();
    return events.empty() ? Nanoseconds{0} : events.back().at;
}

const std::string& SavedRun::node_name(NodeId node) const {
    return recording.timeline.node_names()[node];
}

SavedRun make_saved_run(Recording recording, nlohmann::ordered_json record) {
    SavedRun run;
    run.recording = std::move(recording);
    run.record = std::move(record);
    if (!run.recording.whole()) run.missing.push_back("the recording " + run.recording.missing);
    if (run.record.is_null()) run.missing.emplace_back("there is no record: the run did not end");
    const Timeline& timeline = run.recording.timeline;
    run.idle = account_idle(timeline, run.recording.cast.tree, run.recording.cast.loop);
    run.stolen = account_stolen(timeline, run.idle.busy_spans);
    run.edges = fold_traffic(timeline);
    run.spans = fold_spans(run.recording, run.idle);
    return run;
}

Result<SavedRun> load_run(const std::filesystem::path& folder) {
    REFIT_TRY(recording, read_recording(folder / kRecordingFile));
    REFIT_TRY(record, load_record(folder / kRecordFile));
    return make_saved_run(std::move(recording), std::move(record));
}

}  // namespace refit
