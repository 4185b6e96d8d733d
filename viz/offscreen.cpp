#include "viz/offscreen.hpp"

#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GL/gl.h>
#include <GL/glext.h>
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "engine/base/result.hpp"

namespace refit {

namespace {

[[noreturn]] void refuse(const std::string& why) {
    throw MachineError("no picture can be drawn here: " + why);
}

struct EglCalls {
    decltype(&eglGetProcAddress) get_proc_address;
    decltype(&eglQueryString) query_string;
    decltype(&eglInitialize) initialize;
    decltype(&eglTerminate) terminate;
    decltype(&eglBindAPI) bind_api;
    decltype(&eglChooseConfig) choose_config;
    decltype(&eglCreateContext) create_context;
    decltype(&eglDestroyContext) destroy_context;
    decltype(&eglMakeCurrent) make_current;
};

struct GlCalls {
    decltype(&glGetString) get_string;
    decltype(&glGetIntegerv) get_integer;
    decltype(&glViewport) viewport;
    decltype(&glClearColor) clear_color;
    decltype(&glClear) clear;
    decltype(&glPixelStorei) pixel_store;
    decltype(&glReadPixels) read_pixels;
    PFNGLGENFRAMEBUFFERSPROC gen_framebuffers;
    PFNGLBINDFRAMEBUFFERPROC bind_framebuffer;
    PFNGLGENRENDERBUFFERSPROC gen_renderbuffers;
    PFNGLBINDRENDERBUFFERPROC bind_renderbuffer;
    PFNGLRENDERBUFFERSTORAGEPROC renderbuffer_storage;
    PFNGLFRAMEBUFFERRENDERBUFFERPROC framebuffer_renderbuffer;
    PFNGLCHECKFRAMEBUFFERSTATUSPROC check_framebuffer;
};

template <class Function>
void load(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    if (function == nullptr) refuse(std::string("EGL lacks ") + name);
}

EglCalls load_egl(const std::string& library) {
    // It stays open: a driver that has started would lose its code.
    void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        const char* why = dlerror();
        refuse("EGL does not open: " + std::string(why == nullptr ? library : why));
    }
    EglCalls egl{};
    load(handle, "eglGetProcAddress", egl.get_proc_address);
    load(handle, "eglQueryString", egl.query_string);
    load(handle, "eglInitialize", egl.initialize);
    load(handle, "eglTerminate", egl.terminate);
    load(handle, "eglBindAPI", egl.bind_api);
    load(handle, "eglChooseConfig", egl.choose_config);
    load(handle, "eglCreateContext", egl.create_context);
    load(handle, "eglDestroyContext", egl.destroy_context);
    load(handle, "eglMakeCurrent", egl.make_current);
    return egl;
}

template <class Function>
void load_gl(const EglCalls& egl, const char* name, Function& function) {
    function = reinterpret_cast<Function>(egl.get_proc_address(name));
    if (function == nullptr) refuse(std::string("OpenGL lacks ") + name);
}

GlCalls load_gl(const EglCalls& egl) {
    GlCalls gl{};
    load_gl(egl, "glGetString", gl.get_string);
    load_gl(egl, "glGetIntegerv", gl.get_integer);
    load_gl(egl, "glViewport", gl.viewport);
    load_gl(egl, "glClearColor", gl.clear_color);
    load_gl(egl, "glClear", gl.clear);
    load_gl(egl, "glPixelStorei", gl.pixel_store);
    load_gl(egl, "glReadPixels", gl.read_pixels);
    load_gl(egl, "glGenFramebuffers", gl.gen_framebuffers);
    load_gl(egl, "glBindFramebuffer", gl.bind_framebuffer);
    load_gl(egl, "glGenRenderbuffers", gl.gen_renderbuffers);
    load_gl(egl, "glBindRenderbuffer", gl.bind_renderbuffer);
    load_gl(egl, "glRenderbufferStorage", gl.renderbuffer_storage);
    load_gl(egl, "glFramebufferRenderbuffer", gl.framebuffer_renderbuffer);
    load_gl(egl, "glCheckFramebufferStatus", gl.check_framebuffer);
    return gl;
}

bool says(const char* list, std::string_view word) {
    return list != nullptr && std::string_view(list).find(word) != std::string_view::npos;
}

/// Of the software renderer among EGL's devices; null where there is none.
EGLDisplay software_display(const EglCalls& egl, PFNEGLGETPLATFORMDISPLAYEXTPROC platform_display) {
    const auto devices =
        reinterpret_cast<PFNEGLQUERYDEVICESEXTPROC>(egl.get_proc_address("eglQueryDevicesEXT"));
    const auto device_text = reinterpret_cast<PFNEGLQUERYDEVICESTRINGEXTPROC>(
        egl.get_proc_address("eglQueryDeviceStringEXT"));
    if (devices == nullptr || device_text == nullptr) return EGL_NO_DISPLAY;
    std::array<EGLDeviceEXT, 64> found{};
    EGLint count = 0;
    if (devices(static_cast<EGLint>(found.size()), found.data(), &count) == EGL_FALSE)
        return EGL_NO_DISPLAY;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
        if (says(device_text(found[i], EGL_EXTENSIONS), "EGL_MESA_device_software"))
            return platform_display(EGL_PLATFORM_DEVICE_EXT, found[i], nullptr);
    return EGL_NO_DISPLAY;
}

EGLDisplay open_display(const EglCalls& egl) {
    const auto platform_display = reinterpret_cast<PFNEGLGETPLATFORMDISPLAYEXTPROC>(
        egl.get_proc_address("eglGetPlatformDisplayEXT"));
    if (platform_display == nullptr) refuse("EGL knows no platforms");
    EGLDisplay display = software_display(egl, platform_display);
    if (display != EGL_NO_DISPLAY && egl.initialize(display, nullptr, nullptr) == EGL_TRUE)
        return display;
    if (says(egl.query_string(EGL_NO_DISPLAY, EGL_EXTENSIONS), "EGL_MESA_platform_surfaceless")) {
        display = platform_display(EGL_PLATFORM_SURFACELESS_MESA,
                                   reinterpret_cast<void*>(EGL_DEFAULT_DISPLAY), nullptr);
        if (display != EGL_NO_DISPLAY && egl.initialize(display, nullptr, nullptr) == EGL_TRUE)
            return display;
    }
    refuse("EGL finds no renderer (libegl-mesa0 libgl1-mesa-dri)");
}

}  // namespace

struct Offscreen::State {
    EglCalls egl;
    EGLDisplay display = EGL_NO_DISPLAY;
    EGLContext context = EGL_NO_CONTEXT;
    GlCalls gl{};
    GLuint framebuffer = 0;
    PixelSize size;
    std::string renderer;

    State(const PixelSize& pixels, const std::string& library)
        : egl(load_egl(library)), display(open_display(egl)), size(pixels) {
        try {
            make_context();
            gl = load_gl(egl);
            make_framebuffer();
        } catch (...) {
            close();
            throw;
        }
    }
    ~State() { close(); }
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    void make_context() {
        constexpr std::array<EGLint, 5> kWanted = {EGL_SURFACE_TYPE, EGL_PBUFFER_BIT,
                                                   EGL_RENDERABLE_TYPE, EGL_OPENGL_BIT, EGL_NONE};
        constexpr std::array<EGLint, 7> kVersion = {EGL_CONTEXT_MAJOR_VERSION,
                                                    3,
                                                    EGL_CONTEXT_MINOR_VERSION,
                                                    3,
                                                    EGL_CONTEXT_OPENGL_PROFILE_MASK,
                                                    EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT,
                                                    EGL_NONE};
        EGLConfig config = nullptr;
        EGLint configs = 0;
        if (egl.bind_api(EGL_OPENGL_API) == EGL_FALSE ||
            egl.choose_config(display, kWanted.data(), &config, 1, &configs) == EGL_FALSE ||
            configs == 0)
            refuse("EGL has no OpenGL");
        context = egl.create_context(display, config, EGL_NO_CONTEXT, kVersion.data());
        if (context == EGL_NO_CONTEXT ||
            egl.make_current(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context) == EGL_FALSE)
            refuse("EGL has no OpenGL 3.3 without a surface");
    }

    void make_framebuffer() {
        renderer = reinterpret_cast<const char*>(gl.get_string(GL_RENDERER));
        GLint largest = 0;
        gl.get_integer(GL_MAX_RENDERBUFFER_SIZE, &largest);
        if (std::max(size.width, size.height) > static_cast<GLuint>(largest))
            refuse(renderer + " draws at most " + std::to_string(largest) + " pixels a side");
        GLuint color = 0;
        gl.gen_renderbuffers(1, &color);
        gl.bind_renderbuffer(GL_RENDERBUFFER, color);
        gl.renderbuffer_storage(GL_RENDERBUFFER, GL_RGBA8, static_cast<GLsizei>(size.width),
                                static_cast<GLsizei>(size.height));
        gl.gen_framebuffers(1, &framebuffer);
        gl.bind_framebuffer(GL_FRAMEBUFFER, framebuffer);
        gl.framebuffer_renderbuffer(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER, color);
        if (gl.check_framebuffer(GL_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE)
            refuse(renderer + " makes no picture of this size");
    }

    /// What GL holds goes with its context.
    void close() {
        egl.make_current(display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
        if (context != EGL_NO_CONTEXT) egl.destroy_context(display, context);
        egl.terminate(display);
    }
};

Offscreen::Offscreen(const PixelSize& size, const std::string& library)
    : state_(std::make_unique<State>(size, library)) {}

Offscreen::~Offscreen() = default;

const std::string& Offscreen::renderer() const { return state_->renderer; }

void Offscreen::begin(float red, float green, float blue) {
    const GlCalls& gl = state_->gl;
    gl.bind_framebuffer(GL_FRAMEBUFFER, state_->framebuffer);
    gl.viewport(0, 0, static_cast<GLsizei>(state_->size.width),
                static_cast<GLsizei>(state_->size.height));
    gl.clear_color(red, green, blue, 1);
    gl.clear(GL_COLOR_BUFFER_BIT);
}

Image Offscreen::read() const {
    const PixelSize& size = state_->size;
    const std::size_t row = std::size_t{3} * size.width;
    ByteVector upside_down(row * size.height);
    const GlCalls& gl = state_->gl;
    gl.bind_framebuffer(GL_FRAMEBUFFER, state_->framebuffer);
    gl.pixel_store(GL_PACK_ALIGNMENT, 1);
    gl.read_pixels(0, 0, static_cast<GLsizei>(size.width), static_cast<GLsizei>(size.height),
                   GL_RGB, GL_UNSIGNED_BYTE, upside_down.data());
    Image image{size.width, size.height, ByteVector(upside_down.size())};
    for (std::size_t y = 0; y < size.height; ++y)
        std::copy_n(upside_down.data() + y * row, row,
                    image.pixels.data() + (size.height - 1 - y) * row);
    return image;
}

}  // namespace refit
