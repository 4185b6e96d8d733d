// The run that a command looks at: the folder that was named, else the newest kept one.
//
// Says      a note for everything of it that is not there or not whole.
// Errors    not_found: nothing was named and nothing is kept. As load_run().
#pragma once

#include <filesystem>
#include <string>

#include "app/console.hpp"
#include "viz/saved_run.hpp"

namespace refit {

struct KeptRun {
    std::filesystem::path folder;
    SavedRun run;
};

Result<KeptRun> open_kept_run(const Console& console, const std::string& named);

}  // namespace refit
