// The last things that happened before a moment, in words: what a person would tell of a run.
//
// Told      steps, deltas, commits, faults and who found another parent; chunks, parts and units
//           are not. What several nodes did for one version is one line at the last one's time.
// Cost      O(events until enough lines are found), from the moment backwards.
#pragma once

#include <string>
#include <vector>

#include "viz/saved_run.hpp"

namespace refit {

struct StoryLine {
    Nanoseconds at{0};
    std::string who;   // "eu-west/replica-1 and 2 more"; empty: the whole run
    std::string what;  // "staged version 2"
    bool trouble = false;

    friend bool operator==(const StoryLine&, const StoryLine&) = default;
};

/// At most `lines` of them, oldest first.
std::vector<StoryLine> tell_story(const SavedRun& run, Nanoseconds at, std::size_t lines);

}  // namespace refit
