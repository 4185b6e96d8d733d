// The operations of xc over one case of a batch, as kernels/cuda/batch_work.hpp has the others.
#pragma once

#include "kernels/cuda/batch_work.hpp"
#include "kernels/cuda/xc_launches.cuh"

namespace refit::kernels {

template <class Session>
class XcSampleWork : public BatchWork<Session> {
public:
    XcSampleWork(Session& session, const BatchCase& of)
        : BatchWork<Session>(session, of),
          planned_(plan_segments(this->tile_spans())),
          spans_(this->input(planned_)),
          base_(this->input(of.base)),
          words_(this->template sum<std::uint32_t>(kXcExponents)) {}

    void launch() {
        launch_xc_sample(this->session_.queue(), base_,
                         {spans_, static_cast<std::uint32_t>(planned_.size())},
                         this->case_.tables.context.mantissa_bits, words_);
    }
    std::uint64_t wrong() {
        return wrong_values(this->session_.fetch(words_, kXcExponents),
                            std::span<const std::uint32_t>(this->case_.sample));
    }

private:
    std::vector<SegmentSpan> planned_;
    const SegmentSpan* spans_;
    const std::uint16_t* base_;
    std::uint32_t* words_;
};

/// Marks and list: what the device backend runs for Device::xc_scan() of both versions.
template <class Session>
class XcScanWork : public BatchWork<Session> {
public:
    XcScanWork(Session& session, const BatchCase& of)
        : BatchWork<Session>(session, of), planned_(plan_segments(this->tile_spans())) {
        const std::size_t segments = planned_.size();
        const std::size_t changes = of.changed();
        auto* const marks = this->template output<std::uint8_t>(segments * kMarkBytes);
        auto* const changed = this->template output<std::uint32_t>(segments);
        in_ = {this->input(of.base),
               this->input(of.next),
               this->input(planned_),
               marks,
               changed,
               static_cast<std::uint32_t>(segments),
               of.tables.context};
        mark_ = {marks, changed, this->scan(segments)};
        lists_ = {this->template output<std::uint16_t>(changes),
                  this->template output<std::uint16_t>(changes),
                  this->template output<std::uint64_t>(segments * kXcBuckets),
                  this->template sum<std::uint32_t>(kXcCounts), this->scan(segments)};
    }

    void launch() {
        if (in_.segments == 0) return;
        simt::launch(this->session_.queue(), mark_shape(in_.segments), diff_mark, in_.base,
                     in_.next, in_.spans, in_.segments, mark_);
        launch_xc_list(this->session_.queue(), in_, lists_);
    }

    std::uint64_t wrong() {
        const std::size_t segments = planned_.size();
        const auto marks = this->session_.fetch(mark_.marks, segments * kMarkBytes);
        std::vector<std::uint32_t> changed;
        std::vector<std::uint16_t> base;
        std::vector<std::uint16_t> step;
        std::vector<std::uint64_t> words;
        std::uint64_t wrong = 0;
        for (const BatchTile& tile : this->case_.tiles) {
            for (std::size_t byte = 0; byte < (tile.words + 7) / 8; ++byte)
                wrong += marks[changed.size() * kMarkBytes + byte] == tile.list.bits[byte] ? 0 : 1;
            changed.insert(changed.end(), tile.list.changed.begin(), tile.list.changed.end());
            base.insert(base.end(), tile.list.base.begin(), tile.list.base.end());
            step.insert(step.end(), tile.list.step.begin(), tile.list.step.end());
            for (const XcBucketWords& of : tile.list.words)
                words.insert(words.end(), of.begin(), of.end());
        }
        wrong += this->wrong_of(mark_.changed, changed) + this->wrong_of(lists_.base, base) +
                 this->wrong_of(lists_.step, step) + this->wrong_of(lists_.words, words);
        const XcCounts counts = sum_xc_counts(this->session_.fetch(lists_.counts, kXcCounts));
        for (std::size_t k = 0; k < counts.steps.size(); ++k)
            wrong += wrong_values(std::span<const std::uint32_t>(counts.steps[k]),
                                  std::span<const std::uint32_t>(this->case_.counts.steps[k]));
        return wrong;
    }

private:
    std::vector<SegmentSpan> planned_;
    XcListInput in_{};
    DiffScratch mark_{};
    XcLists lists_{};
};

template <class Session>
class XcEncodeWork : public BatchWork<Session> {
public:
    XcEncodeWork(Session& session, const BatchCase& of)
        : BatchWork<Session>(session, of), odds_{make_xc_odds(of.tables)} {
        std::vector<XcCoding> codings;
        for (const BatchTile& tile : of.tiles) {
            codings.push_back(
                {{tile.first, tile.words}, static_cast<std::uint32_t>(tile.list.base.size()), 0});
            const std::size_t marks_at = marks_.size();
            marks_.resize(marks_at + tile.levels.size() * kMarkBytes);
            std::ranges::copy(tile.list.bits,
                              marks_.begin() + static_cast<std::ptrdiff_t>(marks_at));
            levels_.insert(levels_.end(), tile.levels.begin(), tile.levels.end());
            base_.insert(base_.end(), tile.list.base.begin(), tile.list.base.end());
            step_.insert(step_.end(), tile.list.step.begin(), tile.list.step.end());
        }
        plan_ = plan_xc_encode(codings);
        in_ = {this->input(of.base), this->input(marks_), this->input(levels_),
               this->input(base_),   this->input(step_),  this->input(plan_.tiles),
               this->input(odds_),   this->tiles()};
        scratch_ = {this->template output<std::uint8_t>(plan_.room),
                    this->template output<std::uint8_t>(plan_.entries),
                    this->template output<XcCoded>(tiles()),
                    this->template output<std::uint32_t>(tiles()), this->scan(tiles())};
        bytes_ = this->template output<std::uint8_t>(plan_.room);
    }

    void launch() { launch_xc_encode(this->session_.queue(), in_, scratch_, bytes_); }

    std::uint64_t wrong() {
        std::vector<std::uint8_t> expected;
        std::vector<std::uint32_t> sizes;
        for (const BatchTile& tile : this->case_.tiles) {
            sizes.push_back(static_cast<std::uint32_t>(tile.payload.size()));
            for (const std::byte byte : tile.payload)
                expected.push_back(std::to_integer<std::uint8_t>(byte));
        }
        return this->wrong_of(scratch_.sizes, sizes) + this->wrong_of(bytes_, expected);
    }

private:
    std::uint32_t tiles() const { return static_cast<std::uint32_t>(this->case_.tiles.size()); }

    std::vector<XcOddsTable> odds_;
    std::vector<std::uint8_t> marks_;
    std::vector<std::uint8_t> levels_;
    std::vector<std::uint16_t> base_;
    std::vector<std::uint16_t> step_;
    XcPlan plan_;
    XcEncodeInput in_{};
    XcEncodeScratch scratch_{};
    std::uint8_t* bytes_ = nullptr;
};

template <class Session>
class XcDecodeWork : public StagingWork<Session> {
public:
    XcDecodeWork(Session& session, const BatchCase& of)
        : StagingWork<Session>(session, of), odds_{make_xc_odds(of.tables)} {
        std::vector<XcPayload> payloads;
        for (const BatchTile& tile : of.tiles) {
            payloads.push_back({{tile.first, tile.words},
                                bytes_.size(),
                                tile.payload.size(),
                                static_cast<std::uint32_t>(tile.changes.changed()),
                                0});
            for (const std::byte byte : tile.payload)
                bytes_.push_back(std::to_integer<std::uint8_t>(byte));
        }
        plan_ = plan_xc_decode(payloads);
        const std::uint32_t count = this->segments();
        in_ = {this->input(of.base), this->input(bytes_), this->input(plan_.tiles),
               this->input(odds_), static_cast<std::uint32_t>(of.tiles.size())};
        scratch_ = {this->template output<std::uint8_t>(std::size_t{count} * kMarkBytes),
                    this->template output<std::uint8_t>(count),
                    this->template output<std::uint32_t>(count),
                    this->template output<std::uint32_t>(count),
                    this->template output<std::uint16_t>(plan_.entries),
                    this->template output<std::uint8_t>(plan_.entries),
                    this->template output<std::uint32_t>(plan_.entries),
                    this->scan_};
        faults_ = this->template output<XcFault>(of.tiles.size());
    }

    void launch() {
        launch_xc_decode(this->session_.queue(), in_, {this->spans(), this->segments()}, scratch_,
                         this->list_, faults_);
    }
    std::uint64_t wrong() {
        std::vector<XcFault> expected;
        for (const BatchTile& tile : this->case_.tiles) expected.push_back(tile.fault);
        return this->wrong_of(faults_, expected) + this->wrong_lists(&BatchTile::decoded);
    }

private:
    std::vector<XcOddsTable> odds_;
    std::vector<std::uint8_t> bytes_;
    XcPlan plan_;
    XcDecodeInput in_{};
    XcDecodeScratch scratch_{};
    XcFault* faults_ = nullptr;
};

}  // namespace refit::kernels
