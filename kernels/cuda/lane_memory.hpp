// Memory of devices that the host does not share, for kernels/cuda/kernel_device.hpp.
//
// Lanes     a call takes a lane and gives it back; one is made when all are taken. Lane l is on
//           device l mod n, and the lane that has waited longest is taken first.
// Copies    go through pinned memory of the lane, each through a piece of its own, so the next one
//           is packed while the last is under way. A call ends with nothing under way.
// Times     events stand around the copies in, the launches and the copies out of each wait; they
//           are read when the wait is over, so they cost no wait of their own. Copies in include
//           what the host does between the first and the last.
#pragma once

#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/check.hpp"
#include "kernels/cuda/lane.hpp"
#include "kernels/device.hpp"
#include "kernels/simt/simt.hpp"

namespace refit::kernels {

struct CallTimes {
    double in = 0;
    double kernels = 0;
    double out = 0;
};

template <class Api>
class LanePool {
public:
    LanePool(Api api, std::vector<int> devices)
        : api_(std::move(api)), devices_(std::move(devices)) {
        REFIT_KERNEL_CHECK(!devices_.empty());
    }
    LanePool(const LanePool&) = delete;
    LanePool& operator=(const LanePool&) = delete;

    const Api& api() const { return api_; }

    /// A lane, with its device in use by the calling thread.
    Lane<Api>& take(std::string_view stage) {
        const std::lock_guard lock(mutex_);
        entry(stage);
        if (free_.empty()) {
            const int device = devices_[lanes_.size() % devices_.size()];
            api_.use(device);
            lanes_.reserve(lanes_.size() + 1);
            free_.reserve(lanes_.size() + 1);
            lanes_.push_back(std::make_unique<Lane<Api>>(api_, device));
            return *lanes_.back();
        }
        Lane<Api>& lane = *free_.front();
        api_.use(lane.device);
        free_.erase(free_.begin());
        return lane;
    }

    void give(Lane<Api>& lane, std::string_view stage, const CallTimes& times) {
        const std::lock_guard lock(mutex_);
        free_.push_back(&lane);
        entry(kIn).add(times.in);
        entry(kOut).add(times.out);
        entry(stage).add(times.kernels);
    }

    std::vector<StageTime> times() const {
        const std::lock_guard lock(mutex_);
        std::vector<StageTime> times;
        for (const Sum& sum : sums_) times.push_back({sum.stage, sum.seconds, sum.calls});
        return times;
    }

private:
    static constexpr std::string_view kIn = "copy in";
    static constexpr std::string_view kOut = "copy out";

    struct Sum {
        std::string_view stage;
        double seconds = 0;
        std::uint64_t calls = 0;

        void add(double more) {
            seconds += more;
            ++calls;
        }
    };

    /// Of a stage that was taken before, it cannot fail.
    Sum& entry(std::string_view stage) {
        for (Sum& sum : sums_)
            if (sum.stage == stage) return sum;
        return sums_.emplace_back(Sum{stage});
    }

    Api api_;
    std::vector<int> devices_;
    mutable std::mutex mutex_;
    std::vector<std::unique_ptr<Lane<Api>>> lanes_;
    std::vector<Lane<Api>*> free_;
    std::vector<Sum> sums_{{kIn}, {kOut}};
};

template <class Api>
class LaneMemory {
public:
    static constexpr bool kSharesHost = false;

    LaneMemory(Api api, std::vector<int> devices)
        : pool_(std::make_unique<LanePool<Api>>(std::move(api), std::move(devices))) {}

    std::vector<StageTime> times() const { return pool_->times(); }

    class Session;

private:
    std::unique_ptr<LanePool<Api>> pool_;
};

/// `call` is a literal.
template <class Api>
class LaneMemory<Api>::Session {
public:
    Session(const LaneMemory& memory, const char* call)
        : pool_(*memory.pool_),
          api_(pool_.api()),
          call_(call),
          lane_(pool_.take(call)),
          queue_(api_.queue(lane_.stream.get())) {
        api_.begin_range(call);
    }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    ~Session() {
        // After a failure something may be under way that uses what the next call gets.
        if (under_way_) api_.wait_quietly(lane_.stream.get());
        api_.end_range();
        lane_.arrays.reset();
        lane_.pinned.reset();
        pool_.give(lane_, call_, times_);
    }

    simt::Queue& queue() {
        under_way_ = true;
        return queue_;
    }

    template <class T>
    const T* in(std::span<const T> values) {
        return this->values(values);
    }
    template <class T>
    T* values(std::span<const T> from) {
        const std::span<T> to = room<T>(from.size());
        if (!from.empty()) std::memcpy(to.data(), from.data(), from.size_bytes());
        return send(std::span<const T>(to));
    }
    template <class T>
    T* in_out(std::span<T> values) {
        T* const at = this->values(std::span<const T>(values));
        back_.push_back({values.data(), at, values.size_bytes(), nullptr});
        return at;
    }
    template <class T>
    T* fresh(std::size_t count) {
        return reinterpret_cast<T*>(lane_.arrays.take(count * sizeof(T)));
    }
    template <class T>
    std::span<T> room(std::size_t count) {
        return {reinterpret_cast<T*>(lane_.pinned.take(count * sizeof(T))), count};
    }
    template <class T>
    T* send(std::span<const T> from) {
        T* const to = fresh<T>(from.size());
        if (from.empty()) return to;
        under_way_ = true;
        if (!std::exchange(loading_, true)) record(lane_.started);
        api_.copy_in(lane_.stream.get(), to, from.data(), from.size_bytes());
        record(lane_.loaded);
        return to;
    }
    template <class T>
    std::span<const T> fetch(const T* at, std::size_t count) {
        const std::span<T> to = room<T>(count);
        record(lane_.leaving);
        copy_out(to.data(), at, to.size_bytes());
        wait();
        return to;
    }
    void finish() {
        for (Back& back : back_) back.room = room<std::byte>(back.bytes).data();
        record(lane_.leaving);
        for (const Back& back : back_) copy_out(back.room, back.from, back.bytes);
        wait();
        for (const Back& back : back_)
            if (back.bytes > 0) std::memcpy(back.to, back.room, back.bytes);
        back_.clear();
    }

private:
    struct Back {
        void* to;
        const void* from;
        std::size_t bytes;
        std::byte* room;
    };

    void record(const typename Lane<Api>::Event& event) {
        api_.record(event.get(), lane_.stream.get());
    }

    void copy_out(void* to, const void* from, std::size_t bytes) {
        under_way_ = true;
        if (bytes > 0) api_.copy_out(lane_.stream.get(), to, from, bytes);
    }

    /// Launches follow a copy in: there is none without input.
    void wait() {
        record(lane_.left);
        api_.wait(lane_.stream.get());
        under_way_ = false;
        const auto seconds = [&](const auto& from, const auto& to) {
            return api_.seconds_between(from.get(), to.get());
        };
        times_.out += seconds(lane_.leaving, lane_.left);
        if (!std::exchange(loading_, false)) return;
        times_.in += seconds(lane_.started, lane_.loaded);
        times_.kernels += seconds(lane_.loaded, lane_.leaving);
    }

    LanePool<Api>& pool_;
    Api api_;
    const char* call_;
    Lane<Api>& lane_;
    simt::Queue queue_;
    std::vector<Back> back_;
    CallTimes times_;
    bool loading_ = false;    // a copy in since the last wait
    bool under_way_ = false;  // anything since the last wait
};

}  // namespace refit::kernels
