// Numbers for people. Documents carry plain numbers; these are for text alone.
#pragma once

#include <cstdint>
#include <string>

#include "engine/base/units.hpp"

namespace refit {

std::string format_count(std::uint64_t count);    // 4,574,272
std::string format_bytes(Bytes bytes);            // 512 B, 87.4 KiB, 8.73 MiB
std::string format_bit_rate(BitsPerSecond rate);  // 3.128 Gbit/s
std::string format_seconds(double seconds);       // 0.85 s, 12.3 s, 87.5 min

}  // namespace refit
