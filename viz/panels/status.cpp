#include <fmt/format.h>

#include <algorithm>

#include "viz/panels/panel.hpp"
#include "viz/report/html.hpp"

namespace refit {

namespace {

using Json = nlohmann::ordered_json;

/// One figure of the strip: what it is, its value, and what the value means or where it is from.
struct Item {
    std::string name;
    std::string value;
    std::string note;
    const char* color = "text";
};

std::string percent(double share) { return report::number(100 * share) + " %"; }

Item phase_item(const Moment& now) {
    const Snapshot& state = now.snapshot;
    return {"phase", std::string(phase_name(state.phase)),
            fmt::format("version {}, decided {}", state.version, state.decided), "accent"};
}

Item time_item(const PanelView& view) {
    return {"time", report::seconds_text(to_seconds(view.now.at)),
            "of " + report::seconds_text(to_seconds(view.scene.run.end()))};
}

/// The mean of what the replicas that are there hold of the delta in flight.
Item delivered_item(const PanelView& view) {
    const Snapshot& state = view.now.snapshot;
    const auto& nodes = view.scene.run.recording.cast.tree.nodes;
    double held = 0;
    std::size_t replicas = 0;
    for (NodeId id = 0; id < nodes.size(); ++id) {
        if (nodes[id].role != NodeRole::replica) continue;
        if (state.nodes[id].activity == Activity::absent) continue;
        ++replicas;
        held += double{view.scene.held(state.nodes[id], state.version)};
    }
    const double share = replicas == 0 ? 0 : held / static_cast<double>(replicas);
    return {"delivered", percent(share), fmt::format("to {} replicas", replicas), "receive"};
}

Item rate_item(const PanelView& view) {
    const double rate = view.scene.bit_rate(view.now.at);
    return {"between sites now", report::number(rate / 1e9) + " Gbit/s",
            view.scene.run.record.is_object() ? "at the model's size" : "", "receive"};
}

Item exact_item(const PanelView& view) {
    const Snapshot& state = view.now.snapshot;
    const bool wrong = state.checks_failed > 0;
    const std::string note =
        wrong ? fmt::format("{} failed", state.checks_failed) : std::string("none failed");
    return {"resident checks", fmt::format("{} passed", state.checks_passed), note,
            wrong ? "wrong" : "verified"};
}

Item idle_item(const PanelView& view) {
    IdleUntil all;
    for (const LaneRow& row : view.scene.rows) {
        const IdleUntil of_row = idle_until(view.scene.run, row, view.now.at);
        all.idle += of_row.idle;
        all.all += of_row.all;
    }
    return {"replicas idle", percent(all.share()), "of their time so far"};
}

/// What the record says of the whole run.
void add_record_items(const Json& record, std::vector<Item>& items) {
    const Json& seconds = record["refit"]["seconds"];
    items.push_back({"a refit takes", report::seconds_text(seconds["value"].get<double>()),
                     seconds["provenance"]});
    if (!record["full"].contains("seconds")) return;
    const Json& speedup = record["speedup"];
    items.push_back({"faster than full", report::number(speedup["value"].get<double>()) + "x",
                     record["full"]["codec"].get<std::string>() + ", " +
                         speedup["provenance"].get<std::string>(),
                     "accent"});
}

/// "4,574,272", "1026 billion".
std::string count_text(double words) {
    return words < 1e8 ? report::number(words) : words_text({words, words});
}

std::string subtitle(const Json& record) {
    if (!record.is_object()) return "no record: the run did not end";
    const double words = record["model"]["parameters"].get<double>();
    const double stands = record["model"]["stands_for_parameters"].get<double>();
    std::string text = fmt::format("{}: {} parameters", record["model"]["name"].get<std::string>(),
                                   count_text(words));
    if (words != stands) text += ", timed as " + count_text(stands);
    return text + "; codec " + record["codec"]["name"].get<std::string>();
}

}  // namespace

void draw_status(const PanelView& view) {
    Pen& pen = view.pen;
    const auto& record = view.scene.run.record;
    const float title_y = view.box.y0 + pen.px(12);
    constexpr TextStyle kTitle{.size = 15};
    constexpr TextStyle kSubtitle{.color = "soft", .size = 13, .align = Align::right};
    const std::string more = subtitle(record);
    const float room = view.box.width() - pen.width(more, kSubtitle) - pen.px(20);
    pen.text(view.box.x0, title_y, pen.fitted(view.scene.run.recording.cast.title, room, kTitle),
             kTitle);
    pen.text(view.box.x1, title_y, more, kSubtitle);

    std::vector<Item> items = {phase_item(view.now), time_item(view), delivered_item(view),
                               rate_item(view)};
    if (record.is_object()) add_record_items(record, items);
    items.push_back(exact_item(view));
    items.push_back(idle_item(view));
    const float step = view.box.width() / static_cast<float>(items.size());
    float x = view.box.x0;
    for (const Item& item : items) {
        const TextStyle small{.color = "soft", .size = 12};
        pen.text(x, view.box.y0 + pen.px(34), item.name, small);
        const TextStyle large{.color = item.color, .size = 18, .digits = true};
        pen.text(x, view.box.y0 + pen.px(51), pen.fitted(item.value, step - pen.px(8), large),
                 large);
        pen.text(x, view.box.y0 + pen.px(68), pen.fitted(item.note, step - pen.px(8), small),
                 small);
        x += step;
    }
}

}  // namespace refit
