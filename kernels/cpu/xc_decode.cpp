#include <algorithm>
#include <array>
#include <cstring>

#include "kernels/cpu/xc_coder.hpp"
#include "kernels/cpu/xc_steps.hpp"

namespace refit {

namespace {

/// The raw bits of a payload: those in the states, then the bytes at its end.
class RawBits {
public:
    RawBits(const XcLanes& lanes, std::span<const std::byte> tail)
        : bytes_(kXcRawInStates / 8 + tail.size() + sizeof(std::uint64_t)) {
        for (std::size_t i = 0; i < kXcLanes; ++i) {
            const std::size_t at = kXcStateBits * i;
            std::uint32_t four = 0;
            std::memcpy(&four, bytes_.data() + at / 8, sizeof(four));
            four |= (lanes.x[i] & (kXcStateMin - 1)) << at % 8;
            std::memcpy(bytes_.data() + at / 8, &four, sizeof(four));
        }
        std::ranges::copy(tail, bytes_.begin() + kXcRawInStates / 8);
    }

    std::uint32_t at(std::size_t i) const {
        return std::to_integer<std::uint32_t>(bytes_[i / 8]) >> i % 8 & 1u;
    }

    /// The first bits, one in each of `words`: all ones where it is 1.
    void spread(std::span<std::uint16_t> words) const {
        for (std::size_t i = 0; i < words.size(); ++i)
            words[i] = static_cast<std::uint16_t>(-at(i));
    }

    /// Only zeros from bit `first` on?
    bool zeros_from(std::size_t first) const {
        for (std::size_t i = first; i < 8 * bytes_.size(); ++i)
            if (at(i) != 0) return false;
        return true;
    }

private:
    std::vector<std::byte> bytes_;
};

/// Reads a payload from its front to its end.
class Reader {
public:
    Reader(const XcOps& ops, const XcTables& tables, std::span<const std::byte> payload)
        : ops_(ops), tables_(tables), bytes_(payload.size() + kXcReadSlack) {
        std::ranges::copy(payload, bytes_.begin());
        in_ = bytes_.data();
        end_ = in_ + payload.size();
    }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

    XcFault start() {
        if (static_cast<std::size_t>(end_ - in_) < kXcStatesBytes) return XcFault::truncated;
        for (std::uint32_t& x : lanes_.x) {
            x = 0;
            for (unsigned byte = 0; byte < kXcStateBytes; ++byte)
                x |= std::to_integer<std::uint32_t>(*in_++) << 8 * byte;
            if (x < kXcStateMin || x >= kXcStateEnd) return XcFault::corrupt;
        }
        return XcFault::none;
    }

    /// False from the step on that found no more bytes. Then ask for nothing more.
    bool good() const { return in_ <= end_; }

    void get_levels(std::span<std::uint8_t> levels) {
        for (std::size_t first = 0; first < levels.size() && good(); first += kXcLanes) {
            const auto mine = levels.subspan(first, std::min(kXcLanes, levels.size() - first));
            std::ranges::fill(mine, std::uint8_t{1});
            for (int depth = 0; depth < 4 && good(); ++depth) {
                XcStep step;
                for (std::size_t i = 0; i < mine.size(); ++i) {
                    step.active |= 1u << i;
                    step.odds[i] = xc_hazard(tables_.level_nodes[mine[i]]);
                }
                const std::uint32_t bits = xc_get(lanes_, step, in_);
                for (std::size_t i = 0; i < mine.size(); ++i)
                    mine[i] = static_cast<std::uint8_t>(2 * mine[i] + (bits >> i & 1u));
            }
            for (std::uint8_t& level : mine) level = static_cast<std::uint8_t>(level - kXcLevels);
        }
    }

    /// Writes the bits of whole groups.
    void get_flags(std::span<const std::uint16_t> segment, std::uint8_t* bits, const XcOdds& odds) {
        constexpr std::size_t kBytes = kXcGroupWords / 8;
        const std::size_t groups = (segment.size() + kXcGroupWords - 1) / kXcGroupWords;
        const XcRun run{segment.data(), segment.size() / kXcGroupWords, tables_.context, odds};
        std::size_t g = ops_.get_flags(run, bits, lanes_, in_, end_);
        for (; g < groups && good(); ++g) {
            std::fill_n(bits + g * kBytes, kBytes, std::uint8_t{0});
            for (unsigned j = 0; j < 8 && good(); ++j) {
                const XcStep step = flag_step(segment, g, j, tables_.context, odds);
                const std::uint32_t found = xc_get(lanes_, step, in_);
                for (std::size_t i = 0; i < kXcLanes; ++i) {
                    std::uint8_t& byte = bits[g * kBytes + i];
                    byte = static_cast<std::uint8_t>(byte | (found >> i & 1u) << j);
                }
            }
        }
    }

    void get_stage(std::span<const std::uint16_t> base, unsigned k, std::uint32_t* bits) {
        const XcOdds odds = xc_odds(tables_.stage[k - 1]);
        const std::size_t groups = (base.size() + kXcLanes - 1) / kXcLanes;
        const XcRun run{base.data(), base.size() / kXcLanes, tables_.context, odds};
        std::size_t g = ops_.get_list(run, bits, lanes_, in_, end_);
        for (; g < groups && good(); ++g) {
            const XcStep step = list_step(base, g, tables_.context, odds);
            bits[g] = xc_get(lanes_, step, in_);
        }
    }

    const XcLanes& lanes() const { return lanes_; }
    std::span<const std::byte> rest() const { return {in_, end_}; }

private:
    const XcOps& ops_;
    const XcTables& tables_;
    std::vector<std::byte> bytes_;  // a copy, so that whole groups may be read near its end
    const std::byte* in_ = nullptr;
    const std::byte* end_ = nullptr;
    XcLanes lanes_{};
};

/// The entries that a stage decided with 1, by their numbers in the list of all changes.
struct Deeper {
    std::vector<std::uint16_t> base;
    std::vector<std::uint32_t> entry;
};

Deeper deeper(const XcOps& ops,
              std::span<const std::uint16_t> base,
              std::span<const std::uint32_t> entry,
              std::span<const std::uint32_t> bits) {
    Deeper next;
    for_each_set_entry(
        ops, bits.first((base.size() + kXcLanes - 1) / kXcLanes), [&](std::size_t r) {
            next.base.push_back(base[r]);
            next.entry.push_back(entry.empty() ? static_cast<std::uint32_t>(r) : entry[r]);
        });
    return next;
}

/// Stages of a list and what follows them: the next words.
XcFault read_words(Reader& reader,
                   const XcOps& ops,
                   std::span<const std::uint16_t> base,
                   unsigned stages,
                   std::vector<std::uint16_t>& next) {
    std::vector<Deeper> lists;
    std::vector<std::uint32_t> bits((base.size() + kXcLanes - 1) / kXcLanes);
    std::span<const std::uint16_t> words = base;
    std::span<const std::uint32_t> entry;
    for (unsigned k = 1; k <= stages && !words.empty() && reader.good(); ++k) {
        reader.get_stage(words, k, bits.data());
        lists.push_back(deeper(ops, words, entry, bits));
        words = lists.back().base;
        entry = lists.back().entry;
    }
    if (!reader.good()) return XcFault::truncated;
    std::size_t raw_bits = base.size();
    for (const Deeper& list : lists) raw_bits += list.base.size();
    const std::size_t beyond = raw_bits > kXcRawInStates ? raw_bits - kXcRawInStates : 0;
    if (reader.rest().size() != (beyond + 7) / 8) return XcFault::corrupt;
    for (const std::uint32_t x : reader.lanes().x)
        if (x >= 2 * kXcStateMin) return XcFault::corrupt;
    const RawBits raw(reader.lanes(), reader.rest());
    if (!raw.zeros_from(raw_bits)) return XcFault::corrupt;

    std::vector<std::uint16_t> size(base.size(), 1);
    std::size_t at = base.size();
    for (std::size_t k = 0; k < lists.size(); ++k) {
        for (const std::uint32_t r : lists[k].entry) {
            // The leading 1 moves up by one, and the bit that it leaves is known now.
            const unsigned lower = size[r] ^ 1u << k;
            const unsigned known = lower | raw.at(at++) << k;
            size[r] = static_cast<std::uint16_t>(known | 2u << k);
        }
    }
    next.resize(base.size());
    raw.spread(next);
    for (std::size_t r = 0; r < base.size(); ++r) {
        const std::uint16_t down = next[r];
        const auto step = static_cast<std::uint16_t>((size[r] ^ down) - down);
        next[r] = xc_ordinal(static_cast<std::uint16_t>(xc_ordinal(base[r]) + step));
    }
    return XcFault::none;
}

/// Turns positions and next words into a staging list, segment by segment.
class Stager {
public:
    Stager(std::span<const std::uint16_t> base, Changes& out) : base_(base), out_(out) {
        out_.clear();
    }

    void add(std::uint32_t number,
             std::span<const std::uint16_t> positions,
             std::span<const std::uint16_t> next) {
        const std::size_t first = std::size_t{number} * kSegmentWords;
        const std::size_t words = std::min<std::size_t>(kSegmentWords, base_.size() - first);
        const bool dense = positions.size() > kSparseMax;
        out_.segments.push_back({number, static_cast<std::uint16_t>(positions.size()),
                                 static_cast<std::uint16_t>(dense ? words : positions.size()),
                                 dense});
        if (!dense) {
            out_.positions.insert(out_.positions.end(), positions.begin(), positions.end());
            out_.words.insert(out_.words.end(), next.begin(), next.end());
            return;
        }
        const std::size_t at = out_.words.size();
        const auto segment = base_.subspan(first, words);
        out_.words.insert(out_.words.end(), segment.begin(), segment.end());
        for (std::size_t k = 0; k < positions.size(); ++k) out_.words[at + positions[k]] = next[k];
    }

private:
    std::span<const std::uint16_t> base_;
    Changes& out_;
};

/// Where the words of every segment change: positions in the segment.
struct Flags {
    std::vector<std::uint16_t> positions;
    std::vector<std::uint32_t> changed;  // per segment
    std::vector<std::uint16_t> base;     // the words at the positions
};

XcFault read_flags(Reader& reader,
                   const XcOps& ops,
                   const XcTables& tables,
                   std::span<const std::uint16_t> base,
                   std::uint32_t changed,
                   Flags& flags) {
    std::vector<std::uint8_t> levels((base.size() + kSegmentWords - 1) / kSegmentWords);
    reader.get_levels(levels);
    if (!reader.good()) return XcFault::truncated;
    flags.positions.resize(std::size_t{changed} + kSegmentWords + kXcPositionSlack);
    flags.base.resize(changed);
    flags.changed.assign(levels.size(), 0);
    std::size_t found = 0;
    for (std::size_t s = 0; s < levels.size(); ++s) {
        if (levels[s] == 0) continue;
        const std::size_t first = s * kSegmentWords;
        const auto segment =
            base.subspan(first, std::min<std::size_t>(kSegmentWords, base.size() - first));
        alignas(64) std::array<std::uint8_t, kSegmentWords / 8> bits;
        reader.get_flags(segment, bits.data(), xc_odds(tables.flags, levels[s]));
        if (!reader.good()) return XcFault::truncated;
        std::uint16_t* const positions = flags.positions.data() + found;
        const std::size_t groups = (segment.size() + kXcGroupWords - 1) / kXcGroupWords;
        const std::size_t count = ops.set_bits(bits.data(), groups * kXcGroupWords / 8, positions);
        if (count == 0 || count > changed - found) return XcFault::corrupt;
        for (std::size_t k = 0; k < count; ++k) flags.base[found + k] = segment[positions[k]];
        flags.changed[s] = static_cast<std::uint32_t>(count);
        found += count;
    }
    return found == changed ? XcFault::none : XcFault::corrupt;
}

}  // namespace

XcFault XcCoder::decode(std::span<const std::uint16_t> base,
                        std::span<const std::byte> payload,
                        std::uint32_t changed,
                        const XcTables& tables,
                        Changes& out) const {
    out.clear();
    if (changed > base.size()) return XcFault::corrupt;
    Reader reader(ops_, tables, payload);
    if (const XcFault fault = reader.start(); fault != XcFault::none) return fault;
    Flags flags;
    XcFault fault = read_flags(reader, ops_, tables, base, changed, flags);
    if (fault != XcFault::none) return fault;
    std::vector<std::uint16_t> next;
    fault = read_words(reader, ops_, flags.base, tables.stages, next);
    if (fault != XcFault::none) return fault;
    Stager stager(base, out);
    std::size_t at = 0;
    for (std::size_t s = 0; s < flags.changed.size(); ++s) {
        const std::size_t count = flags.changed[s];
        if (count == 0) continue;
        stager.add(static_cast<std::uint32_t>(s), std::span(flags.positions).subspan(at, count),
                   std::span(next).subspan(at, count));
        at += count;
    }
    return XcFault::none;
}

}  // namespace refit
