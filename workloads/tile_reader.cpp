#include "workloads/tile_reader.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace refit {

void BatchWords::load(const Grid& grid, std::span<const UnitRange> units, const Weights& weights) {
    runs_.clear();
    for (const UnitRange range : units) {
        for (std::uint32_t i = 0; i < range.tile_count; ++i)
            for (const Piece& piece : grid.tile(range.first_tile + i).pieces)
                runs_.push_back({piece.tensor, piece.tensor_first, piece.words, 0});
    }
    std::ranges::sort(runs_, {}, [](const Run& run) { return std::tie(run.tensor, run.first); });
    std::uint64_t words = 0;
    for (Run& run : runs_) run.at = std::exchange(words, words + run.words);
    if (words_.size() < words) words_.resize(words);
    for (const Run& run : runs_)
        weights.read(run.tensor, run.first, std::span(words_).subspan(run.at, run.words));
}

std::span<const std::uint16_t> BatchWords::view(std::uint32_t tensor,
                                                std::uint64_t first,
                                                std::uint64_t words) const {
    const auto after =
        std::ranges::upper_bound(runs_, std::tuple(tensor, first), {},
                                 [](const Run& run) { return std::tuple(run.tensor, run.first); });
    REFIT_ASSERT(after != runs_.begin());
    const Run& run = *std::prev(after);
    REFIT_ASSERT(run.tensor == tensor && first - run.first <= run.words &&
                 words <= run.words - (first - run.first));
    return std::span(words_).subspan(run.at + (first - run.first), words);
}

void BatchWords::read(std::uint32_t tensor,
                      std::uint64_t first,
                      std::span<std::uint16_t> out) const {
    std::ranges::copy(view(tensor, first, out.size()), out.begin());
}

TileReader::TileReader(const Grid& grid,
                       const Weights& base,
                       const Weights& next,
                       std::vector<std::span<const UnitRange>> batches,
                       const MonotonicClock& now)
    : grid_(grid),
      base_(base),
      next_(next),
      batches_(std::move(batches)),
      now_(now),
      thread_([this] { run(); }) {}

TileReader::~TileReader() {
    {
        const std::scoped_lock lock(mutex_);
        stopped_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

TileReader::Batch TileReader::next() {
    std::unique_lock lock(mutex_);
    REFIT_ASSERT(taken_ < batches_.size());
    const std::size_t batch = taken_++;
    changed_.notify_all();
    changed_.wait(lock, [&] { return loaded_ > batch || failure_ != nullptr; });
    if (loaded_ <= batch) std::rethrow_exception(failure_);
    const Slot& slot = slots_[batch % slots_.size()];
    return {batches_[batch], slot.base, slot.next};
}

Nanoseconds TileReader::time() const {
    const std::scoped_lock lock(mutex_);
    return time_;
}

bool TileReader::wait_for_room(std::size_t batch) {
    std::unique_lock lock(mutex_);
    // A batch is in work until the one behind it is taken; then its slot is free.
    changed_.wait(lock, [&] { return stopped_ || batch < slots_.size() || taken_ >= batch; });
    return !stopped_;
}

void TileReader::run() {
    for (std::size_t batch = 0; batch < batches_.size(); ++batch) {
        if (!wait_for_room(batch)) return;
        Nanoseconds spent;
        std::exception_ptr failure;
        try {
            const Nanoseconds start = now_();
            Slot& slot = slots_[batch % slots_.size()];
            slot.base.load(grid_, batches_[batch], base_);
            slot.next.load(grid_, batches_[batch], next_);
            spent = now_() - start;
        } catch (...) {
            failure = std::current_exception();
        }
        const std::scoped_lock lock(mutex_);
        time_ += spent;
        failure_ = failure;
        if (failure == nullptr) loaded_ = batch + 1;
        changed_.notify_all();
        if (failure != nullptr) return;
    }
}

}  // namespace refit
