// The words of one tile of a kept run, made or read again from what was asked of the run: what the
// view of weights shows.
//
// From      request.json in the run's folder. Without one (a shipped recording) the shipped trace
//           whose catalog is the run's.
// Checked   the catalog is the recording's; the mask is decoded from the tile's bytes, encoded with
//           the run's codec; of checkpoints, as many words change as the record counts.
// Cost      a catalog and a grid, seconds for 1T; then a version's tiles up to kTilesLooked.
// Never     fails for what is missing: the words then say which file that is. MachineError passes.
#pragma once

#include <filesystem>

#include "viz/saved_run.hpp"
#include "viz/tile_words.hpp"

namespace refit {

/// Tiles of a tensor whose changed shares are looked up: the tile shown is the first of them with a
/// changed word.
inline constexpr std::size_t kTilesLooked = 128;

/// `run` outlives the result, which keeps the newest version's words.
WordsOf words_of_run(const std::filesystem::path& folder,
                     const SavedRun& run,
                     std::uint32_t tensor,
                     const std::filesystem::path& data_root);

}  // namespace refit
