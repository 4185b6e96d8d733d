#include "kernels/simt/warp.hpp"

#include <algorithm>

namespace refit::simt {
namespace {

std::uint64_t reduced(WarpOp op, std::uint64_t sum, std::uint64_t value) {
    switch (op) {
        case WarpOp::reduce_add:
            return (sum + value) & 0xFFFFFFFFu;
        case WarpOp::reduce_min:
            return std::min(sum, value);
        case WarpOp::reduce_max:
            return std::max(sum, value);
        case WarpOp::reduce_and:
        case WarpOp::all:
            return sum & value;
        case WarpOp::reduce_or:
        case WarpOp::any:
            return sum | value;
        default:
            return sum ^ value;
    }
}

}  // namespace

const char* warp_op_name(WarpOp op) {
    static constexpr const char* kNames[] = {
        "__syncwarp",        "__ballot_sync",     "__all_sync",        "__any_sync",
        "__match_any_sync",  "__reduce_add_sync", "__reduce_min_sync", "__reduce_max_sync",
        "__reduce_and_sync", "__reduce_or_sync",  "__reduce_xor_sync", "__shfl_sync",
        "__shfl_up_sync",    "__shfl_down_sync",  "__shfl_xor_sync"};
    return kNames[static_cast<std::size_t>(op)];
}

LaneValues warp_results(WarpOp op, unsigned mask, const LaneValues& values) {
    LaneValues results{};
    std::uint64_t sum = 0;
    std::uint64_t bits = 0;
    bool first = true;
    for (unsigned i = 0; i < kWarpLanes; ++i) {
        if ((mask >> i & 1u) == 0) continue;
        bits |= (values[i] & 1u) << i;
        sum = first ? values[i] : reduced(op, sum, values[i]);
        first = false;
        if (op != WarpOp::match_any) continue;
        for (unsigned j = 0; j < kWarpLanes; ++j) {
            if ((mask >> j & 1u) != 0 && values[j] == values[i])
                results[i] |= std::uint64_t{1} << j;
        }
    }
    if (op == WarpOp::match_any || op == WarpOp::sync) return results;
    results.fill(op == WarpOp::ballot ? bits : sum);
    return results;
}

}  // namespace refit::simt
