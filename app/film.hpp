// A film of a kept run into a file.
#pragma once

#include "app/console.hpp"
#include "app/output_file.hpp"
#include "viz/film.hpp"
#include "viz/picture.hpp"

namespace refit {

struct Film {
    std::vector<Nanoseconds> moments;
    std::uint32_t frames_per_second = 0;
    PixelSize size;
};

/// Frames are written as they are drawn. Ctrl-C ends it.
void write_gif(const Console& console, Painter& painter, const Film& film, OutputFile& file);
void write_mp4(const Console& console, Painter& painter, const Film& film, OutputFile& file);

}  // namespace refit
