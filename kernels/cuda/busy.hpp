// What a device did in a window of time, from the intervals in which its work was under way.
//
// Times     whole nanoseconds of one clock; an interval is [begin, end), in any order, overlapping
//           or not; what lies outside the window does not count.
// Account   load + stolen + idle is the window, to the nanosecond. `load`: only load was under way;
//           `stolen`: codec work was, with load beside it (`beside`) or without; `idle`: neither.
// Errors    none for data; an interval or a window that ends before it begins aborts.
#pragma once

#include <cstdint>
#include <span>

namespace refit {

struct DeviceSpan {
    std::int64_t begin = 0;
    std::int64_t end = 0;

    friend bool operator==(const DeviceSpan&, const DeviceSpan&) = default;
};

struct BusyAccount {
    std::int64_t load = 0;
    std::int64_t stolen = 0;
    std::int64_t beside = 0;  // of `stolen`
    std::int64_t idle = 0;

    std::int64_t window() const { return load + stolen + idle; }
    BusyAccount& operator+=(const BusyAccount& other);

    friend bool operator==(const BusyAccount&, const BusyAccount&) = default;
};

BusyAccount account_busy(const DeviceSpan& window,
                         std::span<const DeviceSpan> load,
                         std::span<const DeviceSpan> codec);

}  // namespace refit
