#include "viz/story_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

namespace refit {

namespace {

struct Telling {
    EventKind kind;
    const char* what;  // {0}: version, {1}: the peer's name
    bool trouble = false;
};

constexpr std::array<Telling, 17> kTellings = {
    {{EventKind::step_ready, "has the final weights of version {0}"},
     {EventKind::encode_begin, "began to encode version {0}"},
     {EventKind::sealed, "sealed the delta to version {0}"},
     {EventKind::staged, "staged version {0}"},
     {EventKind::decided, "version {0} is decided"},
     {EventKind::pause_begin, "paused for version {0}"},
     {EventKind::applied, "read version {0} back, exact"},
     {EventKind::check_failed, "read version {0} back, NOT exact", true},
     {EventKind::serving, "took up version {0}"},
     {EventKind::refit_done, "every member serves version {0}"},
     {EventKind::load_begin, "began to load version {0} from the store"},
     {EventKind::loaded, "loaded version {0}"},
     {EventKind::joined, "{1} is a member from now on"},
     {EventKind::connected, "gets chunks from {1}"},
     {EventKind::disconnected, "lost {1}", true},
     {EventKind::node_down, "is down", true},
     {EventKind::node_up, "is back"}}};

/// Somebody who did the same for the same version joins the line that tells it.
struct Group {
    EventKind kind{};
    std::uint64_t version = 0;
    std::set<NodeId> nodes;
    StoryLine line;
};

class Teller {
public:
    Teller(const SavedRun& run, std::size_t lines) : run_(run), lines_(lines) {}

    /// False once enough has been told.
    bool tell(const Event& event) {
        if (event.kind == EventKind::link_down || event.kind == EventKind::link_up)
            return begin(event, {event.at, "", link_text(event), is_down(event)});
        const auto* telling = std::ranges::find(kTellings, event.kind, &Telling::kind);
        // At the beginning everybody connects.
        const bool first = event.kind == EventKind::connected && event.at.count == 0;
        if (telling == kTellings.end() || first) return true;
        for (Group& group : groups_) {
            if (group.kind != event.kind || group.version != event.version || is_own(event.kind))
                continue;
            group.nodes.insert(event.node);
            return true;
        }
        const std::string what =
            fmt::format(fmt::runtime(telling->what), event.version, name(event.peer));
        return begin(event, {event.at, speaker(event), what, telling->trouble});
    }

    std::vector<StoryLine> finish() {
        std::vector<StoryLine> story;
        for (Group& group : groups_) {
            if (group.nodes.size() > 1)
                group.line.who += fmt::format(" and {} more", group.nodes.size() - 1);
            story.push_back(std::move(group.line));
        }
        std::ranges::reverse(story);
        return story;
    }

private:
    bool begin(const Event& event, StoryLine line) {
        if (groups_.size() == lines_) return false;
        groups_.push_back({event.kind, event.version, {event.node}, std::move(line)});
        return true;
    }

    /// What is told of each node by itself.
    static bool is_own(EventKind kind) {
        return kind == EventKind::connected || kind == EventKind::disconnected ||
               kind == EventKind::node_down || kind == EventKind::node_up ||
               kind == EventKind::joined || kind == EventKind::check_failed;
    }
    static bool is_down(const Event& event) { return event.kind == EventKind::link_down; }

    std::string name(NodeId node) const { return node == kNoNode ? "" : run_.node_name(node); }

    /// The coordinator speaks for the whole run.
    std::string speaker(const Event& event) const {
        const bool of_run = event.kind == EventKind::decided || event.kind == EventKind::joined ||
                            event.kind == EventKind::refit_done;
        return of_run ? "" : name(event.node);
    }

    std::string link_text(const Event& event) const {
        const char* state = is_down(event) ? "is cut" : "is back";
        const auto& links = run_.recording.cast.links;
        if (event.index >= links.size()) return fmt::format("link {} {}", event.index, state);
        return fmt::format("link {} - {} {}", links[event.index].from, links[event.index].to,
                           state);
    }

    const SavedRun& run_;
    std::size_t lines_;
    std::vector<Group> groups_;  // newest first
};

}  // namespace

std::vector<StoryLine> tell_story(const SavedRun& run, Nanoseconds at, std::size_t lines) {
    const auto& events = run.recording.timeline.events();
    auto end = std::ranges::upper_bound(events, at, {}, &Event::at);
    Teller teller(run, lines);
    while (end != events.begin() && teller.tell(*--end)) {
    }
    return teller.finish();
}

}  // namespace refit
