#include "engine/emulate/bit_pass.hpp"

#include <algorithm>

namespace refit {

/// Tiles are asked for by the pieces they are made of, and only those at hand.
class BitPass::Held final : public Weights {
public:
    using Buffer = std::vector<std::uint16_t> TileWork::*;

    Held(std::span<const TileWork> work, Buffer buffer) : work_(work), buffer_(buffer) {
        for (std::size_t i = 0; i < work.size(); ++i)
            for (const Piece& piece : work[i].tile->pieces) runs_.push_back({piece, i});
        std::ranges::sort(runs_, {}, [](const Run& run) { return key(run.piece); });
    }

    void read(std::uint32_t tensor,
              std::uint64_t first,
              std::span<std::uint16_t> out) const override {
        std::ranges::copy(view(tensor, first, out.size()), out.begin());
    }

    std::span<const std::uint16_t> view(std::uint32_t tensor,
                                        std::uint64_t first,
                                        std::uint64_t words) const override {
        const auto run = std::ranges::lower_bound(runs_, std::pair(tensor, first), {},
                                                  [](const Run& r) { return key(r.piece); });
        REFIT_ASSERT(run != runs_.end() && key(run->piece) == std::pair(tensor, first));
        REFIT_ASSERT(words <= run->piece.words);
        const std::span<const std::uint16_t> tile = work_[run->work].*buffer_;
        return tile.subspan(run->piece.tile_first, words);
    }

private:
    struct Run {
        Piece piece;
        std::size_t work;
    };
    static std::pair<std::uint32_t, std::uint64_t> key(const Piece& piece) {
        return {piece.tensor, piece.tensor_first};
    }

    std::span<const TileWork> work_;
    Buffer buffer_;
    std::vector<Run> runs_;
};

BitPass::BitPass(Device& device,
                 const DeltaContext& context,
                 const Codec& codec,
                 std::vector<const ShardMap*> serving,
                 MonotonicClock clock)
    : device_(device),
      context_(context),
      serving_(std::move(serving)),
      clock_(std::move(clock)),
      encoder_(device, codec, context),
      decoder_(device, codec, context) {
    totals_.replica_missing.resize(serving_.size());
}

void BitPassTotals::add(const BitPassTotals& other) {
    words += other.words;
    words_checked += other.words_checked;
    mismatches += other.mismatches;
    resident_failures += other.resident_failures;
    replica_missing.resize(std::max(replica_missing.size(), other.replica_missing.size()));
    for (std::size_t i = 0; i < other.replica_missing.size(); ++i)
        replica_missing[i] += other.replica_missing[i];
    if (first_failure.empty()) first_failure = other.first_failure;
}

Result<const BitPass::Unit*> BitPass::run(UnitRange range, const WordPairs& pairs) {
    const Nanoseconds start = now();
    generate(range, pairs);
    const Nanoseconds generated = now();
    times_.generate += generated - start;
    const std::span<const TileWork> work = std::span(work_).first(tiles_);
    encoder_.encode({&range, 1}, Held(work, &TileWork::base), Held(work, &TileWork::next),
                    encoded_);
    std::swap(unit_.encoded, encoded_.front());
    times_.encode += now() - generated;
    for (const TileWork& tile : work) totals_.words += Words{tile.tile->words};
    unit_.staged_bytes.assign(tiles_, 0);
    for (std::size_t layout = 0; layout < serving_.size(); ++layout)
        REFIT_CHECK(serve(layout, range));
    return &unit_;
}

BitPassTotals BitPass::take_totals() {
    BitPassTotals taken = std::move(totals_);
    totals_ = {};
    totals_.replica_missing.resize(serving_.size());
    return taken;
}

void BitPass::generate(UnitRange range, const WordPairs& pairs) {
    first_tile_ = range.first_tile;
    tiles_ = range.tile_count;
    if (work_.size() < tiles_) work_.resize(tiles_);
    device_.for_each(tiles_, [&](std::uint64_t i, unsigned) {
        TileWork& work = work_[i];
        work.tile = &context_.grid.tile(range.first_tile + static_cast<std::uint32_t>(i));
        const std::uint64_t words = work.tile->words;
        for (auto* buffer : {&work.base, &work.next, &work.again, &work.gathered})
            buffer->resize(words);
        pairs.read(*work.tile, work.base, work.next);
        // The gathered words are the base again, which nobody reads before a layout is served.
        pairs.read(*work.tile, work.gathered, work.again);
    });
}

const EncodedUnit& BitPass::encode_again(UnitRange range) {
    REFIT_ASSERT(range.first_tile >= first_tile_ &&
                 range.first_tile + range.tile_count <= first_tile_ + tiles_);
    const std::span<const TileWork> work = std::span(work_).first(tiles_);
    encoder_.encode({&range, 1}, Held(work, &TileWork::base), Held(work, &TileWork::next), again_);
    return again_.front();
}

/// One replica takes the unit: from base words on its ranks to checked next words.
Status BitPass::serve(std::size_t layout, UnitRange range) {
    const Nanoseconds start = now();
    device_.for_each(tiles_, [&](std::uint64_t i, unsigned) {
        TileWork& work = work_[i];
        work.window.open(context_.catalog, *work.tile, *serving_[layout]);
        work.window.load(device_, work.base);
        work.window.gather(device_, work.gathered);
    });
    const BaseReader gathered = [this](std::uint32_t tile, std::vector<std::uint16_t>&) {
        return std::span<const std::uint16_t>(work_[tile - first_tile_].gathered);
    };
    REFIT_CHECK(decoder_.decode(range, unit_.encoded.bytes, gathered, decoded_));
    const Nanoseconds staged = now();
    times_.stage += staged - start;
    device_.for_each(tiles_, [&](std::uint64_t i, unsigned) {
        overwrite_and_check(work_[i], decoded_.tiles[i]);
        compare(work_[i]);
    });
    for (std::size_t i = 0; i < tiles_; ++i) {
        const TileWork& work = work_[i];
        unit_.staged_bytes[i] = decoded_.tiles[i].changes.bytes();
        totals_.words_checked += work.window.held();
        totals_.replica_missing[layout] += work.window.missing();
        totals_.mismatches += work.mismatches;
        totals_.resident_failures += work.failures;
        if ((work.mismatches > 0 || work.failures > 0) && totals_.first_failure.empty()) {
            totals_.first_failure = "tile " + std::to_string(range.first_tile + i) + " of layout " +
                                    serving_[layout]->layout();
        }
    }
    times_.check += now() - staged;
    return Done{};
}

/// Ranks that hold the tile once between them answer together for the digest the delta announced;
/// others each for what it had before and what the staged list changes in it.
void BitPass::overwrite_and_check(TileWork& work, const DecodedTile& decoded) const {
    work.failures = 0;
    const bool together = work.window.held().count == work.tile->words;
    std::uint64_t sum = 0;
    for (ShardWindow::Rank& rank : work.window.ranks()) {
        std::uint64_t expected = 0;
        if (!together) {
            expected = device_.digest(rank.words, rank.placements, context_.salt) +
                       device_.digest_change(decoded.base, decoded.changes, rank.placements,
                                             context_.salt);
        }
        device_.overwrite(rank.words, decoded.changes, rank.placements);
        const std::uint64_t after = device_.digest(rank.words, rank.placements, context_.salt);
        sum += after;
        if (!together && after != expected) ++work.failures;
    }
    if (together && sum != decoded.next_digest) ++work.failures;
}

/// Every word of every rank against the words made a second time.
void BitPass::compare(TileWork& work) const {
    work.mismatches = 0;
    const auto count = [&work] {
        if (std::ranges::equal(work.gathered, work.again)) return;
        for (std::size_t i = 0; i < work.again.size(); ++i)
            if (work.gathered[i] != work.again[i]) ++work.mismatches;
    };
    if (work.window.held().count == work.tile->words) {
        for (const ShardWindow::Rank& rank : work.window.ranks())
            device_.gather(rank.words, rank.placements, work.gathered);
        count();
        return;
    }
    for (const ShardWindow::Rank& rank : work.window.ranks()) {
        std::ranges::copy(work.again, work.gathered.begin());
        device_.gather(rank.words, rank.placements, work.gathered);
        count();
    }
}

}  // namespace refit
