#include "kernels/simt/block.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "kernels/simt/sanitizers.hpp"

namespace refit::simt {
namespace {

constexpr std::size_t kAlignment = 128;
constexpr int kJunk = 0xCD;

}  // namespace

SharedMemory::SharedMemory(std::size_t bytes)
    : bytes_(bytes),
      mapped_((bytes / kAlignment + 1) * kAlignment),
      memory_(static_cast<char*>(std::aligned_alloc(kAlignment, mapped_))) {
    if (memory_ == nullptr) throw std::bad_alloc();
    std::memset(memory_, kJunk, mapped_);
    make_undefined(memory_, mapped_);
    forbid_memory(memory_ + bytes, mapped_ - bytes);
}

SharedMemory::~SharedMemory() {
    allow_memory(memory_, mapped_);
    std::free(memory_);
}

Block::Block(Extent id, const LaunchShape& shape)
    : threads(shape.block.count()),
      shared(shape.shared_bytes),
      live(static_cast<unsigned>(threads.size())),
      warps(threads.size()) {
    const Extent dim = shape.block;
    for (unsigned i = 0; i < live; ++i) {
        Thread& thread = threads[i];
        const Extent at{i % dim.x, i / dim.x % dim.y, i / (dim.x * dim.y)};
        thread.ids = {at, id, dim, shape.grid, i % kWarpLanes};
        thread.index = i;
        thread.block = this;
    }
}

unsigned Block::warp_mask(const Thread& thread) const {
    const unsigned first = thread.index / kWarpLanes * kWarpLanes;
    const unsigned lanes = std::min(kWarpLanes, static_cast<unsigned>(threads.size()) - first);
    return lanes == kWarpLanes ? ~0u : (1u << lanes) - 1;
}

}  // namespace refit::simt
