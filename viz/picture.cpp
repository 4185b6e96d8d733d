#include "viz/picture.hpp"

#include <imgui.h>
#include <imgui_impl_opengl3.h>
#include <implot.h>

#include "viz/offscreen.hpp"
#include "viz/panels/panel.hpp"
#include "viz/png.hpp"

namespace refit {

namespace {

// Windows take their places in the first frame, plots their axes in the second.
constexpr int kFramesToSettle = 3;

/// Dear ImGui and ImPlot for one picture; GL is current.
class Session {
public:
    explicit Session(const PixelSize& size) {
        ImGui::CreateContext();
        ImPlot::CreateContext();
        ImGuiIO& io = ImGui::GetIO();
        io.IniFilename = nullptr;
        io.LogFilename = nullptr;
        io.DisplaySize = {static_cast<float>(size.width), static_cast<float>(size.height)};
        io.DeltaTime = 1.0F / 60;
        if (!ImGui_ImplOpenGL3_Init("#version 330")) {
            close();
            throw MachineError("no picture can be drawn here: OpenGL's functions are not found");
        }
        started_ = true;
    }
    ~Session() { close(); }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

private:
    void close() {
        if (started_) ImGui_ImplOpenGL3_Shutdown();
        ImPlot::DestroyContext();
        ImGui::DestroyContext();
    }

    bool started_ = false;
};

/// The parts of a frame that all panels share.
struct Frame {
    const Scene& scene;
    const Moment& now;
    const Theme& theme;
    Page page;
};

void draw_panel(const Panel& panel, const Rect& rect, const Frame& frame) {
    ImGui::SetNextWindowPos({rect.x0, rect.y0});
    ImGui::SetNextWindowSize({rect.width(), rect.height()});
    const std::string name = "##panel" + std::to_string(static_cast<int>(panel.id));
    const auto flags = ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoSavedSettings |
                       ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoFocusOnAppearing |
                       ImGuiWindowFlags_NoScrollWithMouse;
    if (ImGui::Begin(name.c_str(), nullptr, flags)) {
        const Theme& theme = frame.theme;
        Pen pen(theme, ImGui::GetWindowDrawList());
        const float inset = theme.px(10);
        const bool titled = panel.title[0] != '\0';
        if (titled)
            pen.text(rect.x0 + inset, rect.y0 + theme.px(15),
                     pen.fitted(panel.title, rect.width() - 2 * inset, {.size = 14}), {.size = 14});
        const float top = titled ? theme.px(28) : theme.px(4);
        const Rect box{rect.x0 + inset, rect.y0 + top, rect.x1 - inset, rect.y1 - theme.px(6)};
        panel.draw({frame.scene, frame.now, pen, box});
    }
    ImGui::End();
}

void draw_frame(const Frame& frame, const PanelLayout& layout) {
    ImGui_ImplOpenGL3_NewFrame();
    ImGui::NewFrame();
    for (const Panel& panel : panels(frame.page)) draw_panel(panel, layout.of(panel.id), frame);
    ImGui::Render();
}

/// Members are ordered as they need each other.
class GlPainter final : public Painter {
public:
    GlPainter(const SavedRun& run,
              const std::vector<PublishedRow>& published,
              const PictureRequest& request)
        : offscreen_(request.size, request.egl_library.empty() ? kEglLibrary : request.egl_library),
          session_(request.size),
          page_(request.page),
          layout_(lay_out_panels(request.size, page_)),
          theme_(request.shade, layout_.scale, request.font_folders),
          scene_(run, published, request.subject) {}

    Image paint(Nanoseconds at) override {
        const Moment now(scene_, at);
        for (int frame = settled_ ? kFramesToSettle - 1 : 0; frame < kFramesToSettle; ++frame) {
            draw_frame({scene_, now, theme_, page_}, layout_);
            const ImVec4 page = theme_.vector("page");
            offscreen_.begin(page.x, page.y, page.z);
            ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
        }
        settled_ = true;
        return offscreen_.read();
    }

private:
    Offscreen offscreen_;
    Session session_;
    Page page_;
    PanelLayout layout_;
    Theme theme_;
    Scene scene_;
    bool settled_ = false;
};

}  // namespace

bool built_with_pictures() { return true; }

std::unique_ptr<Painter> make_painter(const SavedRun& run,
                                      const std::vector<PublishedRow>& published,
                                      const PictureRequest& request) {
    return std::make_unique<GlPainter>(run, published, request);
}

ByteVector draw_picture(const SavedRun& run,
                        const std::vector<PublishedRow>& published,
                        const PictureRequest& request) {
    return png_of(make_painter(run, published, request)->paint(request.at));
}

}  // namespace refit
