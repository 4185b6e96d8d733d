// A film as an MP4 (H.264, 4:2:0) by the program `ffmpeg` on PATH, asked for when a film is made.
//
// Frames    leave as they come, uncompressed, over a socket to its stdin; no shell is involved.
// Ends      one that does not end by itself is killed with the writer. What it wrote until then is
//           the caller's to remove.
// Errors    MachineError, one sentence: no ffmpeg, or the first thing that it complains of.
#pragma once

#include <filesystem>
#include <memory>

#include "viz/film.hpp"

namespace refit {

inline constexpr std::uint32_t kMp4FramesPerSecondMost = 60;

/// Writes into `file`, which exists; width and height are even, as 4:2:0 wants.
std::unique_ptr<FilmWriter> open_mp4(const PixelSize& size,
                                     std::uint32_t frames_per_second,
                                     const std::filesystem::path& file);

}  // namespace refit
