// Payloads of xc and cf into the staging list, in three launches.
//
//   xc_decode     one warp per tile, lanes of the format = lanes of the warp: a bit per word that
//                 changes, how many there are in each segment, and their next words
//   scan_staged   where each segment's positions and words begin (kernels/cuda/scan.cuh)
//   xc_emit       one warp per segment: positions and words in ascending order
//
// Traffic    of the segments that change, the base once; the payload once; the bits, 1/16 of a
//            word each, written and read; about 20 bytes per change, most of them in the cache.
// Hostile    no payload reaches memory that is not its tile's: bytes past its end read as 0 and
//            make it truncated, changes past the stated number are counted and not stored, and
//            nothing of a tile with a fault is staged.
// Source     FORMAT.md 3.1; kernels/cpu/xc_decode.cpp is the reference, faults included.
#pragma once

#include <cstdint>

#include "kernels/cuda/diff.cuh"
#include "kernels/cuda/scan.cuh"
#include "kernels/cuda/tables.hpp"
#include "kernels/cuda/words.cuh"
#include "kernels/cuda/xc_tables.hpp"

namespace refit::kernels {

inline constexpr unsigned kXcThreads = 64;
inline constexpr unsigned kXcWarps = kXcThreads / simt::kWarpLanes;
inline constexpr std::uint32_t kXcRawBits = kXcRawInStates;  // those that the states hold
inline constexpr unsigned kXcListBits = 4;  // of a bucket, below the number of a change

struct XcDecodeInput {
    const std::uint16_t* base;
    const std::uint8_t* payloads;
    const XcTileSpan* tiles;
    const XcOddsTable* tables;
    std::uint32_t count;  // of tiles
};

/// Device memory of a batch with `entries` stated changes; per segment as in DiffScratch.
struct XcDecodeScratch {
    std::uint8_t* marks;        // [segments * kMarkBytes]
    std::uint8_t* levels;       // [segments]
    std::uint32_t* changed;     // [segments]
    std::uint32_t* entries_at;  // [segments]: where the changes of each begin
    std::uint16_t* words;       // [entries]: first the base words, then the next ones
    std::uint8_t* classes;      // [entries]
    std::uint32_t* list;        // [entries]: those that a stage decides
    ScanScratch scan;           // of what the segments store
};

inline namespace SIMT_TARGET {

/// One lane of a coder that reads.
struct XcReader {
    const std::uint8_t* bytes;
    std::uint32_t size;
    std::uint32_t at;  // the same in all lanes; past the size: truncated
    std::uint32_t x;
    unsigned lane;

    __device__ bool good() const { return at <= size; }
};

__device__ __forceinline__ unsigned lanes_below(unsigned lane) { return (1u << lane) - 1; }

/// One step: the bit of this lane, false where it has nothing to decide.
__device__ __forceinline__ bool decide(XcReader& reader, bool active, std::uint32_t odds) {
    const std::uint32_t s = reader.x & (kXcOddsOne - 1);
    const std::uint32_t t = (reader.x >> kXcOddsBits) * odds;
    const bool one = active && s < odds;
    if (active) reader.x = one ? t + s : reader.x - odds - t;
    for (int pass = 0; pass < 2; ++pass) {
        const bool wants = reader.x < kXcStateMin;
        const unsigned who = __ballot_sync(kAllLanes, wants);
        if (who == 0) break;
        if (wants) {
            const std::uint32_t at =
                reader.at + static_cast<unsigned>(__popc(who & lanes_below(reader.lane)));
            const std::uint32_t byte = at < reader.size ? __ldg(reader.bytes + at) : 0u;
            reader.x = reader.x << 8 | byte;
        }
        reader.at += static_cast<unsigned>(__popc(who));
    }
    return one;
}

/// What one warp works on. What all warps have in common stays in the kernel's parameters.
struct XcDecoding {
    const XcDecodeInput& in;
    const XcDecodeScratch& scratch;
    XcTileSpan tile;

    __device__ const XcOddsTable& tables() const { return in.tables[tile.tables]; }
    __device__ std::uint16_t& word(std::uint32_t r) const {
        return scratch.words[tile.entries_at + r];
    }
    __device__ std::uint8_t& size_class(std::uint32_t r) const {
        return scratch.classes[tile.entries_at + r];
    }
    __device__ std::uint32_t& listed(std::uint32_t r) const {
        return scratch.list[tile.entries_at + r];
    }
    __device__ std::uint8_t& level(std::uint32_t segment) const {
        return scratch.levels[tile.first_segment + segment];
    }
};

__device__ inline XcFault start_reading(XcReader& reader) {
    if (reader.size < kXcStatesBytes) return XcFault::truncated;
    const std::uint8_t* mine = reader.bytes + kXcStateBytes * reader.lane;
    reader.x =
        __ldg(mine) | std::uint32_t{__ldg(mine + 1)} << 8 | std::uint32_t{__ldg(mine + 2)} << 16;
    reader.at = kXcStatesBytes;
    const bool bad = reader.x < kXcStateMin || reader.x >= kXcStateEnd;
    return __any_sync(kAllLanes, bad) != 0 ? XcFault::corrupt : XcFault::none;
}

/// The level of segment s goes to lane s % 32, which is the one that reads it.
__device__ inline void read_levels(XcReader& reader, const XcDecoding& of) {
    const std::uint32_t segments = xc_segments(of.tile);
    for (std::uint32_t first = 0; first < segments && reader.good(); first += simt::kWarpLanes) {
        const bool active = first + reader.lane < segments;
        unsigned node = 1;
        for (int depth = 0; depth < 4; ++depth) {
            const bool bit = decide(reader, active, __ldg(of.tables().nodes + node));
            node = 2 * node + (bit ? 1u : 0u);
        }
        if (active) of.level(first + reader.lane) = static_cast<std::uint8_t>(node - kXcLevels);
    }
}

/// Reads the flags of one segment; yields how many are set. Changes from `found` on are listed.
__device__ inline std::uint32_t read_flags(XcReader& reader,
                                           const XcDecoding& of,
                                           std::uint32_t segment,
                                           unsigned level,
                                           std::uint32_t found) {
    const XcContext context = of.tables().context;
    const std::uint16_t* odds = of.tables().flags[level];
    const std::uint32_t first = segment * kSegmentWords;
    const std::uint32_t left = of.tile.words - first;
    const std::uint32_t words = left < kSegmentWords ? left : kSegmentWords;
    std::uint8_t* marks =
        of.scratch.marks + std::uint64_t{of.tile.first_segment + segment} * kMarkBytes;
    std::uint32_t count = 0;
    for (std::uint32_t start = 0; start < words && reader.good(); start += kWarpWords) {
        const std::uint32_t at = start + reader.lane * kGroupWords;
        const unsigned held = at < words ? group_mask(words - at) : 0u;
        const Group group = load_group(of.in.base, of.tile.first + first + at, 1, held);
        std::uint32_t odds_of[kGroupWords];
        for (unsigned i = 0; i < kGroupWords; ++i)
            odds_of[i] = __ldg(odds + context.bucket(group.word(i)));
        unsigned bits = 0;
        for (unsigned i = 0; i < kGroupWords; ++i)
            bits |= (decide(reader, (held >> i & 1u) != 0, odds_of[i]) ? 1u : 0u) << i;
        if (held != 0) marks[at / kGroupWords] = static_cast<std::uint8_t>(bits);
        if (__ballot_sync(kAllLanes, bits != 0) == 0) continue;
        const auto mine = static_cast<unsigned>(__popc(bits));
        const unsigned up_to = sum_up_to_lane(mine, reader.lane);
        std::uint32_t k = found + count + up_to - mine;
        for (unsigned i = 0; i < kGroupWords; ++i) {
            if ((bits >> i & 1u) == 0) continue;
            if (k < of.tile.changed) {
                of.word(k) = group.word(i);
                of.size_class(k) = 0;
            }
            ++k;
        }
        count += __shfl_sync(kAllLanes, up_to, simt::kWarpLanes - 1);
    }
    return count;
}

__device__ inline XcFault read_segments(XcReader& reader, const XcDecoding& of) {
    const std::uint32_t segments = xc_segments(of.tile);
    std::uint32_t found = 0;
    unsigned levels = 0;  // this lane's of 32
    for (std::uint32_t s = 0; s < segments; ++s) {
        const unsigned turn = s % simt::kWarpLanes;
        if (turn == 0) levels = s + reader.lane < segments ? of.level(s + reader.lane) : 0u;
        const unsigned level = __shfl_sync(kAllLanes, levels, static_cast<int>(turn));
        std::uint32_t count = 0;
        if (level != 0) {
            count = read_flags(reader, of, s, level, found);
            if (!reader.good()) return XcFault::truncated;
            if (count == 0 || count > of.tile.changed - found) return XcFault::corrupt;
        }
        if (reader.lane == turn) {
            of.scratch.changed[of.tile.first_segment + s] = count;
            of.scratch.entries_at[of.tile.first_segment + s] = of.tile.entries_at + found;
        }
        found += count;
    }
    return found == of.tile.changed ? XcFault::none : XcFault::corrupt;
}

/// Decides the classes of all changes. Yields, in lane k, how many went through stage k with 1.
__device__ inline std::uint32_t read_stages(XcReader& reader, const XcDecoding& of) {
    const XcContext context = of.tables().context;
    std::uint32_t ones = 0;
    std::uint32_t size = of.tile.changed;
    for (unsigned k = 1; k <= of.tables().stages && size > 0 && reader.good(); ++k) {
        const std::uint16_t* odds = of.tables().stage[k - 1];
        std::uint32_t kept = 0;
        for (std::uint32_t start = 0; start < size && reader.good(); start += simt::kWarpLanes) {
            const std::uint32_t r = start + reader.lane;
            const bool active = r < size;
            std::uint32_t entry = 0;
            if (active) {
                entry = k == 1 ? r << kXcListBits | context.bucket(of.word(r)) : of.listed(r);
            }
            const bool one = decide(reader, active, __ldg(odds + entry % kXcBuckets));
            SIMT_SYNC(xc_list_read, __syncwarp());  // the list is shortened in its place
            const unsigned who = __ballot_sync(kAllLanes, one);
            if (one) {
                const auto below = static_cast<unsigned>(__popc(who & lanes_below(reader.lane)));
                of.listed(kept + below) = entry;
                of.size_class(entry >> kXcListBits) = static_cast<std::uint8_t>(k);
            }
            kept += static_cast<unsigned>(__popc(who));
        }
        SIMT_SYNC(xc_list_shortened, __syncwarp());
        if (reader.lane == k) ones = kept;
        size = kept;
    }
    return ones;
}

/// Is all as it must be behind the last step, with `raw` raw bits to come?
__device__ inline bool ends_well(const XcReader& reader, std::uint32_t raw) {
    const std::uint32_t beyond = raw > kXcRawBits ? raw - kXcRawBits : 0;
    if (reader.size - reader.at != (beyond + 7) / 8) return false;
    const std::uint32_t first = kXcStateBits * reader.lane;
    const std::uint32_t used = raw > first ? raw - first : 0;
    const std::uint32_t unused = (reader.x - kXcStateMin) >> (used < kXcStateBits ? used : 16u);
    const bool bad = reader.x >= 2 * kXcStateMin || unused != 0;
    if (__any_sync(kAllLanes, bad) != 0) return false;
    return beyond % 8 == 0 || __ldg(reader.bytes + reader.size - 1) >> beyond % 8 == 0;
}

/// Raw bit `number`, another one in each lane.
__device__ __forceinline__ unsigned raw_bit(const XcReader& reader, std::uint32_t number) {
    const bool in_states = number < kXcRawBits;
    const auto state = static_cast<int>(in_states ? number / kXcStateBits : 0);
    std::uint32_t bits = __shfl_sync(kAllLanes, reader.x, state);
    std::uint32_t at = number % kXcStateBits;
    if (!in_states) {
        at = (number - kXcRawBits) % 8;
        bits = __ldg(reader.bytes + reader.at + (number - kXcRawBits) / 8);
    }
    return bits >> at & 1u;
}

/// Turns base words into next words. `raw_at`: in lane k, the raw bit that comes next of stage k.
__device__ inline void read_words(const XcReader& reader,
                                  const XcDecoding& of,
                                  std::uint32_t raw_at) {
    for (std::uint32_t start = 0; start < of.tile.changed; start += simt::kWarpLanes) {
        const std::uint32_t r = start + reader.lane;
        const bool active = r < of.tile.changed;
        const unsigned size_class = active ? of.size_class(r) : 0u;
        const std::uint32_t down = 0u - raw_bit(reader, active ? r : 0u);
        std::uint32_t size = 1u << size_class;
        const unsigned deepest = __reduce_max_sync(kAllLanes, size_class);
        for (unsigned k = 1; k <= deepest; ++k) {
            const bool has = size_class >= k;
            const unsigned who = __ballot_sync(kAllLanes, has);
            const std::uint32_t first = __shfl_sync(kAllLanes, raw_at, static_cast<int>(k));
            const auto below = static_cast<unsigned>(__popc(who & lanes_below(reader.lane)));
            const unsigned bit = raw_bit(reader, has ? first + below : 0u);
            if (has) size |= bit << (k - 1);
            if (reader.lane == k) raw_at += static_cast<unsigned>(__popc(who));
        }
        if (!active) continue;
        const std::uint32_t step = (size ^ down) - down;
        of.word(r) = xc_ordinal(static_cast<std::uint16_t>(xc_ordinal(of.word(r)) + step));
    }
}

__device__ inline XcFault decode_tile(XcReader& reader, const XcDecoding& of) {
    if (of.tile.changed > of.tile.words) return XcFault::corrupt;
    XcFault fault = start_reading(reader);
    if (fault != XcFault::none) return fault;
    read_levels(reader, of);
    if (!reader.good()) return XcFault::truncated;
    fault = read_segments(reader, of);
    if (fault != XcFault::none) return fault;
    SIMT_SYNC(xc_changes_listed, __syncwarp());
    const std::uint32_t ones = read_stages(reader, of);
    if (!reader.good()) return XcFault::truncated;
    const std::uint32_t up_to = of.tile.changed + sum_up_to_lane(ones, reader.lane);
    if (!ends_well(reader, __shfl_sync(kAllLanes, up_to, simt::kWarpLanes - 1)))
        return XcFault::corrupt;
    read_words(reader, of, up_to - ones);
    return XcFault::none;
}

__global__ void __launch_bounds__(kXcThreads)
    xc_decode(XcDecodeInput in, XcDecodeScratch scratch, XcFault* faults) {
    const unsigned lane = threadIdx.x % simt::kWarpLanes;
    const unsigned index = blockIdx.x * kXcWarps + threadIdx.x / simt::kWarpLanes;
    if (index >= in.count) return;
    const XcTileSpan tile = in.tiles[index];
    XcReader reader{in.payloads + tile.payload_at, tile.payload_bytes, 0, 0, lane};
    const XcFault fault = decode_tile(reader, {in, scratch, tile});
    if (lane == 0) faults[index] = fault;
    const std::uint32_t segments = xc_segments(tile);
    for (std::uint32_t s = lane; s < segments; s += simt::kWarpLanes) {
        clear_scan(scratch.scan, tile.first_segment + s);
        if (fault != XcFault::none) scratch.changed[tile.first_segment + s] = 0;
    }
}

/// Where one segment goes.
struct XcEmitted {
    bool dense;
    std::uint16_t* positions;
    std::uint16_t* words;
};

__device__ inline void emit_changes(const std::uint16_t* base,
                                    const std::uint8_t* marks,
                                    const std::uint16_t* next,
                                    unsigned words,
                                    const XcEmitted& out) {
    const unsigned lane = threadIdx.x % simt::kWarpLanes;
    unsigned done = 0;
    for (unsigned start = 0; start < words; start += kWarpWords) {
        const unsigned at = start + lane * kGroupWords;
        const unsigned held = at < words ? group_mask(words - at) : 0u;
        const unsigned bits = held != 0 ? marks[at / kGroupWords] : 0u;
        const auto mine = static_cast<unsigned>(__popc(bits));
        const unsigned up_to = sum_up_to_lane(mine, lane);
        unsigned k = done + up_to - mine;
        const Group group = load_group(base, at, 1, out.dense ? held : 0u);
        for (unsigned i = 0; i < kGroupWords; ++i) {
            const bool changes = (bits >> i & 1u) != 0;
            if (out.dense && (held >> i & 1u) != 0)
                out.words[at + i] = changes ? next[k] : group.word(i);
            if (!out.dense && changes) out.positions[k] = static_cast<std::uint16_t>(at + i);
            k += changes ? 1u : 0u;
        }
        done += __shfl_sync(kAllLanes, up_to, simt::kWarpLanes - 1);
    }
    if (out.dense) return;
    for (unsigned k = lane; k < done; k += simt::kWarpLanes) out.words[k] = next[k];
}

__global__ void __launch_bounds__(kDiffThreads) xc_emit(const std::uint16_t* __restrict__ base,
                                                        const SegmentSpan* __restrict__ spans,
                                                        unsigned count,
                                                        XcDecodeScratch scratch,
                                                        StagedList out) {
    const unsigned index = blockIdx.x * kDiffWarps + threadIdx.x / simt::kWarpLanes;
    if (index >= count) return;
    const SegmentSpan span = spans[index];
    const unsigned changed = scratch.changed[index];
    const bool dense = changed > kSparseMax;
    const StoredCounts before = unpack_stored(scratch.scan.offsets[index]);
    if (threadIdx.x % simt::kWarpLanes == 0)
        out.segments[index] = staged_segment(span, before, changed);
    if (changed == 0) return;
    emit_changes(base + span.first, scratch.marks + std::uint64_t{index} * kMarkBytes,
                 scratch.words + scratch.entries_at[index], span.words,
                 {dense, out.positions + before.positions, out.words + before.words});
}

}  // namespace SIMT_TARGET
}  // namespace refit::kernels
