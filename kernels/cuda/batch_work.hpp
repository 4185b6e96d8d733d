// The operations of the kernels over one case of a batch, in the memory of a session.
//
// Session   as kernels/cuda/kernel_device.hpp has them, and three more:
//             fill(at, byte, count)      sets bytes
//             copy(to, from, bytes)      on the device, behind what is queued
//             timed(work)                runs work(), waits; seconds by the device's clock, or
//                                        nothing
//           What a session has handed out lives as long as it does.
// Work      a constructor that uploads, launch(), wrong(); outputs and scratch begin as junk.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/batch.hpp"
#include "kernels/cuda/launches.cuh"
#include "kernels/cuda/staging.hpp"

namespace refit::kernels {

template <class Session>
class BatchWork {
public:
    BatchWork(Session& session, const BatchCase& of) : session_(session), case_(of) {}

    void poison() {
        for (const Room& room : rooms_) session_.fill(room.at, kBatchJunk, room.bytes);
        for (const Room& room : sums_) session_.fill(room.at, kBatchJunk, room.bytes);
    }
    /// Sums are added to what is there.
    void clear_sums() {
        for (const Room& room : sums_) session_.fill(room.at, 0, room.bytes);
    }

protected:
    template <class T>
    T* output(std::size_t count) {
        return room_in<T>(rooms_, count);
    }
    template <class T>
    T* sum(std::size_t count) {
        return room_in<T>(sums_, count);
    }
    template <class T>
    const T* input(const std::vector<T>& values) {
        return session_.in(std::span<const T>(values));
    }
    ScanScratch scan(std::size_t count) {
        return {output<unsigned long long>(count + 1),
                output<unsigned long long>(scan_parts(static_cast<unsigned>(count))),
                output<unsigned>(1)};
    }
    template <class T>
    std::uint64_t wrong_of(const T* found, const std::vector<T>& expected) {
        return wrong_values(session_.fetch(found, expected.size()), std::span(expected));
    }

    std::vector<TileSpan> tile_spans() const {
        std::vector<TileSpan> spans;
        for (const BatchTile& tile : case_.tiles) spans.push_back({tile.first, tile.words});
        return spans;
    }
    BoxPlan box_plan() const {
        std::vector<TilePlacements> placed;
        for (const BatchTile& tile : case_.tiles)
            placed.push_back({{tile.first, tile.words}, {&tile.placement, 1}});
        return plan_boxes(placed, case_.base.size());
    }

    Session& session_;
    const BatchCase& case_;

private:
    struct Room {
        void* at;
        std::size_t bytes;
    };

    template <class T>
    T* room_in(std::vector<Room>& rooms, std::size_t count) {
        T* const at = session_.template fresh<T>(count);
        rooms.push_back({at, count * sizeof(T)});
        return at;
    }

    std::vector<Room> rooms_;
    std::vector<Room> sums_;
};

/// Work that leaves a staging list of the whole batch.
template <class Session>
class StagingWork : public BatchWork<Session> {
    std::vector<SegmentSpan> planned_;
    const SegmentSpan* spans_;

protected:
    StagedList list_;
    ScanScratch scan_;

public:
    StagingWork(Session& session, const BatchCase& of)
        : BatchWork<Session>(session, of),
          planned_(plan_segments(this->tile_spans())),
          spans_(this->input(planned_)),
          list_{this->template output<StagedSegment>(planned_.size()),
                this->template output<std::uint16_t>(of.base.size()),
                this->template output<std::uint16_t>(of.base.size())},
          scan_(this->scan(planned_.size())) {}

protected:
    std::uint32_t segments() const { return static_cast<std::uint32_t>(planned_.size()); }
    const SegmentSpan* spans() const { return spans_; }

    /// `expected`: which member of a tile has its list.
    std::uint64_t wrong_lists(Changes BatchTile::*expected) {
        const StoredCounts stored =
            unpack_stored(this->session_.fetch(scan_.offsets + segments(), 1).front());
        StoredCounts right{0, 0};
        for (const BatchTile& tile : this->case_.tiles) {
            right.positions += static_cast<std::uint32_t>((tile.*expected).positions.size());
            right.words += static_cast<std::uint32_t>((tile.*expected).words.size());
        }
        // Where even the sizes are wrong, the list cannot be looked at.
        if (stored.positions != right.positions || stored.words != right.words)
            return this->case_.base.size();
        const StagedResult all{this->session_.fetch(list_.segments, segments()),
                               this->session_.fetch(list_.positions, stored.positions),
                               this->session_.fetch(list_.words, stored.words)};
        if (!inside(all)) return this->case_.base.size();
        std::uint64_t wrong = 0;
        std::size_t first = 0;
        for (std::uint32_t t = 0; t < this->case_.tiles.size(); ++t) {
            const BatchTile& tile = this->case_.tiles[t];
            const std::size_t count = (tile.words + kSegmentWords - 1) / kSegmentWords;
            Changes found;
            to_changes({all.segments.subspan(first, count), all.positions, all.words}, t, found);
            wrong += wrong_changes(found, tile.*expected);
            first += count;
        }
        return wrong;
    }

private:
    static bool inside(const StagedResult& all) {
        return std::ranges::all_of(all.segments, [&](const StagedSegment& s) {
            const bool sparse = s.changed <= kSparseMax;
            return std::uint64_t{s.words_at} + s.stored <= all.words.size() &&
                   (!sparse || std::uint64_t{s.positions_at} + s.stored <= all.positions.size());
        });
    }
};

template <class Session>
class CopyWork : public BatchWork<Session> {
public:
    CopyWork(Session& session, const BatchCase& of)
        : BatchWork<Session>(session, of),
          from_(this->input(of.base)),
          to_(this->template output<std::uint16_t>(of.base.size())) {}

    void launch() { this->session_.copy(to_, from_, 2 * this->case_.base.size()); }
    std::uint64_t wrong() { return this->wrong_of(to_, this->case_.base); }

private:
    const std::uint16_t* from_;
    std::uint16_t* to_;
};

template <class Session>
class CompareWork : public BatchWork<Session> {
public:
    CompareWork(Session& session, const BatchCase& of)
        : BatchWork<Session>(session, of),
          base_(this->input(of.base)),
          next_(this->input(of.next)),
          found_(this->template sum<unsigned long long>(1)) {}

    void launch() {
        launch_compare(this->session_.queue(), base_, next_, this->case_.base.size(), found_);
    }
    std::uint64_t wrong() {
        std::uint64_t expected = 0;
        for (std::size_t i = 0; i < this->case_.base.size(); ++i)
            expected += this->case_.base[i] != this->case_.next[i] ? 1u : 0u;
        return this->session_.fetch(found_, 1).front() == expected ? 0 : 1;
    }

private:
    const std::uint16_t* base_;
    const std::uint16_t* next_;
    unsigned long long* found_;
};

template <class Session>
class DiffWork : public StagingWork<Session> {
public:
    DiffWork(Session& session, const BatchCase& of)
        : StagingWork<Session>(session, of),
          base_(this->input(of.base)),
          next_(this->input(of.next)),
          marks_(this->template output<std::uint8_t>(std::size_t{this->segments()} * kMarkBytes)),
          changed_(this->template output<std::uint32_t>(this->segments())) {}

    void launch() {
        launch_diff(this->session_.queue(), {base_, next_, this->spans(), this->segments()},
                    {marks_, changed_, this->scan_}, this->list_);
    }
    std::uint64_t wrong() { return this->wrong_lists(&BatchTile::changes); }

private:
    const std::uint16_t* base_;
    const std::uint16_t* next_;
    std::uint8_t* marks_;
    std::uint32_t* changed_;
};

template <class Session>
class StageWork : public StagingWork<Session> {
public:
    StageWork(Session& session, const BatchCase& of) : StagingWork<Session>(session, of) {
        std::vector<std::uint32_t> index;
        std::vector<std::uint16_t> mask;
        std::vector<TileMasks> tiles;
        for (const BatchTile& tile : of.tiles) {
            tiles.push_back({{tile.first, tile.words}, tile.index, tile.mask});
            index.insert(index.end(), tile.index.begin(), tile.index.end());
            mask.insert(mask.end(), tile.mask.begin(), tile.mask.end());
        }
        index_ = std::move(index);
        mask_ = std::move(mask);
        starts_ = plan_masks(tiles);
        in_ = {this->input(of.base), this->input(index_), this->input(mask_),
               this->input(starts_), this->spans(),       this->segments()};
        scratch_ = {this->template output<std::uint32_t>(this->segments()),
                    this->template output<std::uint32_t>(this->segments()), this->scan_};
    }

    void launch() { launch_stage(this->session_.queue(), in_, scratch_, this->list_); }
    std::uint64_t wrong() { return this->wrong_lists(&BatchTile::changes); }

private:
    std::vector<std::uint32_t> index_;
    std::vector<std::uint16_t> mask_;
    std::vector<std::uint32_t> starts_;
    StageInput in_{};
    StageScratch scratch_{};
};

/// The staging list of a case as input.
template <class Session>
class StagedInput : public BatchWork<Session> {
public:
    StagedInput(Session& session, const BatchCase& of)
        : BatchWork<Session>(session, of), plan_(this->box_plan()) {
        for (std::size_t t = 0; t < of.tiles.size(); ++t) {
            const Changes& changes = of.tiles[t].changes;
            for (StagedSegment s : to_staged(changes)) {
                s.tile = static_cast<std::uint32_t>(t);
                s.positions_at += static_cast<std::uint32_t>(positions_.size());
                s.words_at += static_cast<std::uint32_t>(words_.size());
                segments_.push_back(s);
            }
            positions_.insert(positions_.end(), changes.positions.begin(), changes.positions.end());
            words_.insert(words_.end(), changes.words.begin(), changes.words.end());
        }
        list_ = {session.values(std::span<const StagedSegment>(segments_)),
                 session.values(std::span<const std::uint16_t>(positions_)),
                 session.values(std::span<const std::uint16_t>(words_))};
        table_ = {this->input(plan_.boxes), this->input(plan_.tiles)};
    }

protected:
    std::uint32_t count() const { return static_cast<std::uint32_t>(segments_.size()); }

    StagedList list_{};
    BoxTable table_{};

private:
    BoxPlan plan_;
    std::vector<StagedSegment> segments_;
    std::vector<std::uint16_t> positions_;
    std::vector<std::uint16_t> words_;
};

template <class Session>
class OverwriteWork : public StagedInput<Session> {
public:
    OverwriteWork(Session& session, const BatchCase& of)
        : StagedInput<Session>(session, of),
          weights_(this->template output<std::uint16_t>(of.base.size())) {}

    void launch() {
        launch_overwrite(this->session_.queue(), this->list_, this->count(), this->table_,
                         weights_);
    }
    std::uint64_t wrong() { return this->wrong_of(weights_, overwritten_junk(this->case_)); }

private:
    std::uint16_t* weights_;
};

template <class Session>
class DigestChangeWork : public StagedInput<Session> {
public:
    DigestChangeWork(Session& session, const BatchCase& of)
        : StagedInput<Session>(session, of),
          base_(this->input(of.base)),
          changes_(this->template sum<unsigned long long>(of.tiles.size())) {}

    void launch() {
        launch_digest_change(this->session_.queue(), this->list_, this->count(), this->table_,
                             {base_, this->case_.salt, changes_});
    }
    std::uint64_t wrong() {
        std::vector<unsigned long long> expected;
        for (const BatchTile& tile : this->case_.tiles) expected.push_back(tile.digest_change);
        return this->wrong_of(changes_, expected);
    }

private:
    const std::uint16_t* base_;
    unsigned long long* changes_;
};

/// Work over all words that the boxes hold.
template <class Session>
class BoxWork : public BatchWork<Session> {
public:
    BoxWork(Session& session, const BatchCase& of)
        : BatchWork<Session>(session, of),
          plan_(this->box_plan()),
          boxes_(this->input(plan_.boxes)),
          words_(this->input(of.base)) {}

protected:
    BoxPlan plan_;
    const Box* boxes_;
    const std::uint16_t* words_;
};

template <class Session>
class DigestWork : public BoxWork<Session> {
public:
    DigestWork(Session& session, const BatchCase& of)
        : BoxWork<Session>(session, of),
          digests_(this->template sum<unsigned long long>(of.tiles.size())) {}

    void launch() {
        launch_digest(this->session_.queue(), this->plan_, this->boxes_, this->words_,
                      this->case_.salt, digests_);
    }
    std::uint64_t wrong() {
        std::vector<unsigned long long> expected;
        for (const BatchTile& tile : this->case_.tiles) expected.push_back(tile.digest);
        return this->wrong_of(digests_, expected);
    }

private:
    unsigned long long* digests_;
};

/// gather(), and scatter(): between arrays that look the same, so one of them is copied.
template <class Session, bool kGather>
class MoveWork : public BoxWork<Session> {
public:
    MoveWork(Session& session, const BatchCase& of)
        : BoxWork<Session>(session, of),
          to_(this->template output<std::uint16_t>(of.base.size())) {}

    void launch() {
        if constexpr (kGather) {
            launch_gather(this->session_.queue(), this->plan_, this->boxes_, this->words_, to_);
        } else {
            launch_scatter(this->session_.queue(), this->plan_, this->boxes_, this->words_, to_);
        }
    }
    std::uint64_t wrong() {
        // Words between two tiles are nobody's.
        std::vector<std::uint16_t> expected(this->case_.base.size(),
                                            std::uint16_t{kBatchJunk * 0x101});
        for (const BatchTile& tile : this->case_.tiles)
            std::copy_n(this->case_.base.begin() + static_cast<std::ptrdiff_t>(tile.first),
                        tile.words, expected.begin() + static_cast<std::ptrdiff_t>(tile.first));
        return this->wrong_of(to_, expected);
    }

private:
    std::uint16_t* to_;
};

template <class Session>
using GatherWork = MoveWork<Session, true>;
template <class Session>
using ScatterWork = MoveWork<Session, false>;

template <class Session>
class FieldWork : public BatchWork<Session> {
public:
    FieldWork(Session& session, const BatchCase& of) : BatchWork<Session>(session, of) {
        std::vector<FieldPiece> pieces;
        for (const BatchTile& tile : of.tiles)
            pieces.push_back({tile.field, {0, 1}, 0, tile.words, tile.first});
        plan_ = plan_field(pieces);
        in_ = {this->input(plan_.rows), this->input(plan_.warps),
               static_cast<std::uint32_t>(plan_.warps.size())};
        out_ = {this->template output<std::uint16_t>(of.base.size()),
                this->template output<std::uint16_t>(of.base.size())};
    }

    void launch() { launch_field(this->session_.queue(), in_, out_); }
    std::uint64_t wrong() {
        return wrong_tiles(out_.base, this->case_.base) + wrong_tiles(out_.next, this->case_.next);
    }

private:
    std::uint64_t wrong_tiles(const std::uint16_t* found,
                              const std::vector<std::uint16_t>& expected) {
        const auto all = this->session_.fetch(found, expected.size());
        std::uint64_t wrong = 0;
        for (const BatchTile& tile : this->case_.tiles)
            wrong += wrong_values(all.subspan(tile.first, tile.words),
                                  std::span(expected).subspan(tile.first, tile.words));
        return wrong;
    }

    FieldPlan plan_;
    FieldInput in_{};
    FieldOutput out_{};
};

}  // namespace refit::kernels
