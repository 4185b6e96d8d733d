// What one lane keeps on a device between calls: a stream, arrays on the device, host memory that
// the device reads by itself, and the events that time a call.
//
// Api       the CUDA runtime, or what a test puts in its place; a value, shared by copies. Failures
//           throw std::runtime_error. What makes something has a drop() that takes it back and
//           never throws:
//             Stream make_stream(), Event make_event()
//             std::byte* make_block(MemoryKind, bytes)
//             copy_in(stream, to, from, bytes), copy_out(...)   `to` and `from` stay until wait()
//             record(event, stream), seconds_between(event, event)
//             wait(stream)             for all that was put there
//             use(device)              for the calling thread
//             queue(stream)            where launches go; never throws
//             begin_range(name), end_range(), wait_quietly(stream), use_quietly(device)   likewise
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace refit::kernels {

enum class MemoryKind : std::uint8_t { device, pinned };

/// Takes back what it holds.
template <class Api, class Thing>
class Held {
public:
    Held(Api api, Thing thing) : api_(std::move(api)), thing_(thing) {}
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    ~Held() { api_.drop(thing_); }

    Thing get() const { return thing_; }

private:
    Api api_;
    Thing thing_;
};

/// Memory of one kind, handed out piece by piece and taken back all at once. It stays for the next
/// call: a lane keeps as much as its largest call has needed.
template <class Api>
class Arena {
public:
    Arena(Api api, MemoryKind kind) : api_(std::move(api)), kind_(kind) {}
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;
    ~Arena() { drop_blocks(); }

    std::byte* take(std::size_t bytes) {
        // What a kernel or a copy likes best begins at such an address.
        constexpr std::size_t kAlignment = 256;
        constexpr std::size_t kBlockMin = std::size_t{1} << 20;
        const std::size_t rounded =
            std::max<std::size_t>(1, (bytes + kAlignment - 1) / kAlignment) * kAlignment;
        if (blocks_.empty() || rounded > size_ - used_) {
            blocks_.reserve(blocks_.size() + 1);
            const std::size_t size = std::max({rounded, total_, kBlockMin});
            blocks_.push_back(api_.make_block(kind_, size));
            size_ = size;
            used_ = 0;
            total_ = blocks_.size() == 1 ? size : total_ + size;
        }
        std::byte* const at = blocks_.back() + used_;
        used_ += rounded;
        return at;
    }

    /// Nobody uses what was handed out. Several blocks become one of their size, when it is needed.
    void reset() {
        used_ = 0;
        if (blocks_.size() > 1) drop_blocks();
    }

private:
    void drop_blocks() {
        for (std::byte* const block : blocks_) api_.drop(kind_, block);
        blocks_.clear();
        size_ = 0;
    }

    Api api_;
    MemoryKind kind_;
    std::vector<std::byte*> blocks_;
    std::size_t size_ = 0;   // of the last block
    std::size_t used_ = 0;   // likewise
    std::size_t total_ = 0;  // of all blocks, or of those that reset() has merged
};

template <class Api>
struct Lane {
    using Event = Held<Api, typename Api::Event>;

    Lane(Api runtime, int number)
        : api(std::move(runtime)),
          device(number),
          stream(api, api.make_stream()),
          started(api, api.make_event()),
          loaded(api, api.make_event()),
          leaving(api, api.make_event()),
          left(api, api.make_event()),
          arrays(api, MemoryKind::device),
          pinned(api, MemoryKind::pinned) {}
    ~Lane() { api.use_quietly(device); }
    Lane(const Lane&) = delete;
    Lane& operator=(const Lane&) = delete;

    Api api;
    int device;
    Held<Api, typename Api::Stream> stream;
    Event started;  // before the first copy in
    Event loaded;   // behind the last
    Event leaving;  // behind the last launch
    Event left;     // behind the last copy out
    Arena<Api> arrays;
    Arena<Api> pinned;
};

}  // namespace refit::kernels
