#include "viz/codec_view.hpp"

#include <fmt/format.h>

#include "viz/panels/panel.hpp"
#include "viz/report/html.hpp"

namespace refit {

namespace {

constexpr float kHead = 18;
constexpr float kFoot = 20;
constexpr float kNotes = 228;  // pixels right of the bars
constexpr float kRowLeast = 16;
constexpr float kRowMost = 30;
constexpr TextStyle kSoft{.color = "soft", .size = 12};
constexpr TextStyle kName{.size = 12, .align = Align::right};

/// Where the bars are.
struct Plot {
    Rect box;
    const LogAxis& axis;

    float x(double bits) const {
        return box.x0 + box.width() * static_cast<float>(axis.share(bits));
    }
};

void draw_interval(Pen& pen, const Plot& plot, const CodecBar& bar, const Rect& box) {
    const float x0 = plot.x(bar.ci95->first);
    const float x1 = plot.x(bar.ci95->second);
    const float y = box.middle_y();
    const float half = pen.px(4);
    pen.line({x0, y, x1, y}, "text", 1.3F);
    pen.line({x0, y - half, x0, y + half}, "text", 1.3F);
    pen.line({x1, y - half, x1, y + half}, "text", 1.3F);
}

void draw_bar(const PanelView& view, const Plot& plot, const CodecBar& bar, float y, float row) {
    Pen& pen = view.pen;
    const Rect box{plot.box.x0, y + row * 0.14F,
                   std::max(plot.x(bar.bits), plot.box.x0 + pen.px(2)), y + row * 0.86F};
    if (bar.of == CodecBar::Of::refit) {
        pen.fill(box, "accent", 0.35F);
        pen.frame(box, "accent");
    } else {
        pen.fill(box, bar.of == CodecBar::Of::run ? "accent" : "bubble");
    }
    if (bar.ci95) draw_interval(pen, plot, bar, box);
    const float middle = y + row / 2;
    pen.text(plot.box.x0 - pen.px(8), middle,
             pen.fitted(bar.name, plot.box.x0 - view.box.x0 - pen.px(8), kName), kName);
    const TextStyle value{.size = 12, .digits = true};
    const std::string bits = report::number(bar.bits);
    const float x = plot.box.x1 + pen.px(8);
    pen.text(x, middle, bits, value);
    const float note = x + pen.px(52);
    pen.text(note, middle, pen.fitted(bar.note, view.box.x1 - note, kSoft), kSoft);
}

void draw_bound(Pen& pen, const Plot& plot, double bound) {
    const float x = plot.x(bound);
    pen.line({x, plot.box.y0 - pen.px(3), x, plot.box.y1}, "payload", 2);
}

void draw_note(const PanelView& view, const CodecView& codec) {
    Pen& pen = view.pen;
    const float y = view.box.y1 - pen.px(8);
    float x = view.box.x0;
    if (codec.bound > 0) {
        pen.line({x + pen.px(3), y - pen.px(6), x + pen.px(3), y + pen.px(6)}, "payload", 2);
        x += pen.px(12);
    }
    std::string text = codec.bound > 0
                           ? fmt::format("Bound: {} bit, {}. ", report::number(codec.bound),
                                         codec.bound_provenance)
                           : std::string("No bound is recorded. ");
    text += "Codec: " + codec.provenance + ". Whole checkpoints grey.";
    pen.text(x, y, pen.fitted(text, view.box.x1 - x, kSoft), kSoft);
}

}  // namespace

void draw_codecs(const PanelView& view) {
    Pen& pen = view.pen;
    const auto& record = view.scene.run.record;
    if (!record.is_object()) {
        pen.text(view.box.x0, view.box.y0 + pen.px(10), "no record", {.color = "soft"});
        return;
    }
    const CodecView codec = view_codec(record);
    if (codec.axis.decades == 0) return;
    float label = 0;
    for (const CodecBar& bar : codec.bars) label = std::max(label, pen.width(bar.name, kName));
    label = std::min(label, view.box.width() * 0.3F) + pen.px(8);
    const Plot plot{{view.box.x0 + label, view.box.y0 + pen.px(kHead), view.box.x1 - pen.px(kNotes),
                     view.box.y1 - pen.px(kFoot)},
                    codec.axis};
    draw_log_axis(view, plot.box, plot.axis, "bit");
    const float room = plot.box.height();
    const auto fit = static_cast<std::size_t>(std::max(1.0F, room / pen.px(kRowLeast)));
    const std::size_t shown = std::min(codec.bars.size(), fit);
    const float row = std::min(pen.px(kRowMost), room / static_cast<float>(shown));
    for (std::size_t i = 0; i < shown; ++i)
        draw_bar(view, plot, codec.bars[i], plot.box.y0 + row * static_cast<float>(i), row);
    if (codec.bound > 0) draw_bound(pen, plot, codec.bound);
    draw_note(view, codec);
    if (shown < codec.bars.size())
        pen.text(view.box.x1, view.box.y0 - pen.px(13),
                 fmt::format("and {} more refits", codec.bars.size() - shown),
                 {.color = "soft", .size = 12, .align = Align::right});
}

}  // namespace refit
