// What broke in a run, in words: one line for each fault that struck, with its time.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/observe/timeline.hpp"

namespace refit {

struct FaultWords {
    /// The ends of a WAN link: "us-east <-> eu-west".
    std::function<std::string(std::uint32_t link)> link;
    /// Said behind a node that went down; empty: nothing.
    std::function<std::string(const Event& down, std::uint64_t version_in_flight)> detail{};
};

std::vector<std::string> fault_lines(const Timeline& timeline, const FaultWords& words);

}  // namespace refit
