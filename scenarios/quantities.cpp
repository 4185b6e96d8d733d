#include <fmt/format.h>

#include <limits>
#include <span>

#include "scenarios/scenario.hpp"

namespace refit {
namespace {

struct Unit {
    std::string_view name;
    std::uint64_t factor;
};

constexpr std::uint64_t kKilo = 1'000;
constexpr std::uint64_t kMega = 1'000'000;
constexpr std::uint64_t kGiga = 1'000'000'000;
constexpr std::uint64_t kTera = 1'000'000'000'000;
constexpr std::uint64_t kPeta = 1'000'000'000'000'000;

constexpr Unit kByteUnits[] = {{"B", 1},          {"KiB", 1u << 10}, {"MiB", 1u << 20},
                               {"GiB", 1u << 30}, {"kB", kKilo},     {"MB", kMega},
                               {"GB", kGiga},     {"TB", kTera}};
constexpr Unit kBitRateUnits[] = {
    {"bit/s", 1}, {"kbit/s", kKilo}, {"Mbit/s", kMega}, {"Gbit/s", kGiga}, {"Tbit/s", kTera}};
constexpr Unit kByteRateUnits[] = {{"B/s", 1},          {"kB/s", kKilo},    {"MB/s", kMega},
                                   {"GB/s", kGiga},     {"TB/s", kTera},    {"KiB/s", 1u << 10},
                                   {"MiB/s", 1u << 20}, {"GiB/s", 1u << 30}};
constexpr Unit kFlopRateUnits[] = {{"FLOP/s", 1},
                                   {"GFLOP/s", kGiga},
                                   {"TFLOP/s", kTera},
                                   {"PFLOP/s", kPeta},
                                   {"EFLOP/s", 1000 * kPeta}};
constexpr Unit kDurationUnits[] = {{"ns", 1},    {"us", kKilo},       {"ms", kMega},
                                   {"s", kGiga}, {"min", 60 * kGiga}, {"h", 3600 * kGiga}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

__extension__ using Wide = unsigned __int128;

struct Decimal {
    std::uint64_t digits = 0;
    std::uint64_t scale = 1;  // value = digits / scale
};

/// Takes a plain decimal off the front of `text`; at most 18 digits, so nothing can overflow.
std::optional<Decimal> take_decimal(std::string_view& text) {
    Decimal decimal;
    bool point = false;
    std::size_t used = 0;
    std::size_t digits = 0;
    for (; used < text.size() && (is_digit(text[used]) || (text[used] == '.' && !point)); ++used) {
        if (text[used] == '.') {
            point = true;
            continue;
        }
        if (++digits > 18) return std::nullopt;
        decimal.digits = decimal.digits * 10 + static_cast<std::uint64_t>(text[used] - '0');
        if (point) decimal.scale *= 10;
    }
    if (digits == 0 || !is_digit(text[0]) || !is_digit(text[used - 1])) return std::nullopt;
    text.remove_prefix(used);
    return decimal;
}

/// Exact: a decimal that is no whole number of the smallest unit is refused, never rounded.
Result<std::uint64_t> parse_quantity(std::string_view text,
                                     std::string_view what,
                                     std::span<const Unit> units) {
    const auto refuse = [&](const std::string& reason) {
        return Error{ErrorCode::invalid_input, fmt::format("\"{}\" {}", text, reason)};
    };
    std::string_view rest = text;
    const auto decimal = take_decimal(rest);
    while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);

    const Unit* unit = nullptr;
    std::string names;
    for (const Unit& known : units) {
        if (known.name == rest) unit = &known;
        names += (names.empty() ? "" : ", ") + std::string(known.name);
    }
    if (!decimal || unit == nullptr) {
        return refuse("is not " + std::string(what) + "; write a number and one of " + names);
    }
    const Wide scaled = Wide{decimal->digits} * unit->factor;
    if (scaled % decimal->scale != 0) {
        return refuse("is not a whole number of " + std::string(units.front().name));
    }
    const Wide value = scaled / decimal->scale;
    if (value > Wide{std::numeric_limits<std::int64_t>::max()}) return refuse("is too large");
    return static_cast<std::uint64_t>(value);
}

}  // namespace

Result<Bytes> parse_bytes(std::string_view text) {
    REFIT_TRY(count, parse_quantity(text, "a size", kByteUnits));
    return Bytes{count};
}

Result<BitsPerSecond> parse_bit_rate(std::string_view text) {
    REFIT_TRY(count, parse_quantity(text, "a bit rate", kBitRateUnits));
    return BitsPerSecond{count};
}

Result<BytesPerSecond> parse_byte_rate(std::string_view text) {
    REFIT_TRY(count, parse_quantity(text, "a byte rate", kByteRateUnits));
    return BytesPerSecond{count};
}

Result<FlopPerSecond> parse_flop_rate(std::string_view text) {
    REFIT_TRY(count, parse_quantity(text, "a rate of computing", kFlopRateUnits));
    return FlopPerSecond{count};
}

Result<Nanoseconds> parse_duration(std::string_view text) {
    REFIT_TRY(count, parse_quantity(text, "a duration", kDurationUnits));
    return Nanoseconds{static_cast<std::int64_t>(count)};
}

}  // namespace refit
