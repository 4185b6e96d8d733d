#include "engine/coords/tensor_layer.hpp"

#include <algorithm>
#include <string>

namespace refit {

std::optional<std::uint64_t> tensor_layer(std::string_view name) {
    for (std::size_t first = 0; first < name.size();) {
        const std::size_t end = std::min(name.find('.', first), name.size());
        const std::string_view part = name.substr(first, end - first);
        const bool number = !part.empty() && part.size() <= 9 &&
                            std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; });
        if (number) return std::stoull(std::string(part));
        first = end + 1;
    }
    return std::nullopt;
}

}  // namespace refit
