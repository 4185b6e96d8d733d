// Where a run is kept: --out DIR, or the XDG state folder (the last 20).
//
// Safe      a run is made in a hidden folder beside its place and renamed when it is whole, so a
//           failed or interrupted run leaves nothing.
// Resumable a full run is made in its place: once it has a journal, what it has done stays,
// whatever
//           ends it. Without a record it is unfinished.
// Errors    invalid_input if --out exists already, or a run to resume is none or finished.
// MachineError if a folder cannot be made.
#pragma once

#include <filesystem>
#include <string>

#include "engine/base/result.hpp"
#include "engine/observe/recording.hpp"

namespace refit {

inline constexpr const char* kJournalFile = "bit-pass.journal";  // of an unfinished full run
inline constexpr const char* kRequestFile = "request.json";      // what was asked of the run

/// The newest kept run of the state folder; not_found when there is none.
Result<std::filesystem::path> newest_run();

class RunFolder {
public:
    /// `out` empty: a new folder under $XDG_STATE_HOME/refit/runs (~/.local/state by default).
    static Result<RunFolder> create(const std::filesystem::path& out, bool resumable = false);
    /// An unfinished run, to go on with.
    static Result<RunFolder> reopen(const std::filesystem::path& place);
    ~RunFolder();
    RunFolder(RunFolder&& other) noexcept;
    RunFolder& operator=(RunFolder&&) = delete;

    /// Work here until keep().
    const std::filesystem::path& working() const { return working_; }
    const std::filesystem::path& place() const { return place_; }

    void write(const std::string& name, const std::string& text) const;
    /// Makes the run visible; drops the oldest kept ones beyond 20.
    void keep();

private:
    RunFolder(std::filesystem::path place, bool from_state);

    std::filesystem::path place_;
    std::filesystem::path working_;
    bool from_state_;
    bool kept_ = false;
    bool fresh_ = false;  // resumable, and nobody has kept it yet
};

}  // namespace refit
