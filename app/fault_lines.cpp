#include "app/fault_lines.hpp"

#include <fmt/format.h>

namespace refit {

std::vector<std::string> fault_lines(const Timeline& timeline, const FaultWords& words) {
    std::vector<std::string> lines;
    const auto& names = timeline.node_names();
    std::vector<bool> down(names.size());
    std::uint64_t version = 0;
    for (const Event& event : timeline.events()) {
        const auto say = [&](const std::string& what) {
            lines.push_back(fmt::format("{:.1f} s: {}", to_seconds(event.at), what));
        };
        if (event.kind == EventKind::encode_begin) version = event.version;
        if (event.kind == EventKind::link_down) say("link " + words.link(event.index) + " cut");
        if (event.kind == EventKind::link_up) say("link " + words.link(event.index) + " back");
        if (event.node >= names.size()) continue;  // a damaged recording
        if (event.kind == EventKind::node_down) {
            say(names[event.node] + " down" + (words.detail ? words.detail(event, version) : ""));
            down[event.node] = true;
        }
        // A late replica that starts for the first time is no fault.
        if (event.kind == EventKind::node_up && down[event.node]) say(names[event.node] + " up");
    }
    return lines;
}

}  // namespace refit
