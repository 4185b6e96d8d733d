#include "viz/words_view.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "viz/panels/panel.hpp"
#include "viz/report/html.hpp"

namespace refit {

namespace {

constexpr float kStrip = 10;
constexpr float kLine = 16;
constexpr float kRow = 12.8F;
constexpr std::size_t kRowsMost = 24;
constexpr float kIndex = 88;
constexpr float kValues = 146;
constexpr float kBitGap = 4;  // around the exponent
constexpr float kField = 18;  // between base, mask and next
constexpr float kHex = 36;
constexpr float kBitMost = 7.6F;
constexpr TextStyle kSoft{.color = "soft", .size = 12};

/// Boxes side by side, the deeper the larger their share; the one at hand framed.
void draw_strip(Pen& pen,
                const Rect& box,
                const std::vector<std::optional<double>>& shares,
                std::size_t at) {
    double most = 0;
    for (const auto& share : shares) most = std::max(most, share.value_or(0));
    const float width = box.width() / static_cast<float>(shares.size());
    const float gap = width > pen.px(4) ? pen.px(1) : 0;
    pen.fill(box, "page");
    for (std::size_t i = 0; i < shares.size(); ++i) {
        const float x = box.x0 + width * static_cast<float>(i);
        const Rect rect{x, box.y0, x + width - gap, box.y1};
        if (!shares[i]) {
            pen.fill(rect, "line", 0.5F);
        } else if (*shares[i] > 0) {
            pen.fill(rect, "accent", 0.15F + 0.85F * static_cast<float>(*shares[i] / most));
        }
    }
    const float x = box.x0 + width * static_cast<float>(at);
    pen.frame(box, "line");
    pen.frame({x - pen.px(1), box.y0 - pen.px(2), x + width, box.y1 + pen.px(2)}, "payload", 2);
}

/// The columns of a row of words.
struct Columns {
    float base = 0;
    float mask = 0;
    float next = 0;
    float values = 0;
    float bit = 0;  // width
    bool hex = false;
    unsigned exponent = 8;  // bits

    float bit_x(float field, unsigned bit_from_left, float gap) const {
        float x = field + bit * static_cast<float>(bit_from_left);
        if (bit_from_left > 0) x += gap;
        if (bit_from_left > exponent) x += gap;
        return x;
    }
};

Columns make_columns(const PanelView& view, WordType type) {
    const Pen& pen = view.pen;
    Columns columns;
    columns.exponent = type == WordType::f16 ? 5 : 8;
    const float room = view.box.width() - pen.px(kIndex + kValues + 3 * (kField + 2 * kBitGap));
    columns.hex = room > pen.px(48 * 6.8F + 3 * kHex);
    columns.bit = std::min(pen.px(kBitMost), (room - (columns.hex ? 3 * pen.px(kHex) : 0)) / 48);
    const float field = 16 * columns.bit + pen.px(2 * kBitGap + kField + (columns.hex ? kHex : 0));
    columns.base = view.box.x0 + pen.px(kIndex);
    columns.mask = columns.base + field;
    columns.next = columns.mask + field;
    columns.values = columns.next + field;
    return columns;
}

/// 16 bits, those of `marked` on a dark ground.
void draw_bits(Pen& pen,
               const Columns& columns,
               float x,
               float y,
               std::uint32_t bits,
               std::uint32_t marked,
               const char* color) {
    for (unsigned bit = 0; bit < 16; ++bit) {
        const float left = columns.bit_x(x, bit, pen.px(kBitGap));
        const bool flipped = (marked >> (15 - bit) & 1) != 0;
        const float half = pen.px(kRow / 2 - 0.8F);
        if (flipped) pen.fill({left, y - half, left + columns.bit, y + half}, "payload");
        pen.text(left + columns.bit / 2, y, (bits >> (15 - bit) & 1) != 0 ? "1" : "0",
                 {.color = flipped ? "panel" : color,
                  .size = 12,
                  .digits = true,
                  .align = Align::center});
    }
    if (columns.hex)
        pen.text(columns.bit_x(x, 15, pen.px(kBitGap)) + columns.bit + pen.px(5), y,
                 fmt::format("{:04x}", bits), {.color = "soft", .size = 12, .digits = true});
}

void draw_row(
    const PanelView& view, const Columns& columns, const WordRow& row, float y, WordType type) {
    Pen& pen = view.pen;
    const bool changed = row.mask != 0;
    const char* color = changed ? "text" : "soft";
    const TextStyle digits{.color = color, .size = 12, .digits = true};
    pen.text(view.box.x0, y, std::to_string(row.index), digits);
    draw_bits(pen, columns, columns.base, y, row.base, 0, color);
    if (changed) draw_bits(pen, columns, columns.mask, y, row.mask, row.mask, "soft");
    draw_bits(pen, columns, columns.next, y, row.next, row.mask, color);
    std::string values = word_text(type, row.base);
    if (changed) values += " to " + word_text(type, row.next);
    const TextStyle style{.color = color, .size = 12};
    pen.text(columns.values, y, pen.fitted(values, view.box.x1 - columns.values, style), style);
}

void draw_heads(const PanelView& view, const Columns& columns, WordType type, float y) {
    Pen& pen = view.pen;
    const bool half = type == WordType::f16;
    pen.text(view.box.x0, y, "word", kSoft);
    pen.text(columns.base, y, half ? "base: 1, 5, 10 bits" : "base: 1, 8, 7 bits", kSoft);
    pen.text(columns.mask, y, "mask", kSoft);
    pen.text(columns.next, y, "next", kSoft);
    pen.text(columns.values, y, half ? "as F16 numbers" : "as BF16 numbers", kSoft);
}

std::string tile_text(const TileWords& tile) {
    std::string text =
        fmt::format("version {} to {}: tile {} of {} of the tensor", tile.version - 1, tile.version,
                    tile.tile + 1, tile.tiles.size());
    if (tile.piece.words < tile.base.size()) text += ", shared with other tensors";
    const auto looked =
        std::ranges::count_if(tile.tiles, [](const auto& s) { return s.has_value(); });
    if (static_cast<std::size_t>(looked) < tile.tiles.size())
        text += fmt::format(", the first {} looked at", looked);
    return text + "; fuller colour: more words changed";
}

void draw_proof(const PanelView& view, const TileWords& tile, const WordsView& words, float y) {
    Pen& pen = view.pen;
    const bool exact = words.exact(tile);
    const std::string proof =
        exact
            ? fmt::format(
                  "base XOR mask is next in all {} words of the tile; {} changed, as its {} of "
                  "{} say",
                  report::number(static_cast<double>(words.words)),
                  report::number(static_cast<double>(words.changed)),
                  report::bytes_text(static_cast<double>(tile.delta_bytes)), tile.codec)
            : fmt::format("{} words where base XOR mask is not next; {} changed, the delta says {}",
                          words.mismatches, words.changed, tile.delta_changed);
    const TextStyle style{.color = exact ? "verified" : "wrong", .size = 12.5F};
    float x = view.box.x0;
    const Rect sign{x, y - pen.px(5), x + pen.px(10), y + pen.px(5)};
    if (exact) {
        pen.line({sign.x0, y, sign.x0 + pen.px(4), sign.y1 - pen.px(1)}, "verified", 2);
        pen.line({sign.x0 + pen.px(4), sign.y1 - pen.px(1), sign.x1, sign.y0}, "verified", 2);
    } else {
        pen.cross(sign, "wrong", 2);
    }
    x += pen.px(17);
    pen.text(x, y, pen.fitted(proof, view.box.x1 - x, style), style);
    y += pen.px(kLine);
    pen.text(view.box.x0, y, pen.fitted(tile.source, view.box.width(), kSoft), kSoft);
}

/// Two strips: the tensor's tiles, and the segments of the one at hand. Where the rows may begin.
float draw_strips(const PanelView& view, const TileWords& tile, const WordsView& words) {
    Pen& pen = view.pen;
    float y = view.box.y0;
    const auto strip = [&](const std::string& name,
                           const std::vector<std::optional<double>>& shares, std::size_t at) {
        pen.text(view.box.x0, y + pen.px(kLine / 2), pen.fitted(name, view.box.width(), kSoft),
                 kSoft);
        y += pen.px(kLine + 2);
        draw_strip(pen, {view.box.x0 + pen.px(1), y, view.box.x1 - pen.px(1), y + pen.px(kStrip)},
                   shares, at);
        y += pen.px(kStrip + 4);
    };
    strip(tile_text(tile), tile.tiles, tile.tile);
    const std::vector<std::optional<double>> segments(words.segments.begin(), words.segments.end());
    strip(fmt::format("the tile's {} segments of 4096 words; framed: the words below",
                      segments.size()),
          segments, words.segment);
    return y;
}

}  // namespace

void draw_words(const PanelView& view) {
    Pen& pen = view.pen;
    const auto& progress = view.scene.progress;
    std::uint64_t version = view.now.version();
    if (version == 0 && !progress.empty()) version = progress.front().version;
    const auto tile = view.scene.words ? view.scene.words(version) : nullptr;
    if (tile == nullptr || !tile->missing.empty()) {
        pen.paragraph(view.box, tile == nullptr ? "No words were asked for." : tile->missing,
                      {.color = "soft"});
        return;
    }
    const float foot = view.box.y1 - pen.px(2 * kLine + 5);
    const WordsView words = view_words(*tile, kRowsMost);
    float y = draw_strips(view, *tile, words) + pen.px(kLine / 2);
    const Columns columns = make_columns(view, tile->type);
    draw_heads(view, columns, tile->type, y);
    y += pen.px(kLine / 2 + kRow / 2);
    for (const WordRow& row : words.rows) {
        if (y + pen.px(kRow / 2) > foot) break;
        draw_row(view, columns, row, y, tile->type);
        y += pen.px(kRow);
    }
    draw_proof(view, *tile, words, foot + pen.px(5 + kLine / 2));
}

}  // namespace refit
