#include <algorithm>
#include <bit>
#include <memory>

#include "kernels/check.hpp"
#include "kernels/cpu/xc_coder.hpp"
#include "kernels/cpu/xc_steps.hpp"

namespace refit {

namespace {

constexpr std::size_t kSampleEvery = 16;  // segments

/// Bits one behind the other, lowest first.
class BitWriter {
public:
    void put(std::uint64_t bits, unsigned count) {  // count <= 32
        pending_ |= bits << filled_;
        filled_ += count;
        written_ += count;
        for (; filled_ >= 8; filled_ -= 8, pending_ >>= 8)
            bytes_.push_back(static_cast<std::byte>(pending_));
    }

    std::size_t written() const { return written_; }

    /// Zeros up to a whole byte.
    std::vector<std::byte> finish() {
        if (filled_ > 0) bytes_.push_back(static_cast<std::byte>(pending_));
        return std::move(bytes_);
    }

private:
    std::vector<std::byte> bytes_;
    std::uint64_t pending_ = 0;
    unsigned filled_ = 0;
    std::size_t written_ = 0;
};

std::uint16_t magnitude(std::uint16_t step) {
    return (step & 0x8000) != 0 ? static_cast<std::uint16_t>(-step) : step;
}

/// What one stage decides: its list, and a bit per entry.
struct Stage {
    std::vector<std::uint16_t> base;
    std::vector<std::uint16_t> size;  // |step|
    std::vector<std::uint32_t> bits;
};

/// The list of stage k + 1 from that of stage k, whose bits it fills in.
Stage decide(Stage& stage, unsigned k) {
    Stage next;
    const std::size_t entries = stage.base.size();
    stage.bits.assign((entries + kXcLanes - 1) / kXcLanes, 0);
    next.base.resize(entries);
    next.size.resize(entries);
    std::size_t kept = 0;
    for (std::size_t r = 0; r < entries; ++r) {
        const std::uint32_t bit = stage.size[r] >> k != 0 ? 1 : 0;
        stage.bits[r / kXcLanes] |= bit << r % kXcLanes;
        next.base[kept] = stage.base[r];
        next.size[kept] = stage.size[r];
        kept += bit;
    }
    next.base.resize(kept);
    next.size.resize(kept);
    return next;
}

/// Stages and raw bits of the list of changed words.
struct Values {
    std::vector<Stage> stages;
    std::vector<std::byte> raw;
};

Values values_of(const XcTile& tile, unsigned stages) {
    Values values;
    BitWriter raw;
    Stage list;
    list.base = tile.base;
    list.size.resize(tile.step.size());
    for (std::size_t r = 0; r < tile.step.size(); ++r) {
        list.size[r] = magnitude(tile.step[r]);
        raw.put(tile.step[r] >> 15, 1);
    }
    for (unsigned k = 1; k <= stages && !list.base.empty(); ++k) {
        Stage next = decide(list, k);
        values.stages.push_back(std::move(list));
        for (const std::uint16_t size : next.size) raw.put(size >> (k - 1) & 1u, 1);
        list = std::move(next);
    }
    // A table that cannot say how far the largest step goes would lose bits.
    REFIT_KERNEL_CHECK(list.base.empty() || stages == kXcStages ||
                       std::ranges::all_of(list.size, [&](std::uint16_t size) {
                           return size >> (stages + 1) == 0;
                       }));
    values.raw = raw.finish();
    return values;
}

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
            const XcListRun run{stage.base.data() + (left - count) * kXcLanes, count,
                                tables_.context, odds};
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
        const XcFlagRun run{segment.data(), whole, tables_.context, odds};
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

/// Calls visit(first, positions or empty when dense, next words) for every segment that changes.
template <class Visit>
void for_each_segment(const Changes& changes, const Visit& visit) {
    std::size_t position = 0;
    std::size_t word = 0;
    for (const SegmentChanges& s : changes.segments) {
        const auto positions =
            std::span(changes.positions).subspan(position, s.dense ? 0 : s.stored);
        visit(std::size_t{s.segment} * kSegmentWords, positions,
              std::span(changes.words).subspan(word, s.stored));
        position += positions.size();
        word += s.stored;
    }
}

}  // namespace

void XcCoder::scan(std::span<const std::uint16_t> base,
                   const Changes& changes,
                   std::uint8_t mantissa_bits,
                   XcTile& tile,
                   XcCounts& counts) const {
    const XcContext context{mantissa_bits, 0};
    tile.bits.assign((base.size() + kXcGroupWords - 1) / kXcGroupWords * (kXcGroupWords / 8), 0);
    tile.base.clear();
    tile.step.clear();
    const auto add = [&](std::size_t at, std::uint16_t next) {
        tile.bits[at / 8] = static_cast<std::uint8_t>(tile.bits[at / 8] | 1u << at % 8);
        tile.base.push_back(base[at]);
        tile.step.push_back(static_cast<std::uint16_t>(xc_ordinal(next) - xc_ordinal(base[at])));
    };
    for_each_segment(changes, [&](std::size_t first, auto positions, auto words) {
        for (std::size_t k = 0; k < words.size(); ++k) {
            const std::size_t at = first + (positions.empty() ? k : positions[k]);
            REFIT_KERNEL_CHECK(at < base.size());
            if (base[at] != words[k]) add(at, words[k]);
        }
    });
    for (std::size_t r = 0; r < tile.base.size(); ++r) {
        const std::uint32_t e = context.exponent(tile.base[r]);
        const unsigned top = static_cast<unsigned>(std::bit_width(magnitude(tile.step[r])));
        for (unsigned k = 0; k < top; ++k) ++counts.steps[k][e];
    }
    for (std::size_t first = 0; first < base.size(); first += kSampleEvery * kSegmentWords) {
        const auto segment =
            base.subspan(first, std::min<std::size_t>(kSegmentWords, base.size() - first));
        for (const std::uint16_t word : segment) ++counts.words[context.exponent(word)];
        counts.sampled += segment.size();
    }
    counts.tile_words += base.size();
}

void XcCoder::expect(std::span<const std::uint16_t> base,
                     const XcTile& tile,
                     const XcTables& tables,
                     std::vector<XcSegment>& segments) const {
    const XcOdds odds = xc_odds(tables.flags);
    segments.clear();
    for (std::size_t first = 0; first < base.size(); first += kSegmentWords) {
        const auto words =
            base.subspan(first, std::min<std::size_t>(kSegmentWords, base.size() - first));
        XcSegment segment;
        for (std::size_t i = first / 8; i < (first + words.size() + 7) / 8; ++i)
            segment.changed += static_cast<std::uint32_t>(std::popcount(tile.bits[i]));
        if (segment.changed != 0) {
            const std::size_t done =
                ops_.sum_odds(words.data(), words.size(), tables.context, odds, segment.expected);
            for (const std::uint16_t word : words.subspan(done))
                segment.expected += odds[tables.context.bucket(word)];
        }
        segments.push_back(segment);
    }
}

bool XcCoder::encode(std::span<const std::uint16_t> base,
                     const XcTile& tile,
                     const XcTables& tables,
                     std::span<const std::uint8_t> levels,
                     std::vector<std::byte>& out) const {
    const std::size_t limit = 2 * base.size();
    const Values values = values_of(tile, tables.stages);
    Writer writer(ops_, tables, limit);
    writer.start(values.raw);
    for (std::size_t k = values.stages.size(); k-- > 0 && !writer.over();)
        writer.put_stage(values.stages[k], static_cast<unsigned>(k + 1));
    std::array<XcOdds, kXcLevels> odds;
    for (unsigned level = 1; level < kXcLevels; ++level) odds[level] = xc_odds(tables.flags, level);
    for (std::size_t s = levels.size(); s-- > 0 && !writer.over();) {
        if (levels[s] == 0) continue;
        const std::size_t first = s * kSegmentWords;
        writer.put_flags(
            base.subspan(first, std::min<std::size_t>(kSegmentWords, base.size() - first)),
            tile.bits.data() + first / 8, odds[levels[s]]);
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
