// Reads the words of two checkpoints batch by batch, on a thread of its own, one batch ahead.
//
// Why      Disks give most when one reader goes through long runs in order; lanes that fetch their
//          own tiles do not.
// Memory   two batches of words of both sides.
// Errors   what reading throws is thrown by next().
#pragma once

#include <array>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "engine/codec/delta.hpp"

namespace refit {

/// The words of one batch of units in memory. Other words of the model are not there.
class BatchWords final : public Weights {
public:
    /// Replaces what was there. Reads in the order in which the words lie in `weights`.
    void load(const Grid& grid, std::span<const UnitRange> units, const Weights& weights);

    void read(std::uint32_t tensor,
              std::uint64_t first,
              std::span<std::uint16_t> out) const override;
    std::span<const std::uint16_t> view(std::uint32_t tensor,
                                        std::uint64_t first,
                                        std::uint64_t words) const override;

private:
    struct Run {
        std::uint32_t tensor;
        std::uint64_t first;
        std::uint64_t words;
        std::uint64_t at;  // in words_
    };
    std::vector<Run> runs_;  // by tensor and first word
    std::vector<std::uint16_t> words_;
};

class TileReader {
public:
    struct Batch {
        std::span<const UnitRange> units;
        const Weights& base;
        const Weights& next;
    };

    /// `batches` are read in this order; all outlive the reader.
    TileReader(const Grid& grid,
               const Weights& base,
               const Weights& next,
               std::vector<std::span<const UnitRange>> batches,
               const MonotonicClock& now);
    ~TileReader();
    TileReader(const TileReader&) = delete;
    TileReader& operator=(const TileReader&) = delete;

    /// The next batch; what the one before pointed to is gone. Call it once per batch.
    Batch next();

    /// Spent reading so far, on the reader's thread.
    Nanoseconds time() const;

private:
    struct Slot {
        BatchWords base;
        BatchWords next;
    };

    void run();
    /// Waits for a free slot; false when nobody wants more.
    bool wait_for_room(std::size_t batch);

    const Grid& grid_;
    const Weights& base_;
    const Weights& next_;
    std::vector<std::span<const UnitRange>> batches_;
    const MonotonicClock& now_;
    std::array<Slot, 2> slots_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::size_t loaded_ = 0;  // batches
    std::size_t taken_ = 0;
    bool stopped_ = false;
    std::exception_ptr failure_;
    Nanoseconds time_;
    std::thread thread_;  // last: it uses all of the above
};

}  // namespace refit
