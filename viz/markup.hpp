// Text made safe for SVG and HTML, as content and inside attributes.
#pragma once

#include <string>
#include <string_view>

namespace refit {

/// & < > " as references, control bytes as spaces: attributes stand in double quotes.
std::string escaped(std::string_view text);

}  // namespace refit
