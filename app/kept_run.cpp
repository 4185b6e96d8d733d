#include "app/kept_run.hpp"

#include "app/run_folder.hpp"

namespace refit {

Result<KeptRun> open_kept_run(const Console& console, const std::string& named) {
    std::filesystem::path folder = named;
    if (named.empty()) {
        REFIT_TRY(newest, newest_run());
        folder = newest;
    }
    REFIT_TRY(run, load_run(folder));
    for (const std::string& missing : run.missing) console.note("not whole: " + missing);
    return KeptRun{std::move(folder), std::move(run)};
}

}  // namespace refit
