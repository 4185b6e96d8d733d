#include "app/format.hpp"

#include <fmt/format.h>

namespace refit {
namespace {

/// Three significant digits, at least as many as the whole part needs.
std::string three_digits(double value) {
    return fmt::format("{:.{}f}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0);
}

}  // namespace

std::string format_count(std::uint64_t count) {
    const std::string digits = std::to_string(count);
    std::string grouped;
    for (std::size_t i = 0; i < digits.size(); ++i) {
        if (i > 0 && (digits.size() - i) % 3 == 0) grouped += ',';
        grouped += digits[i];
    }
    return grouped;
}

std::string format_bytes(Bytes bytes) {
    if (bytes.count < 1024) return fmt::format("{} B", bytes.count);
    constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB"};
    double value = static_cast<double>(bytes.count) / 1024;
    std::size_t unit = 0;
    while (value >= 1023.5 && unit < 3) {
        value /= 1024;
        ++unit;
    }
    return three_digits(value) + " " + kUnits[unit];
}

std::string format_bit_rate(BitsPerSecond rate) {
    constexpr const char* kUnits[] = {"bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"};
    auto value = static_cast<double>(rate.count);
    std::size_t unit = 0;
    while (value >= 1000 && unit < 4) {
        value /= 1000;
        ++unit;
    }
    return fmt::format("{:.4g} {}", value, kUnits[unit]);
}

std::string format_seconds(double seconds) {
    if (seconds < 600) return three_digits(seconds) + " s";
    return three_digits(seconds / 60) + " min";
}

}  // namespace refit
