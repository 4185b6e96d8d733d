#include "kernels/cuda/busy.hpp"

#include <algorithm>
#include <vector>

#include "kernels/check.hpp"

namespace refit {
namespace {

/// From here on so many more intervals are open.
struct Turn {
    std::int64_t at = 0;
    int load = 0;
    int codec = 0;
};

void add_turns(const DeviceSpan& window,
               std::span<const DeviceSpan> spans,
               int Turn::*open,
               std::vector<Turn>& turns) {
    for (const DeviceSpan& span : spans) {
        REFIT_KERNEL_CHECK(span.begin <= span.end);
        const std::int64_t begin = std::max(span.begin, window.begin);
        const std::int64_t end = std::min(span.end, window.end);
        if (begin >= end) continue;
        for (const auto& [at, more] : {std::pair{begin, 1}, std::pair{end, -1}}) {
            turns.push_back({at});
            turns.back().*open = more;
        }
    }
}

}  // namespace

BusyAccount& BusyAccount::operator+=(const BusyAccount& other) {
    load += other.load;
    stolen += other.stolen;
    beside += other.beside;
    idle += other.idle;
    return *this;
}

BusyAccount account_busy(const DeviceSpan& window,
                         std::span<const DeviceSpan> load,
                         std::span<const DeviceSpan> codec) {
    REFIT_KERNEL_CHECK(window.begin <= window.end);
    std::vector<Turn> turns;
    add_turns(window, load, &Turn::load, turns);
    add_turns(window, codec, &Turn::codec, turns);
    turns.push_back({window.end});
    std::ranges::sort(turns, {}, &Turn::at);
    BusyAccount account;
    Turn now{window.begin};
    for (const Turn& turn : turns) {
        const std::int64_t time = turn.at - now.at;
        if (now.codec > 0) {
            account.stolen += time;
            account.beside += now.load > 0 ? time : 0;
        } else {
            (now.load > 0 ? account.load : account.idle) += time;
        }
        now = {turn.at, now.load + turn.load, now.codec + turn.codec};
    }
    return account;
}

}  // namespace refit
