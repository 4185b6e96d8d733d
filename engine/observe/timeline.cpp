#include "engine/observe/timeline.hpp"

#include <array>

namespace refit {

namespace {

constexpr std::array<std::string_view, 31> kNames = {
    "step_ready",      "encode_begin",   "unit_encoded",   "part_durable",  "sealed",
    "chunk_sent",      "chunk_received", "chunk_repeated", "chunk_refused", "stage_begin",
    "part_staged",     "staged",         "prepared",       "decided",       "pause_begin",
    "overwrite_begin", "check_begin",    "applied",        "check_failed",  "serving",
    "refit_done",      "load_begin",     "store_read",     "loaded",        "joined",
    "connected",       "disconnected",   "node_down",      "node_up",       "link_down",
    "link_up"};
static_assert(kNames.size() == static_cast<std::size_t>(EventKind::link_up) + 1);

}  // namespace

std::string_view event_name(EventKind kind) { return kNames[static_cast<std::size_t>(kind)]; }

void Timeline::append(const Event& event) {
    REFIT_ASSERT(events_.empty() || event.at >= events_.back().at);
    events_.push_back(event);
}

}  // namespace refit
