// Which layer of a model a tensor belongs to, by its name.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace refit {

/// The first all-digit component of a name; more than nine digits name no layer.
std::optional<std::uint64_t> tensor_layer(std::string_view name);

}  // namespace refit
