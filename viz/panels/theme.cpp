#include "viz/panels/theme.hpp"

#include <implot.h>

namespace refit {

namespace {

namespace fs = std::filesystem;

constexpr float kTextPixels = 14;

ImFont* load_font(const std::vector<fs::path>& folders, std::initializer_list<const char*> names) {
    std::error_code absent;
    for (const fs::path& folder : folders)
        for (const char* name : names) {
            const fs::path file = folder / name;
            if (!fs::is_regular_file(file, absent)) continue;
            ImFont* font = ImGui::GetIO().Fonts->AddFontFromFileTTF(file.c_str(), kTextPixels);
            if (font != nullptr) return font;
        }
    return nullptr;
}

}  // namespace

Theme::Theme(Shade shade, float scale, const std::vector<fs::path>& font_folders)
    : palette_(shade),
      scale_(scale),
      text_(load_font(font_folders, {"Inter-Regular.otf", "Inter-Regular.ttf"})),
      digits_(load_font(font_folders, {"JetBrainsMono-Regular.ttf", "JetBrainsMono-Regular.otf"})) {
    if (text_ == nullptr) text_ = ImGui::GetIO().Fonts->AddFontDefaultVector();
    if (digits_ == nullptr) digits_ = text_;
    set_styles();
}

ImU32 Theme::color(std::string_view name, float opacity) const {
    return ImGui::ColorConvertFloat4ToU32(vector(name, opacity));
}

ImVec4 Theme::vector(std::string_view name, float opacity) const {
    const Palette::Rgb rgb = palette_[name];
    return {static_cast<float>(rgb[0]) / 255, static_cast<float>(rgb[1]) / 255,
            static_cast<float>(rgb[2]) / 255, opacity};
}

void Theme::set_styles() const {
    if (palette_.shade() == Shade::dark) {
        ImGui::StyleColorsDark();
        ImPlot::StyleColorsDark();
    } else {
        ImGui::StyleColorsLight();
        ImPlot::StyleColorsLight();
    }
    ImGuiStyle& style = ImGui::GetStyle();
    style.WindowRounding = px(6);
    style.WindowBorderSize = 1;
    style.WindowPadding = {0, 0};
    style.FontSizeBase = px(kTextPixels - 1);
    style.Colors[ImGuiCol_WindowBg] = vector("panel");
    style.Colors[ImGuiCol_Border] = vector("line");
    style.Colors[ImGuiCol_Text] = vector("text");
    ImPlotStyle& plot = ImPlot::GetStyle();
    plot.Colors[ImPlotCol_FrameBg] = vector("panel");
    plot.Colors[ImPlotCol_PlotBg] = vector("page");
    plot.Colors[ImPlotCol_PlotBorder] = vector("line");
    plot.Colors[ImPlotCol_AxisText] = vector("soft");
    plot.Colors[ImPlotCol_AxisGrid] = vector("line");
    plot.Colors[ImPlotCol_LegendBg] = vector("panel", 0.9F);
    plot.Colors[ImPlotCol_LegendBorder] = vector("line");
    plot.Colors[ImPlotCol_LegendText] = vector("text");
    plot.PlotPadding = {px(4), px(4)};
    plot.LabelPadding = {px(4), px(3)};
}

}  // namespace refit
