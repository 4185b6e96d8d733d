// Seeds of the corpora, made by the real encoders: what every target starts from.
#pragma once

#include <string>
#include <vector>

#include "engine/base/bytes.hpp"

namespace refit::fuzz {

/// A few small inputs of the target of this name; none for a name that is no target's.
std::vector<ByteVector> seeds_of(const std::string& target);

}  // namespace refit::fuzz
