#include "app/run_folder.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <vector>

namespace refit {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kKeptRuns = 20;

fs::path state_folder() {
    const char* state = std::getenv("XDG_STATE_HOME");
    if (state != nullptr && *state == '/') return fs::path(state) / "refit" / "runs";
    const char* home = std::getenv("HOME");
    const fs::path base = home != nullptr && *home != '\0' ? fs::path(home) : fs::current_path();
    return base / ".local" / "state" / "refit" / "runs";
}

/// Sorts by time: the newest run has the greatest name.
std::string run_name() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
    return fmt::format("run-{:015}-{}", millis, getpid());
}

/// Oldest first.
std::vector<fs::path> kept_runs(const fs::path& folder) {
    std::vector<fs::path> runs;
    std::error_code absent;
    for (const auto& entry : fs::directory_iterator(folder, absent))
        if (entry.path().filename().string().starts_with("run-")) runs.push_back(entry.path());
    std::ranges::sort(runs);
    return runs;
}

void drop_old(const fs::path& folder) {
    const std::vector<fs::path> runs = kept_runs(folder);
    for (std::size_t i = 0; i + kKeptRuns < runs.size(); ++i) fs::remove_all(runs[i]);
}

/// Has an unfinished full run done anything worth going on with?
bool has_journal(const fs::path& folder) {
    std::error_code absent;
    for (const auto& entry : fs::directory_iterator(folder, absent))
        if (entry.path().filename().string().starts_with(kJournalFile)) return true;
    return false;
}

}  // namespace

Result<fs::path> newest_run() {
    const std::vector<fs::path> runs = kept_runs(state_folder());
    if (runs.empty())
        return Error{ErrorCode::not_found, "no run is kept here yet", state_folder().string()};
    return runs.back();
}

RunFolder::RunFolder(fs::path place, bool from_state)
    : place_(std::move(place)), from_state_(from_state) {
    working_ = place_.parent_path() /
               fmt::format(".{}.refit-tmp-{}", place_.filename().string(), getpid());
}

RunFolder::RunFolder(RunFolder&& other) noexcept
    : place_(std::move(other.place_)),
      working_(std::move(other.working_)),
      from_state_(other.from_state_),
      kept_(std::exchange(other.kept_, true)),
      fresh_(std::exchange(other.fresh_, false)) {}

RunFolder::~RunFolder() {
    std::error_code ignored;
    if (!kept_ || (fresh_ && !has_journal(working_))) fs::remove_all(working_, ignored);
}

Result<RunFolder> RunFolder::create(const fs::path& out, bool resumable) {
    const fs::path place =
        out.empty() ? state_folder() / run_name() : fs::absolute(out).lexically_normal();
    const fs::path clean = place.has_filename() ? place : place.parent_path();
    std::error_code error;
    if (fs::exists(clean, error))
        return Error{ErrorCode::invalid_input, "exists already; name a new folder", out.string()};
    RunFolder folder(clean, out.empty());
    if (resumable) {
        folder.working_ = clean;
        folder.kept_ = folder.fresh_ = true;
    }
    fs::create_directories(folder.working_, error);
    if (error) throw MachineError(clean.parent_path().string() + ": " + error.message());
    return folder;
}

Result<RunFolder> RunFolder::reopen(const fs::path& place) {
    const fs::path clean = fs::absolute(place).lexically_normal();
    std::error_code absent;
    if (!fs::is_regular_file(clean / kRequestFile, absent))
        return Error{ErrorCode::invalid_input, "is no unfinished full run", place.string()};
    if (fs::exists(clean / kRecordFile, absent))
        return Error{ErrorCode::invalid_input, "is finished: see refit inspect", place.string()};
    RunFolder folder(clean.has_filename() ? clean : clean.parent_path(), false);
    folder.working_ = folder.place_;
    folder.kept_ = true;
    return folder;
}

void RunFolder::write(const std::string& name, const std::string& text) const {
    std::ofstream file(working_ / name, std::ios::binary);
    file << text;
    file.flush();
    if (!file) throw MachineError((place_ / name).string() + ": cannot be written");
}

void RunFolder::keep() {
    if (from_state_) {  // its objects can be made again from the seed; the record stays
        fs::remove_all(working_ / "store");
        fs::remove(working_ / "register.sqlite");
    }
    if (working_ != place_) {
        fs::rename(working_, place_);
    } else {  // resumable: nothing is left to resume
        for (const auto& entry : fs::directory_iterator(place_))
            if (entry.path().filename().string().starts_with(kJournalFile))
                fs::remove(entry.path());
    }
    kept_ = true;
    fresh_ = false;
    if (from_state_) drop_old(place_.parent_path());
}

}  // namespace refit
