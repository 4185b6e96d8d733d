// Where threads of a launch meet: the block's barrier, and the intrinsics of a warp.
#include <string>

#include "kernels/simt/launch.hpp"
#include "kernels/simt/sanitizers.hpp"
#include "kernels/simt/warp.hpp"

namespace refit::simt {
namespace {

std::string mask_text(unsigned mask) {
    constexpr char kDigits[] = "0123456789abcdef";
    std::string text = "0x";
    for (int shift = 28; shift >= 0; shift -= 4) text += kDigits[mask >> shift & 15];
    return text;
}

}  // namespace

void Launch::barrier(Place place) {
    Thread& me = *current_;
    Block& block = *me.block;
    ++queue_.counters.barriers;
    idle_yields_ = 0;
    me.place = place;
    for (const Thread& other : block.threads) {
        if (block.live == block.threads.size()) break;
        if (other.state == State::done)
            misuse(place, "__syncthreads after thread " + std::to_string(other.index) +
                              " has left the kernel");
    }
    const Thread* first = block.first_at_barrier;
    if (first != nullptr && first->place != place)
        misuse(place, "__syncthreads in a branch: thread " + std::to_string(first->index) +
                          " is at the one in line " + std::to_string(first->place.line));
    if (first == nullptr) block.first_at_barrier = &me;
    void* meeting = block.barrier.address();
    release_order(meeting);
    me.state = State::at_barrier;
    if (++block.at_barrier == block.threads.size()) release_barrier(block);
    wait();
    acquire_order(meeting);
}

void Launch::release_barrier(Block& block) {
    block.at_barrier = 0;
    block.first_at_barrier = nullptr;
    ++block.barrier.turn;
    for (Thread& thread : block.threads) make_ready(thread);
}

std::uint64_t Launch::warp_call(const WarpCall& asked, Place place) {
    Thread& me = *current_;
    ++queue_.counters.warp_calls;
    idle_yields_ = 0;
    WarpCall call = asked;
    call.mask &= me.block->warp_mask(me);
    me.place = place;
    check_warp(call, place);
    me.call = call;
    me.state = State::in_warp;
    const unsigned lowest = static_cast<unsigned>(__builtin_ctz(call.mask));
    const bool orders = call.op == WarpOp::sync;  // the other intrinsics order no memory
    const Thread& first = me.block->warp_of(me)[lowest];
    void* meeting = me.block->warps[first.index].address();
    if (orders) release_order(meeting);
    if (warp_complete(call)) {
        release_warp(call);
        if (orders) ++me.block->warps[first.index].turn;
    }
    wait();
    if (orders) acquire_order(meeting);
    return me.result;
}

/// A lane that waits elsewhere with a mask that leaves us out may still come; one that waits for
/// us never will.
void Launch::check_warp(const WarpCall& call, Place place) {
    const Thread& me = *current_;
    const Thread* warp = me.block->warp_of(me);
    const std::string name = warp_op_name(call.op);
    if ((call.mask >> me.ids.lane & 1u) == 0)
        misuse(place, name + " with a mask that leaves out its own lane: " + mask_text(call.mask));
    if (is_shuffle(call.op) && (call.lane >= kWarpLanes || (call.mask >> call.lane & 1u) == 0))
        misuse(place, name + " reads lane " + std::to_string(call.lane) +
                          ", which is not in the mask " + mask_text(call.mask));
    for (unsigned i = 0; i < kWarpLanes; ++i) {
        if ((call.mask >> i & 1u) == 0) continue;
        const Thread& other = warp[i];
        if (other.state == State::done)
            misuse(place, name + " names a lane in its mask that has left the kernel: lane " +
                              std::to_string(i));
        if (other.state != State::in_warp || (other.call.mask >> me.ids.lane & 1u) == 0) continue;
        if (!other.call.meets(call) || other.place != place)
            misuse(place, name + " with mask " + mask_text(call.mask) + ", while lane " +
                              std::to_string(i) + " is in " + warp_op_name(other.call.op) +
                              " with mask " + mask_text(other.call.mask) + " in line " +
                              std::to_string(other.place.line));
    }
}

bool Launch::warp_complete(const WarpCall& call) {
    const Thread* warp = current_->block->warp_of(*current_);
    for (unsigned i = 0; i < kWarpLanes; ++i) {
        if ((call.mask >> i & 1u) == 0) continue;
        if (warp[i].state != State::in_warp || !warp[i].call.meets(call)) return false;
    }
    return true;
}

void Launch::release_warp(const WarpCall& call) {
    Thread* warp = current_->block->warp_of(*current_);
    LaneValues values{};
    for (unsigned i = 0; i < kWarpLanes; ++i)
        if (call.mask >> i & 1u) values[i] = warp[i].call.value;
    const LaneValues results =
        is_shuffle(call.op) ? LaneValues{} : warp_results(call.op, call.mask, values);
    for (unsigned i = 0; i < kWarpLanes; ++i) {
        if ((call.mask >> i & 1u) == 0) continue;
        warp[i].result = is_shuffle(call.op) ? values[warp[i].call.lane] : results[i];
        make_ready(warp[i]);
    }
}

}  // namespace refit::simt
