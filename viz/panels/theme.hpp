// How panels look: colours by name, two fonts, and the size of everything.
//
// Fonts     Inter for text and JetBrains Mono for numbers from the first of the folders that holds
//           each; else the one that Dear ImGui carries, for both.
#pragma once

#include <imgui.h>

#include <filesystem>
#include <vector>

#include "viz/palette.hpp"

namespace refit {

class Theme {
public:
    /// Dear ImGui and ImPlot have their contexts; `scale` 1 is for 1600 x 900.
    Theme(Shade shade, float scale, const std::vector<std::filesystem::path>& font_folders);

    ImU32 color(std::string_view name, float opacity = 1) const;
    ImVec4 vector(std::string_view name, float opacity = 1) const;
    ImFont* text() const { return text_; }
    ImFont* digits() const { return digits_; }
    /// Pixels of a length that was drawn up for 1600 x 900.
    float px(float length) const { return length * scale_; }

private:
    void set_styles() const;

    Palette palette_;
    float scale_;
    ImFont* text_ = nullptr;
    ImFont* digits_ = nullptr;
};

}  // namespace refit
