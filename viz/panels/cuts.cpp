#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "viz/panels/panel.hpp"
#include "viz/report/html.hpp"

namespace refit {

namespace {

constexpr float kLine = 16;
constexpr float kArrow = 30;  // pixels between two stages
constexpr float kGap = 12;    // between layouts of one stage
constexpr TextStyle kSoft{.color = "soft", .size = 12};
constexpr TextStyle kTitle{.size = 12.5F};
constexpr std::array kColors = {"receive", "busy", "encode",    "barrier",
                                "stage",   "kv",   "straggler", "payload"};

std::string shape_text(std::uint64_t rows, std::uint64_t columns) {
    return fmt::format("{} x {}", rows, columns);
}

/// A box of the tensor's rows and columns on the picture.
Rect place_of(const Rect& all, const Tensor& tensor, const CutBox& box) {
    const auto x = [&](std::uint64_t column) {
        return all.x0 + all.width() * static_cast<float>(static_cast<double>(column) /
                                                         static_cast<double>(tensor.columns));
    };
    const auto y = [&](std::uint64_t row) {
        return all.y0 + all.height() * static_cast<float>(static_cast<double>(row) /
                                                          static_cast<double>(tensor.rows));
    };
    return {x(box.col_first), y(box.row_first), x(box.col_end), y(box.row_end)};
}

/// Names that have room inside their box, or beside those of thinner boxes around.
class RankNames {
public:
    explicit RankNames(Pen& pen) : pen_(pen) {}

    void write(const Rect& rect, const CutBox& box) {
        const std::string ranks = ranks_text(box.ranks);
        const TextStyle style{.size = 12, .align = Align::center};
        std::string name = (box.ranks.size() == 1 ? "rank " : "ranks ") + ranks;
        if (pen_.width(name, style) + pen_.px(6) > rect.width()) name = ranks;
        const float half_width = pen_.width(name, style) / 2;
        const float half_height = pen_.px(5.2F);
        const Rect taken{rect.middle_x() - half_width, rect.middle_y() - half_height,
                         rect.middle_x() + half_width, rect.middle_y() + half_height};
        const bool apart = taken.y0 >= last_.y1 || taken.x0 >= last_.x1 + pen_.px(3) ||
                           taken.x1 + pen_.px(3) <= last_.x0;
        if (!apart) return;
        pen_.text(rect.middle_x(), rect.middle_y(), pen_.fitted(name, all_width_, style), style);
        last_ = taken;
    }
    void within(float width) { all_width_ = width; }

private:
    Pen& pen_;
    Rect last_{-1, -1, -1, -1};
    float all_width_ = 0;
};

/// "each 1792 x 2048": of what a rank holds of this tensor.
std::string held_text(const TensorCut& cut) {
    std::uint64_t rows = 0;
    std::uint64_t columns = 0;
    bool alike = true;
    for (const CutBox& box : cut.boxes) {
        const std::uint64_t height = box.row_end - box.row_first;
        const std::uint64_t width = box.col_end - box.col_first;
        alike = alike && (rows == 0 || (rows == height && columns == width));
        rows = std::max(rows, height);
        columns = std::max(columns, width);
    }
    return (alike ? "each " : "max ") + shape_text(rows, columns);
}

/// Whose layout it is: the name of the only one, where there is room for it.
std::string users_text(const Pen& pen, const std::vector<std::string>& users, float room) {
    if (users.size() == 1 && pen.width(users.front(), kSoft) <= room) return users.front();
    return fmt::format("{} replica{}", users.size(), users.size() == 1 ? "" : "s");
}

/// Title and two lines around the box that is left for the tensor.
Rect draw_frame(Pen& pen, const Rect& box, const std::string& title, const std::string& below) {
    pen.text(box.x0, box.y0 + pen.px(kLine / 2), pen.fitted(title, box.width(), kTitle), kTitle);
    pen.text(box.x0, box.y1 - pen.px(kLine / 2), pen.fitted(below, box.width(), kSoft), kSoft);
    return {box.x0, box.y0 + pen.px(kLine + 2), box.x1, box.y1 - pen.px(kLine + 2)};
}

void draw_cut(Pen& pen, const Tensor& tensor, const TensorCut& cut, const Rect& box) {
    const std::string title = cut.layout.empty() ? "trainer" : cut.layout;
    if (cut.boxes.empty()) {
        const Rect inside = draw_frame(pen, box, title, "");
        pen.dashed_frame(inside, "soft");
        const float inset = pen.px(6);
        pen.paragraph({inside.x0 + inset, inside.y0 + inset, inside.x1 - inset, inside.y1},
                      cut.missing, kSoft);
        return;
    }
    Rect body = box;
    body.y1 -= pen.px(kLine);
    const Rect inside = draw_frame(pen, body, title, held_text(cut));
    pen.text(box.x0, box.y1 - pen.px(kLine / 2),
             pen.fitted(users_text(pen, cut.users, box.width()), box.width(), kSoft), kSoft);
    pen.fill(inside, "page");
    RankNames names(pen);
    names.within(inside.width());
    for (const CutBox& part : cut.boxes) {
        const Rect rect = place_of(inside, tensor, part);
        pen.fill(rect, kColors[part.ranks.front() % kColors.size()],
                 part.ranks.front() / kColors.size() % 2 == 0 ? 0.45F : 0.25F);
        pen.frame(rect, "panel");
    }
    for (const CutBox& part : cut.boxes) names.write(place_of(inside, tensor, part), part);
    pen.frame(inside, "soft");
}

/// The canonical tensor with its tiles, which no layout moves.
void draw_canonical(const PanelView& view, const Tensor& tensor, const Rect& box) {
    Pen& pen = view.pen;
    const std::vector<std::uint64_t>& tiles = view.scene.cuts.tiles;
    Rect body = box;
    body.y1 -= pen.px(kLine);
    const Rect inside =
        draw_frame(pen, body, "canonical", shape_text(tensor.rows, tensor.columns) + " words");
    pen.text(box.x0, box.y1 - pen.px(kLine / 2),
             pen.fitted(fmt::format("from word {}", tensor.first_word), box.width(), kSoft), kSoft);
    pen.fill(inside, "page");
    const auto shown = static_cast<float>(tiles.size());
    if (inside.height() > shown * pen.px(2.5F))
        for (std::size_t i = 1; i < tiles.size(); ++i) {
            const float y =
                inside.y0 + inside.height() * static_cast<float>(static_cast<double>(tiles[i]) /
                                                                 static_cast<double>(tensor.rows));
            pen.line({inside.x0, y, inside.x1, y}, "line");
        }
    pen.frame(inside, "soft");
    const TextStyle name{.size = 12, .align = Align::center};
    const std::string text =
        tiles.empty() ? "rows longer than a tile"
                      : fmt::format("{} tile{}", tiles.size(), tiles.size() == 1 ? "" : "s");
    const float half = pen.width(text, name) / 2 + pen.px(5);
    pen.fill({inside.middle_x() - half, inside.middle_y() - pen.px(9), inside.middle_x() + half,
              inside.middle_y() + pen.px(9)},
             "page");
    pen.text(inside.middle_x(), inside.middle_y(), pen.fitted(text, inside.width(), name), name);
}

void draw_arrow(Pen& pen, float x0, float x1, float y) {
    const float head = pen.px(5);
    pen.line({x0, y, x1, y}, "soft", 1.5F);
    pen.line({x1 - head, y - head, x1, y}, "soft", 1.5F);
    pen.line({x1 - head, y + head, x1, y}, "soft", 1.5F);
}

/// In one row where there are few layouts, else in two.
void draw_serving(const PanelView& view, const Tensor& tensor, const Rect& box) {
    Pen& pen = view.pen;
    const std::vector<TensorCut>& all = view.scene.cuts.serving;
    const std::size_t rows = all.size() > 3 ? 2 : 1;
    const auto fit = static_cast<std::size_t>(box.width() / pen.px(64)) * rows;
    const std::size_t shown = std::min(all.size(), std::max(rows, fit));
    const std::size_t columns = (shown + rows - 1) / rows;
    const float gap = pen.px(kGap);
    const float width = (box.width() + gap) / static_cast<float>(std::max<std::size_t>(1, columns));
    const float height = (box.height() + gap) / static_cast<float>(rows);
    for (std::size_t i = 0; i < shown; ++i) {
        const float x = box.x0 + width * static_cast<float>(i % columns);
        const float y = box.y0 + height * static_cast<float>(i / columns);
        draw_cut(pen, tensor, all[i], {x, y, x + width - gap, y + height - gap});
    }
    if (shown < all.size())
        pen.text(view.box.x1, view.box.y0 - pen.px(13),
                 fmt::format("and {} more layouts", all.size() - shown),
                 {.color = "soft", .size = 12, .align = Align::right});
}

}  // namespace

void draw_cuts(const PanelView& view) {
    Pen& pen = view.pen;
    if (!view.scene.tensor) {
        pen.text(view.box.x0, view.box.y0 + pen.px(10), "no tensors", {.color = "soft"});
        return;
    }
    const Tensor& tensor = view.scene.run.recording.cast.catalog.tensor(*view.scene.tensor);
    const std::string name = fmt::format("{}, {} words; rows run down, columns across", tensor.name,
                                         report::number(static_cast<double>(tensor.words)));
    pen.text(view.box.x0, view.box.y0 + pen.px(6), pen.fitted(name, view.box.width(), kSoft),
             kSoft);
    const float top = view.box.y0 + pen.px(22);
    const float arrow = pen.px(kArrow);
    const float side = view.box.width() * 0.19F;
    const Rect trainer{view.box.x0, top, view.box.x0 + side, view.box.y1};
    const Rect canonical{trainer.x1 + arrow, top, trainer.x1 + arrow + side, view.box.y1};
    const Rect serving{canonical.x1 + arrow, top, view.box.x1, view.box.y1};
    const float inset = pen.px(6);
    draw_cut(pen, tensor, view.scene.cuts.trainer, trainer);
    draw_arrow(pen, trainer.x1 + inset, canonical.x0 - inset, canonical.middle_y());
    draw_canonical(view, tensor, canonical);
    draw_arrow(pen, canonical.x1 + inset, serving.x0 - inset, canonical.middle_y());
    draw_serving(view, tensor, serving);
}

}  // namespace refit
