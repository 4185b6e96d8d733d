// A picture of OpenGL 3.3 where there is no display: EGL without a surface, a framebuffer object,
// its pixels read back. No window system is asked.
//
// Renderer  Mesa's software renderer where EGL offers it, so that a machine with a GPU draws the
//           pixels that one without draws; else whatever EGL has.
// Library   opened on first use: without it only pictures are missing.
// Errors    MachineError, one sentence: no EGL, no OpenGL 3.3, a size the renderer refuses.
#pragma once

#include <memory>
#include <string>

#include "viz/image.hpp"

namespace refit {

inline constexpr const char* kEglLibrary = "libEGL.so.1";

/// Makes its context current on this thread and keeps it so until it is gone; one at a time.
class Offscreen {
public:
    explicit Offscreen(const PixelSize& size, const std::string& library = kEglLibrary);
    ~Offscreen();
    Offscreen(const Offscreen&) = delete;
    Offscreen& operator=(const Offscreen&) = delete;

    /// Everything drawn from now on lands here, on `rgb`, each 0 to 1.
    void begin(float red, float green, float blue);
    Image read() const;
    /// As OpenGL names it: "llvmpipe (LLVM 15.0.6, 256 bits)".
    const std::string& renderer() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace refit
