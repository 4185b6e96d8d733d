#include "engine/collective/nccl_collective.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>
#include <utility>

#include "engine/base/result.hpp"
#include "engine/collective/nccl_library.hpp"

namespace refit {
namespace {

using Clock = std::chrono::steady_clock;

/// Between two looks at what is queued: small transfers take microseconds, large ones milliseconds.
class Pause {
public:
    void operator()() {
        constexpr unsigned kYields = 2000;
        if (++looks_ < kYields) {
            std::this_thread::yield();
        } else {
            std::this_thread::sleep_for(std::chrono::microseconds(50));
        }
    }

private:
    unsigned looks_ = 0;
};

class NcclCollective final : public Collective {
public:
    NcclCollective(std::shared_ptr<const NcclLibrary> library,
                   Collective& bootstrap,
                   CollectiveMemory& memory,
                   Nanoseconds deadline)
        : library_(std::move(library)),
          bootstrap_(bootstrap),
          memory_(memory),
          deadline_(deadline) {}
    NcclCollective(const NcclCollective&) = delete;
    NcclCollective& operator=(const NcclCollective&) = delete;
    ~NcclCollective() override { drop(); }

    unsigned self() const override { return bootstrap_.self(); }
    std::span<const unsigned> ranks() const override { return bootstrap_.ranks(); }

    MaybeLoss gather(unsigned owner,
                     std::span<const std::byte> mine,
                     std::span<const std::span<std::byte>> parts) override {
        REFIT_ASSERT(parts.size() == (owner == self() ? ranks().size() : 0));
        return run("gather", [&](cudaStream_t stream) {
            if (owner != self()) return send(mine, owner, stream);
            return receive_all(mine, parts, stream);
        });
    }

    MaybeLoss fan_out(unsigned owner, std::span<std::byte> bytes) override {
        return run("fan-out", [&](cudaStream_t stream) {
            return library_->broadcast(bytes.data(), bytes.data(), bytes.size(), ncclUint8,
                                       position(owner), comm_, stream);
        });
    }

    MaybeLoss barrier() override {
        name_ = "barrier " + std::to_string(++calls_);
        if (lost_) return lost_;
        return watched(bootstrap_.barrier());
    }
    MaybeLoss check() override { return watched(bootstrap_.check()); }

    void abort() override {
        bootstrap_.abort();
        drop();
    }

    void rebuild() override {
        drop();
        lost_.reset();
        bootstrap_.rebuild();
    }

    MaybeLoss finish() override {
        if (MaybeLoss loss = barrier()) return loss;
        if (comm_ == nullptr) return std::nullopt;
        if (const ncclResult_t result = library_->finalize(comm_); !is_fine(result))
            return fail(result);
        if (MaybeLoss loss = wait(false)) return loss;
        const ncclResult_t result = library_->destroy(std::exchange(comm_, nullptr));
        if (result != ncclSuccess) return fail(result);
        return barrier();  // nobody leaves while another still looks whether all are there
    }

private:
    using Queue = std::function<ncclResult_t(cudaStream_t)>;

    /// In a communicator that does not block, calls go on in the background.
    static bool is_fine(ncclResult_t result) {
        return result == ncclSuccess || result == ncclInProgress;
    }

    /// NCCL counts only those that are in.
    int position(unsigned rank) const {
        const auto found = std::ranges::lower_bound(ranks(), rank);
        REFIT_ASSERT(found != ranks().end() && *found == rank);
        return static_cast<int>(found - ranks().begin());
    }

    ncclResult_t send(std::span<const std::byte> mine, unsigned owner, cudaStream_t stream) {
        if (mine.empty()) return ncclSuccess;
        return library_->send(mine.data(), mine.size(), ncclUint8, position(owner), comm_, stream);
    }

    ncclResult_t receive_all(std::span<const std::byte> mine,
                             std::span<const std::span<std::byte>> parts,
                             cudaStream_t stream) {
        for (std::size_t i = 0; i < parts.size(); ++i) {
            if (ranks()[i] == self()) {
                REFIT_ASSERT(parts[i].size() == mine.size());
                memory_.copy(parts[i].data(), mine.data(), mine.size());
                continue;
            }
            if (parts[i].empty()) continue;
            const ncclResult_t result = library_->receive(
                parts[i].data(), parts[i].size(), ncclUint8, static_cast<int>(i), comm_, stream);
            if (!is_fine(result)) return result;
        }
        return ncclSuccess;
    }

    /// One group, queued and watched until it is done.
    MaybeLoss run(const char* what, const Queue& queue) {
        name_ = what + (" " + std::to_string(++calls_));
        if (lost_) return lost_;
        if (comm_ == nullptr)
            if (MaybeLoss loss = connect()) return loss;
        auto* const stream = static_cast<cudaStream_t>(memory_.queue());
        memory_.mark_start();
        ncclResult_t result = library_->group_start();
        if (is_fine(result)) {
            const ncclResult_t queued = queue(stream);
            result = library_->group_end();
            if (!is_fine(queued)) result = queued;
        }
        if (!is_fine(result)) return fail(result);
        memory_.mark_end();
        return wait(true);
    }

    MaybeLoss connect() {
        ncclUniqueId id{};
        const unsigned first = ranks().front();
        if (self() == first) {
            const ncclResult_t result = library_->get_unique_id(&id);
            if (result != ncclSuccess) return fail(result);
        }
        if (MaybeLoss loss =
                watched(bootstrap_.fan_out(first, std::as_writable_bytes(std::span(&id, 1)))))
            return loss;
        ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
        config.blocking = 0;
        const ncclResult_t result = library_->init_rank(&comm_, static_cast<int>(ranks().size()),
                                                        id, position(self()), &config);
        if (!is_fine(result)) return fail(result);
        return wait(false);
    }

    /// Until NCCL has nothing in progress and, where work was queued, the queue is done.
    MaybeLoss wait(bool queued) {
        const auto end = Clock::now() + std::chrono::nanoseconds(deadline_.count);
        Pause pause;
        while (true) {
            ncclResult_t state = ncclSuccess;
            const ncclResult_t result = library_->async_error(comm_, &state);
            if (result != ncclSuccess) return fail(result);
            if (!is_fine(state)) return fail(state);
            if (state == ncclSuccess && (!queued || memory_.idle())) return std::nullopt;
            if (MaybeLoss loss = watched(bootstrap_.check())) return loss;
            if (Clock::now() > end)
                return lose({Loss::Kind::silent, std::nullopt, name_, "the deadline has passed"});
            pause();
        }
    }

    /// A rank that died is the better reason, where there is one.
    MaybeLoss fail(ncclResult_t result) {
        if (MaybeLoss loss = watched(bootstrap_.check())) return loss;
        return lose({Loss::Kind::library, std::nullopt, name_,
                     std::string("NCCL: ") + library_->error_string(result)});
    }

    MaybeLoss lose(Loss loss) {
        lost_ = std::move(loss);
        abort();
        return lost_;
    }

    MaybeLoss watched(MaybeLoss loss) {
        if (!loss) return std::nullopt;
        loss->operation = name_;
        lost_ = std::move(loss);
        drop();
        return lost_;
    }

    void drop() {
        if (comm_ != nullptr) library_->abort(std::exchange(comm_, nullptr));
    }

    std::shared_ptr<const NcclLibrary> library_;
    Collective& bootstrap_;
    CollectiveMemory& memory_;
    Nanoseconds deadline_;
    ncclComm_t comm_ = nullptr;
    std::uint64_t calls_ = 0;
    std::string name_ = "no call yet";
    MaybeLoss lost_;
};

}  // namespace

std::unique_ptr<Collective> make_nccl_collective(std::shared_ptr<const NcclLibrary> library,
                                                 Collective& bootstrap,
                                                 CollectiveMemory& memory,
                                                 Nanoseconds deadline) {
    return std::make_unique<NcclCollective>(std::move(library), bootstrap, memory, deadline);
}

}  // namespace refit
