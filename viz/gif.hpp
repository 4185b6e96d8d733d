// A film as a GIF: one palette for all frames, of each frame only the rectangle that changed, with
// what did not change in it transparent. It plays without end.
//
// Exact     every pixel is the palette's nearest colour, so the pixel itself where the palette has
//           it. The same frames are the same bytes.
// Memory    one frame's bytes and two frames' indices; bytes leave with each frame.
// Errors    MachineError when memory ends or the program was built without giflib.
#pragma once

#include <functional>
#include <memory>

#include "viz/film.hpp"
#include "viz/film_palette.hpp"

namespace refit {

/// A GIF's time runs in hundredths of a second, and viewers slow down those that show a frame for
/// one.
inline constexpr std::uint32_t kGifFramesPerSecondMost = 50;

using ByteSink = std::function<void(ByteSpan)>;

std::unique_ptr<FilmWriter> open_gif(const PixelSize& size,
                                     FilmPalette palette,
                                     std::uint32_t frames_per_second,
                                     ByteSink sink);

}  // namespace refit
