// The report's style sheet and player, as the files beside this one have them: CMake embeds them.
#pragma once

#include <string_view>

namespace refit::report {

extern const std::string_view kReportStyle;
extern const std::string_view kReportPlayer;

}  // namespace refit::report
