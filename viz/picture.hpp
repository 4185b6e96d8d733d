// A kept run at one moment as a picture, or at many for a film, drawn without a display.
//
// Exact     the same run, request, fonts and libraries give the same bytes; no clock is read.
// Needs     EGL with OpenGL 3.3 and, in the program, Dear ImGui and ImPlot (viz/imgui.cmake).
// Errors    MachineError, one sentence, when one of them is missing.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "viz/image.hpp"
#include "viz/palette.hpp"
#include "viz/panel_layout.hpp"
#include "viz/saved_run.hpp"
#include "viz/tile_words.hpp"
#include "workloads/published.hpp"

namespace refit {

/// Least and largest picture: smaller ones have no room for their words.
inline constexpr PixelSize kPictureLeast{1280, 720};
inline constexpr PixelSize kPictureLargest{7680, 4320};

struct PictureRequest {
    Nanoseconds at{0};
    PixelSize size{1600, 900};
    Page page = Page::run;
    Subject subject{};  // of the page of weights
    Shade shade = Shade::light;
    std::vector<std::filesystem::path> font_folders{};  // the first that holds a font is taken
    std::string egl_library{};                          // empty: the system's
};

/// Whether this program was built with what draws.
bool built_with_pictures();

/// Draws the moments of one run in any order. Pixels are those of draw_picture(), but for rounding
/// at the edges of letters, which stay where in the font's texture an earlier moment put them. The
/// run outlives it; one at a time.
class Painter {
public:
    Painter() = default;
    Painter(const Painter&) = delete;
    Painter& operator=(const Painter&) = delete;
    virtual ~Painter() = default;

    virtual Image paint(Nanoseconds at) = 0;
};

/// `published`: rows drawn beside this run, chosen by the caller. `request.at` is not looked at.
std::unique_ptr<Painter> make_painter(const SavedRun& run,
                                      const std::vector<PublishedRow>& published,
                                      const PictureRequest& request);

/// As a PNG.
ByteVector draw_picture(const SavedRun& run,
                        const std::vector<PublishedRow>& published,
                        const PictureRequest& request);

}  // namespace refit
