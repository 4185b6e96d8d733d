#include "app/film.hpp"

#include <algorithm>

#include "app/ffmpeg.hpp"
#include "app/progress.hpp"
#include "viz/gif.hpp"

namespace refit {

namespace {

constexpr std::size_t kPaletteSamples = 12;  // frames; each has to be drawn once more

FilmPalette palette_of(const Console& console, Painter& painter, const Film& film) {
    ColorCounts counts;
    const std::size_t last = film.moments.size() - 1;
    const std::size_t samples = std::min(kPaletteSamples, film.moments.size());
    for (std::size_t i = 0; i < samples; ++i) {
        console.check_interrupt();
        counts.add(painter.paint(film.moments[i * last / (samples - 1)]));
    }
    return FilmPalette(counts);
}

void play(const Console& console, Painter& painter, const Film& film, FilmWriter& writer) {
    const Bytes frame{std::uint64_t{3} * film.size.width * film.size.height};
    Progress progress(console, "film", frame * film.moments.size());
    for (std::size_t i = 0; i < film.moments.size(); ++i) {
        const bool stands = i + 1 == film.moments.size();
        writer.add(painter.paint(film.moments[i]),
                   stands ? kFilmStand * film.frames_per_second : 1);
        progress.advance(frame);
    }
    writer.finish();
}

}  // namespace

void write_gif(const Console& console, Painter& painter, const Film& film, OutputFile& file) {
    const auto writer =
        open_gif(film.size, palette_of(console, painter, film), film.frames_per_second,
                 [&file](ByteSpan bytes) { file.write(bytes); });
    play(console, painter, film, *writer);
}

void write_mp4(const Console& console, Painter& painter, const Film& film, OutputFile& file) {
    const auto writer = open_mp4(film.size, film.frames_per_second, file.temporary());
    play(console, painter, film, *writer);
}

}  // namespace refit
