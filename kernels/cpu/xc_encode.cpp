#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>

#include "kernels/check.hpp"
#include "kernels/cpu/prefetch.hpp"
#include "kernels/cpu/xc_coder.hpp"
#include "kernels/cpu/xc_steps.hpp"

namespace refit {

namespace {

/// Bits one behind the other, lowest first, zeros behind the last.
class BitWriter {
public:
    /// The first `count` bits of words; those behind them are 0.
    void put(std::span<const std::uint32_t> bits, std::size_t count) {
        bytes_.resize((written_ + count + 7) / 8 + sizeof(std::uint64_t));
        for (std::size_t i = 0; i < bits.size(); ++i) {
            const std::size_t at = written_ + 32 * i;
            std::uint64_t eight = 0;
            std::memcpy(&eight, bytes_.data() + at / 8, sizeof(eight));
            eight |= std::uint64_t{bits[i]} << at % 8;
            std::memcpy(bytes_.data() + at / 8, &eight, sizeof(eight));
        }
        written_ += count;
    }

    std::vector<std::byte> finish() {
        bytes_.resize((written_ + 7) / 8);
        return std::move(bytes_);
    }

private:
    std::vector<std::byte> bytes_;
    std::size_t written_ = 0;
};

/// What one stage decides: its list, and a bit per entry.
struct Stage {
    std::vector<std::uint16_t> base;
    std::vector<std::uint16_t> size;  // |step|
    std::vector<std::uint32_t> bits;
};

/// Stages and raw bits of the list of changed words.
struct Values {
    std::vector<Stage> stages;
    std::vector<std::byte> raw;
};

class ValueWriter {
public:
    explicit ValueWriter(const XcOps& ops) : ops_(ops) {}

    Values write(const XcTile& tile, unsigned stages) {
        Values values;
        put_raw(tile.step, Shifts{0, 15});
        Stage list{tile.base, tile.step, {}};
        for (std::uint16_t& size : list.size) size = xc_step_size(size);
        for (unsigned k = 1; k <= stages && !list.base.empty(); ++k) {
            list.bits.resize((list.base.size() + kXcLanes - 1) / kXcLanes);
            ops_.test_bits(list.size.data(), list.size.size(), Shifts{0, k}, list.bits.data());
            Stage next = decided(list);
            put_raw(next.size, Shifts{16 - k, 15});
            values.stages.push_back(std::move(list));
            list = std::move(next);
        }
        // A table that cannot say how far the largest step goes would lose bits.
        const auto fits = [&](std::uint16_t size) { return size >> (stages + 1) == 0; };
        REFIT_KERNEL_CHECK(stages == kXcStages || std::ranges::all_of(list.size, fits));
        values.raw = raw_.finish();
        return values;
    }

private:
    void put_raw(const std::vector<std::uint16_t>& values, Shifts shifts) {
        bits_.resize((values.size() + 31) / 32);
        ops_.test_bits(values.data(), values.size(), shifts, bits_.data());
        raw_.put(bits_, values.size());
    }

    /// The entries that a stage decides with 1.
    Stage decided(const Stage& stage) const {
        Stage next;
        for_each_set_entry(ops_, stage.bits, [&](std::size_t r) {
            next.base.push_back(stage.base[r]);
            next.size.push_back(stage.size[r]);
        });
        return next;
    }

    const XcOps& ops_;
    BitWriter raw_;
    std::vector<std::uint32_t> bits_;
};

std::uint32_t bits_at(std::span<const std::byte> raw, std::size_t first, unsigned count) {
    std::uint32_t bits = 0;
    for (unsigned i = 0; i < count; ++i) {
        const std::size_t at = first + i;
        if (at / 8 >= raw.size()) break;
        bits |= (std::to_integer<std::uint32_t>(raw[at / 8]) >> at % 8 & 1u) << i;
    }
    return bits;
}

/// Writes a payload from its end to its front.
class Writer {
public:
    Writer(const XcOps& ops, const XcTables& tables, std::size_t limit)
        : ops_(ops),
          tables_(tables),
          limit_(limit),
          room_(limit + kSlack),
          bytes_(std::make_unique_for_overwrite<std::byte[]>(room_)),
          out_(bytes_.get() + room_) {}

    /// More than the limit: what comes next need not be written.
    bool over() const { return written().size() > limit_; }
    std::span<const std::byte> written() const { return {out_, bytes_.get() + room_}; }

    void start(std::span<const std::byte> raw) {
        for (std::size_t i = 0; i < kXcLanes; ++i)
            lanes_.x[i] = kXcStateMin + bits_at(raw, kXcStateBits * i, kXcStateBits);
    }

    void put_stage(const Stage& stage, unsigned k) {
        const XcOdds odds = xc_odds(tables_.stage[k - 1]);
        const std::size_t whole = stage.base.size() / kXcLanes;
        const auto put = [&](std::size_t group) {
            const XcStep step = list_step(stage.base, group, tables_.context, odds);
            out_ = xc_put(lanes_, step, stage.bits[group], out_);
        };
        if (whole < stage.bits.size()) put(whole);
        for (std::size_t left = whole; left > 0 && !over();) {
            const std::size_t count = std::min(left, kGroupsAtOnce);
            const XcRun run{stage.base.data() + (left - count) * kXcLanes, count, tables_.context,
                            odds};
            const std::size_t done =
                ops_.put_list(run, stage.bits.data() + (left - count), lanes_, out_);
            for (std::size_t g = count - done; g-- > 0;) put(left - count + g);
            left -= count;
        }
    }

    void put_flags(std::span<const std::uint16_t> segment,
                   const std::uint8_t* bits,
                   const XcOdds& odds) {
        constexpr std::size_t kBytes = kXcGroupWords / 8;
        const std::size_t whole = segment.size() / kXcGroupWords;
        const auto put = [&](std::size_t group) {
            for (unsigned j = 8; j-- > 0;) {
                const XcStep step = flag_step(segment, group, j, tables_.context, odds);
                out_ = xc_put(lanes_, step, flag_bits(bits + group * kBytes, j), out_);
            }
        };
        if (whole * kXcGroupWords < segment.size()) put(whole);
        const XcRun run{segment.data(), whole, tables_.context, odds};
        const std::size_t done = ops_.put_flags(run, bits, lanes_, out_);
        for (std::size_t g = whole - done; g-- > 0;) put(g);
    }

    void put_levels(std::span<const std::uint8_t> levels) {
        for (std::size_t group = (levels.size() + kXcLanes - 1) / kXcLanes; group-- > 0;) {
            const auto mine = levels.subspan(group * kXcLanes,
                                             std::min(kXcLanes, levels.size() - group * kXcLanes));
            for (unsigned depth = 4; depth-- > 0;) {
                std::uint32_t bits = 0;
                XcStep step;
                for (std::size_t i = 0; i < mine.size(); ++i) {
                    const unsigned node = (16u + mine[i]) >> (4 - depth);
                    step.active |= 1u << i;
                    step.odds[i] = xc_hazard(tables_.level_nodes[node]);
                    bits |= (mine[i] >> (3 - depth) & 1u) << i;
                }
                out_ = xc_put(lanes_, step, bits, out_);
            }
        }
    }

    const XcLanes& lanes() const { return lanes_; }

private:
    static constexpr std::size_t kGroupsAtOnce = 128;
    static constexpr std::size_t kSlack =
        kXcStepBytesMax * (kSegmentWords / kXcLanes + kGroupsAtOnce + 64);

    const XcOps& ops_;
    const XcTables& tables_;
    std::size_t limit_;
    std::size_t room_;
    std::unique_ptr<std::byte[]> bytes_;
    std::byte* out_;
    XcLanes lanes_{};
};

void append_payload(const XcLanes& lanes,
                    std::span<const std::byte> coded,
                    std::span<const std::byte> raw,
                    std::vector<std::byte>& out) {
    for (const std::uint32_t x : lanes.x)
        for (unsigned byte = 0; byte < kXcStateBytes; ++byte)
            out.push_back(static_cast<std::byte>(x >> 8 * byte));
    out.insert(out.end(), coded.begin(), coded.end());
    constexpr std::size_t kInStates = kXcRawInStates / 8;
    if (raw.size() > kInStates) out.insert(out.end(), raw.begin() + kInStates, raw.end());
}

/// What one segment of a staging list says, appended to the lists of a tile.
void list_segment(std::span<const std::uint16_t> segment,
                  std::span<const std::uint16_t> positions,
                  std::span<const std::uint16_t> next,
                  std::uint8_t* bits,
                  std::uint16_t* base,
                  std::uint16_t* step) {
    for (std::size_t k = 0; k < positions.size(); ++k) {
        const std::size_t at = positions[k];
        REFIT_KERNEL_CHECK(at < segment.size());
        bits[at / 8] = static_cast<std::uint8_t>(bits[at / 8] | 1u << at % 8);
        base[k] = segment[at];
        fetch_ahead(segment.data() + at);
    }
    for (std::size_t k = 0; k < positions.size(); ++k) step[k] = xc_step(base[k], next[k]);
}

/// The positions at which a dense segment changes, and the words there.
struct Thinned {
    std::array<std::uint16_t, kSegmentWords> positions;
    std::array<std::uint16_t, kSegmentWords> next;
    std::size_t count = 0;

    Thinned(std::span<const std::uint16_t> base, std::span<const std::uint16_t> words) {
        REFIT_KERNEL_CHECK(words.size() == base.size() && base.size() <= kSegmentWords);
        for (std::size_t i = 0; i < words.size(); ++i) {
            positions[count] = static_cast<std::uint16_t>(i);
            next[count] = words[i];
            count += base[i] != words[i] ? 1 : 0;
        }
    }
};

/// Counts a list of changes by exponent.
void count_steps(const XcTile& tile, const XcContext& context, XcCounts& counts) {
    // Once each, by the class of the step; two turns, because neighbours are often alike and would
    // wait for each other.
    std::array<std::array<XcExponents, kXcStages + 1>, 2> by_class{};
    for (std::size_t r = 0; r < tile.base.size(); ++r) {
        const auto size = static_cast<unsigned>(xc_step_size(tile.step[r]));
        const auto k = static_cast<std::size_t>(std::bit_width(size | 1u)) - 1;
        ++by_class[r % 2][k][context.exponent(tile.base[r])];
    }
    counts = {};
    for (std::size_t k = kXcStages + 1; k-- > 0;) {
        if (k < kXcStages) counts.steps[k] = counts.steps[k + 1];
        for (std::size_t e = 0; e < kXcExponents; ++e)
            counts.steps[k][e] += by_class[0][k][e] + by_class[1][k][e];
    }
}

std::span<const std::uint16_t> segment_of(std::span<const std::uint16_t> base, std::size_t s) {
    const std::size_t first = std::min(s * kSegmentWords, base.size());
    return base.subspan(first, std::min<std::size_t>(kSegmentWords, base.size() - first));
}

/// The words of a segment by bucket, from a sample of them.
XcBucketWords count_words(const XcOps& ops,
                          std::span<const std::uint16_t> segment,
                          const XcContext& context) {
    std::array<std::uint16_t, kSegmentWords / kXcBucketSampleEvery * kXcBucketSample> sample;
    std::size_t count = 0;
    for (std::size_t at = 0; at < segment.size(); at += kXcBucketSampleEvery) {
        const auto some = segment.subspan(at, std::min(kXcBucketSample, segment.size() - at));
        std::memcpy(sample.data() + count, some.data(), some.size_bytes());
        count += some.size();
    }
    XcBucketWords words{};
    const std::size_t done = ops.count_buckets(sample.data(), count, context, words);
    for (std::size_t i = done; i < count; ++i) ++words[context.bucket(sample[i])];
    for (std::uint64_t& found : words) found = found * segment.size() / count;
    return words;
}

}  // namespace

void XcCoder::sample(std::span<const std::uint16_t> base,
                     std::uint8_t mantissa_bits,
                     XcExponents& words) const {
    const XcContext context{mantissa_bits, 0};
    constexpr std::size_t kEvery = kXcWindowSegments * kSegmentWords;
    for (std::size_t first = 0; first < base.size(); first += kEvery) {
        const auto some = base.subspan(first, std::min(kXcWindowSample, base.size() - first));
        for (const std::uint16_t word : some) ++words[context.exponent(word)];
    }
}

void XcCoder::scan(std::span<const std::uint16_t> base,
                   const Changes& changes,
                   const XcContext& context,
                   XcTile& tile,
                   XcCounts& counts) const {
    const std::size_t changed = changes.changed();
    tile.bits.assign((base.size() + kXcGroupWords - 1) / kXcGroupWords * (kXcGroupWords / 8), 0);
    tile.changed.assign((base.size() + kSegmentWords - 1) / kSegmentWords, 0);
    tile.words.resize(tile.changed.size());
    tile.base.resize(changed);
    tile.step.resize(changed);
    std::span<const std::uint16_t> positions = changes.positions;
    std::span<const std::uint16_t> words = changes.words;
    std::size_t at = 0;
    for (const SegmentChanges& s : changes.segments) {
        const std::size_t first = std::size_t{s.segment} * kSegmentWords;
        REFIT_KERNEL_CHECK(first < base.size() && s.changed <= changed - at);
        const auto segment = segment_of(base, s.segment);
        const auto list = [&](auto where, auto next) {
            list_segment(segment, where, next, tile.bits.data() + first / 8, tile.base.data() + at,
                         tile.step.data() + at);
        };
        if (s.dense) {
            const Thinned thinned(segment, words.first(s.stored));
            REFIT_KERNEL_CHECK(thinned.count == s.changed);
            list(std::span(thinned.positions).first(thinned.count),
                 std::span(thinned.next).first(thinned.count));
        } else {
            REFIT_KERNEL_CHECK(s.stored == s.changed);
            list(positions.first(s.stored), words.first(s.stored));
            positions = positions.subspan(s.stored);
        }
        words = words.subspan(s.stored);
        tile.changed[s.segment] = s.changed;
        at += s.changed;
    }
    for (std::size_t s = 0; s < tile.words.size(); ++s)
        tile.words[s] = count_words(ops_, segment_of(base, s), context);
    count_steps(tile, context, counts);
}

bool XcCoder::encode(std::span<const std::uint16_t> base,
                     const XcTile& tile,
                     const XcTables& tables,
                     std::span<const std::uint8_t> levels,
                     std::vector<std::byte>& out) const {
    const std::size_t limit = 2 * base.size();
    const Values values = ValueWriter(ops_).write(tile, tables.stages);
    Writer writer(ops_, tables, limit);
    writer.start(values.raw);
    for (std::size_t k = values.stages.size(); k-- > 0 && !writer.over();)
        writer.put_stage(values.stages[k], static_cast<unsigned>(k + 1));
    std::array<XcOdds, kXcLevels> odds;
    for (unsigned level = 1; level < kXcLevels; ++level) odds[level] = xc_odds(tables.flags, level);
    for (std::size_t s = levels.size(); s-- > 0 && !writer.over();) {
        if (levels[s] == 0) continue;
        writer.put_flags(segment_of(base, s), tile.bits.data() + s * (kSegmentWords / 8),
                         odds[levels[s]]);
    }
    if (writer.over()) return false;
    writer.put_levels(levels);
    const std::size_t before = out.size();
    append_payload(writer.lanes(), writer.written(), values.raw, out);
    if (out.size() - before < limit) return true;
    out.resize(before);
    return false;
}

}  // namespace refit
