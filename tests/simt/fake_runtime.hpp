// A CUDA runtime for kernels/cuda/lane.hpp without a GPU: launches run on the host executor, copies
// arrive as late as they may, and what a real runtime would suffer in silence is counted.
//
// Copies in   reach the device at once, since launches run at once; until the wait their origin
// must
//             stay as it is, else a real device may have read other words.
// Copies out  leave junk until the wait.
// Failures    the call with the number `fail_at`, counted from 1, throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/cuda/lane.hpp"
#include "kernels/simt/simt.hpp"

namespace refit {

struct FakeRuntimeState {
    struct Copy {
        void* to;
        const void* from;
        std::vector<std::byte> bytes;
        bool in;
    };

    std::mutex mutex;
    int next = 1;
    std::set<int> streams;
    std::map<int, std::uint64_t> events;  // when they were recorded; 0: never
    std::map<std::byte*, std::size_t> device;
    std::map<std::byte*, std::size_t> pinned;
    std::map<int, std::vector<Copy>> under_way;  // by stream
    std::uint64_t now = 0;
    std::uint64_t calls = 0;
    std::uint64_t fail_at = 0;
    std::uint64_t hazards = 0;
    std::uint64_t blocks_made = 0;
    std::set<int> devices_used;
    int open_ranges = 0;
    simt::Schedule schedule;

    bool nothing_left() const {
        return streams.empty() && events.empty() && device.empty() && pinned.empty() &&
               open_ranges == 0;
    }
};

class FakeRuntime {
public:
    using State = FakeRuntimeState;
    enum class Stream : int {};
    enum class Event : int {};

    explicit FakeRuntime(std::shared_ptr<State> state) : state_(std::move(state)) {}

    void use(int device) const {
        const std::lock_guard lock(state_->mutex);
        count("use");
        state_->devices_used.insert(device);
    }
    void use_quietly(int /*device*/) const {}

    Stream make_stream() const {
        const std::lock_guard lock(state_->mutex);
        count("make_stream");
        return Stream{*state_->streams.insert(state_->next++).first};
    }
    void drop(Stream stream) const {
        const std::lock_guard lock(state_->mutex);
        expect(state_->streams.erase(static_cast<int>(stream)) == 1);
    }
    Event make_event() const {
        const std::lock_guard lock(state_->mutex);
        count("make_event");
        state_->events[state_->next] = 0;
        return Event{state_->next++};
    }
    void drop(Event event) const {
        const std::lock_guard lock(state_->mutex);
        expect(state_->events.erase(static_cast<int>(event)) == 1);
    }

    std::byte* make_block(kernels::MemoryKind kind, std::size_t bytes) const {
        const std::lock_guard lock(state_->mutex);
        count("make_block");
        auto* const block = new std::byte[bytes];
        std::memset(block, 0xA7, bytes);
        blocks(kind)[block] = bytes;
        ++state_->blocks_made;
        return block;
    }
    void drop(kernels::MemoryKind kind, std::byte* block) const {
        const std::lock_guard lock(state_->mutex);
        for (const auto& [stream, copies] : state_->under_way) expect(copies.empty());
        expect(blocks(kind).erase(block) == 1);
        delete[] block;
    }

    void copy_in(Stream stream, void* to, const void* from, std::size_t bytes) const {
        const std::lock_guard lock(state_->mutex);
        count("copy_in");
        expect(inside(state_->device, to, bytes) && inside(state_->pinned, from, bytes));
        start(stream, {to, from, bytes_at(from, bytes), true});
        std::memcpy(to, from, bytes);
    }
    void copy_out(Stream stream, void* to, const void* from, std::size_t bytes) const {
        const std::lock_guard lock(state_->mutex);
        count("copy_out");
        expect(inside(state_->pinned, to, bytes) && inside(state_->device, from, bytes));
        start(stream, {to, from, bytes_at(from, bytes), false});
        std::memset(to, 0x5C, bytes);
    }

    void record(Event event, Stream stream) const {
        const std::lock_guard lock(state_->mutex);
        count("record");
        expect(state_->streams.contains(static_cast<int>(stream)));
        state_->events.at(static_cast<int>(event)) = ++state_->now;
    }
    double seconds_between(Event from, Event to) const {
        const std::lock_guard lock(state_->mutex);
        count("seconds_between");
        const std::uint64_t first = state_->events.at(static_cast<int>(from));
        const std::uint64_t last = state_->events.at(static_cast<int>(to));
        expect(first > 0 && first < last);
        return static_cast<double>(last - first);
    }

    void wait(Stream stream) const {
        const std::lock_guard lock(state_->mutex);
        count("wait");
        arrive(stream);
    }
    void wait_quietly(Stream stream) const {
        const std::lock_guard lock(state_->mutex);
        arrive(stream);
    }

    simt::Queue queue(Stream /*stream*/) const { return {state_->schedule, {}}; }

    void begin_range(const char* /*name*/) const {
        const std::lock_guard lock(state_->mutex);
        ++state_->open_ranges;
    }
    void end_range() const {
        const std::lock_guard lock(state_->mutex);
        --state_->open_ranges;
    }

private:
    using Blocks = std::map<std::byte*, std::size_t>;

    void count(const char* call) const {
        if (++state_->calls == state_->fail_at) throw std::runtime_error(call);
    }
    void expect(bool held) const { state_->hazards += held ? 0 : 1; }

    Blocks& blocks(kernels::MemoryKind kind) const {
        return kind == kernels::MemoryKind::device ? state_->device : state_->pinned;
    }
    static bool inside(const Blocks& blocks, const void* at, std::size_t bytes) {
        const auto* const first = static_cast<const std::byte*>(at);
        for (const auto& [block, size] : blocks)
            if (first >= block && first + bytes <= block + size) return true;
        return false;
    }
    static std::vector<std::byte> bytes_at(const void* at, std::size_t bytes) {
        const auto* const first = static_cast<const std::byte*>(at);
        return {first, first + bytes};
    }

    void start(Stream stream, State::Copy copy) const {
        state_->under_way[static_cast<int>(stream)].push_back(std::move(copy));
    }
    void arrive(Stream stream) const {
        std::vector<State::Copy>& copies = state_->under_way[static_cast<int>(stream)];
        for (const State::Copy& copy : copies) {
            if (copy.in) {
                expect(std::memcmp(copy.from, copy.bytes.data(), copy.bytes.size()) == 0);
            } else {
                std::memcpy(copy.to, copy.bytes.data(), copy.bytes.size());
            }
        }
        copies.clear();
    }

    std::shared_ptr<State> state_;
};

}  // namespace refit
