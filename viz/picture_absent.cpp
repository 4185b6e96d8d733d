// In a program without Dear ImGui.
#include "viz/gif.hpp"
#include "viz/picture.hpp"

namespace refit {

namespace {

[[noreturn]] void refuse() {
    throw MachineError(
        "no picture can be drawn here: this program was built without Dear ImGui (app/run.sh view "
        "builds it in; cmake -DREFIT_VIEW=ON says what is missing)");
}

}  // namespace

bool built_with_pictures() { return false; }

std::unique_ptr<Painter> make_painter(const SavedRun&,
                                      const std::vector<PublishedRow>&,
                                      const PictureRequest&) {
    refuse();
}

ByteVector draw_picture(const SavedRun&, const std::vector<PublishedRow>&, const PictureRequest&) {
    refuse();
}

std::unique_ptr<FilmWriter> open_gif(const PixelSize&, FilmPalette, std::uint32_t, ByteSink) {
    refuse();
}

}  // namespace refit
