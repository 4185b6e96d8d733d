// Payloads of xc and cf, in three launches.
//
//   xc_encode     one warp per tile, lanes of the format = lanes of the warp: raw bits from the
//                 front of the tile's room, coded bytes from its end downwards
//   scan_counts   where each payload begins (kernels/cuda/scan.cuh)
//   xc_gather     one block per tile: states, coded bytes, raw bits, one behind the other
//
// Traffic    of the segments that change the base and the marks once; the changes once for every
//            stage, which is less; the payload written, read and written.
// Room       of a tile: what its plain words take, and kXcRoomSlack. A payload that would be no
//            shorter than them is given up before it leaves its room.
// Source     FORMAT.md 3.1; kernels/cpu/xc_encode.cpp is the reference.
#pragma once

#include <cstdint>

#include "kernels/cuda/scan.cuh"
#include "kernels/cuda/words.cuh"
#include "kernels/cuda/xc_decode.cuh"
#include "kernels/cuda/xc_tables.hpp"

namespace refit::kernels {

inline constexpr unsigned kXcGatherThreads = 128;
/// A group of flags may write 512 bytes before anyone looks, and the raw bits 64.
inline constexpr std::uint32_t kXcRoomSlack = 1024;

/// Marks as diff_mark leaves them, changes as xc_list does. No class is above the stages of its
/// table, or bits are lost.
struct XcEncodeInput {
    const std::uint16_t* base;
    const std::uint8_t* marks;
    const std::uint8_t* levels;  // [segments]: 0 exactly where nothing changes
    const std::uint16_t* changed_base;
    const std::uint16_t* changed_step;
    const XcTileSpan* tiles;
    const XcOddsTable* tables;
    std::uint32_t count;  // of tiles
};

/// What is known of the payload of a tile when it lies in its room.
struct XcCoded {
    std::uint32_t states[kXcLanes];
    std::uint32_t begin;  // of the coded bytes, in the room
    std::uint32_t tail;   // bytes of raw bits from number 480 on
};

struct XcEncodeScratch {
    std::uint8_t* room;    // of all tiles, 16-byte aligned
    std::uint8_t* list;    // [changes]: those that a stage decides
    XcCoded* coded;        // [tiles]
    std::uint32_t* sizes;  // [tiles]: bytes of the payload, 0: plain words are no longer
    ScanScratch scan;      // of the sizes
};

inline namespace SIMT_TARGET {

/// One lane of a coder that writes.
struct XcWriter {
    std::uint8_t* room;
    std::uint32_t end;  // of the room
    std::uint32_t out;  // where the coded bytes begin, the same in all lanes
    std::uint32_t x;
    unsigned lane;
    std::uint32_t tail;   // bytes
    std::uint32_t limit;  // a payload of so many bytes is none

    __device__ std::uint32_t bytes() const {
        return static_cast<std::uint32_t>(kXcStatesBytes) + (end - out) + tail;
    }
    __device__ bool fits() const { return bytes() < limit; }
};

/// One step: the lane has `one` to say, if it is active.
__device__ __forceinline__ void put(XcWriter& writer, bool active, bool one, std::uint32_t odds) {
    const std::uint32_t share = one ? odds : kXcOddsOne - odds;
    constexpr unsigned kRise = kXcStateBits - kXcOddsBits + 8;
    // The byte that is read last is written first: that of the lanes that need two.
    for (unsigned rise = kRise + 8; rise >= kRise; rise -= 8) {
        const bool wants = active && writer.x >= share << rise;
        const unsigned who = __ballot_sync(kAllLanes, wants);
        if (who == 0) continue;
        writer.out -= static_cast<unsigned>(__popc(who));
        if (!wants) continue;
        const auto below = static_cast<unsigned>(__popc(who & lanes_below(writer.lane)));
        writer.room[writer.out + below] = static_cast<std::uint8_t>(writer.x);
        writer.x >>= 8;
    }
    if (!active) return;
    const std::uint32_t x = writer.x;
    writer.x = (x / share << kXcOddsBits) + x % share + (one ? 0u : odds);
}

/// Bits one behind the other, the same in all lanes; lane 0 writes them.
struct XcBits {
    std::uint32_t* words;
    std::uint64_t pending;
    std::uint32_t count;
    unsigned lane;

    /// The lowest `more` bits of `bits`, at most 32; those above are 0.
    __device__ void append(std::uint32_t bits, unsigned more) {
        const unsigned filled = count % 32;
        pending |= std::uint64_t{bits} << filled;
        if (filled + more >= 32) {
            if (lane == 0) words[count / 32] = static_cast<std::uint32_t>(pending);
            pending >>= 32;
        }
        count += more;
    }

    /// Zeros behind the last bit, as far as the states reach.
    __device__ void finish() {
        if (lane == 0) words[count / 32] = static_cast<std::uint32_t>(pending);
        if (lane > count / 32 && lane <= kXcRawBits / 32) words[lane] = 0;
    }
};

/// What one warp works on. Pointers are at the tile's own part.
struct XcEncoding {
    const std::uint16_t* base;
    const XcOddsTable* tables;
    XcTileSpan tile;
    const std::uint8_t* marks;
    const std::uint8_t* levels;
    const std::uint16_t* changed_base;
    const std::uint16_t* changed_step;
    std::uint8_t* list;
};

__device__ inline XcEncoding encoding_of(const XcEncodeInput& in,
                                         const XcEncodeScratch& scratch,
                                         const XcTileSpan& tile) {
    return {in.base + tile.first,
            in.tables + tile.tables,
            tile,
            in.marks + std::uint64_t{tile.first_segment} * kMarkBytes,
            in.levels + tile.first_segment,
            in.changed_base + tile.entries_at,
            in.changed_step + tile.entries_at,
            scratch.list + tile.entries_at};
}

/// |step| of a change, 0 past the last one.
__device__ __forceinline__ std::uint32_t size_of_change(const XcEncoding& of, std::uint32_t r) {
    return r < of.tile.changed ? xc_step_size(__ldg(of.changed_step + r)) : 0u;
}

/// Raw bits of the tile; their number, or more than the plain words have when it is no less.
__device__ inline std::uint32_t write_raw(const XcEncoding& of, std::uint8_t* room, unsigned lane) {
    XcBits bits{reinterpret_cast<std::uint32_t*>(room), 0, 0, lane};
    const std::uint32_t most = 16 * of.tile.words + kXcRawBits;
    for (std::uint32_t start = 0; start < of.tile.changed; start += simt::kWarpLanes) {
        const std::uint32_t r = start + lane;
        const bool active = r < of.tile.changed;
        const bool down = active && (__ldg(of.changed_step + r) & 0x8000u) != 0;
        const auto more = static_cast<unsigned>(__popc(__ballot_sync(kAllLanes, active)));
        bits.append(__ballot_sync(kAllLanes, down), more);
    }
    bool any = true;
    for (unsigned k = 1; k <= of.tables->stages && any; ++k) {
        any = false;
        for (std::uint32_t start = 0; start < of.tile.changed; start += simt::kWarpLanes) {
            if (bits.count >= most) return bits.count;
            const std::uint32_t size = size_of_change(of, start + lane);
            const bool has = size >> k != 0;
            const unsigned who = __ballot_sync(kAllLanes, has);
            if (who == 0) continue;
            any = true;
            const auto below = static_cast<unsigned>(__popc(who & lanes_below(lane)));
            const std::uint32_t mine = has ? (size >> (k - 1) & 1u) << below : 0u;
            bits.append(__reduce_or_sync(kAllLanes, mine), static_cast<unsigned>(__popc(who)));
        }
    }
    bits.finish();
    return bits.count;
}

/// Fifteen raw bits in each state.
__device__ inline std::uint32_t first_state(const std::uint8_t* room, unsigned lane) {
    const std::uint32_t* words = reinterpret_cast<const std::uint32_t*>(room);
    const unsigned at = kXcStateBits * lane;
    const std::uint64_t two = words[at / 32] | std::uint64_t{words[at / 32 + 1]} << 32;
    return kXcStateMin | (static_cast<std::uint32_t>(two >> at % 32) & (kXcStateMin - 1));
}

/// The list of stage k: bucket, and what the stage decides above it. Yields its length.
__device__ inline std::uint32_t list_stage(const XcEncoding& of, unsigned k, unsigned lane) {
    const XcContext context = of.tables->context;
    std::uint32_t listed = 0;
    for (std::uint32_t start = 0; start < of.tile.changed; start += simt::kWarpLanes) {
        const std::uint32_t size = size_of_change(of, start + lane);
        const bool has = size >> (k - 1) != 0;
        const unsigned who = __ballot_sync(kAllLanes, has);
        if (has) {
            const std::uint32_t bucket = context.bucket(__ldg(of.changed_base + start + lane));
            const std::uint32_t one = size >> k != 0 ? 1u << kXcListBits : 0u;
            of.list[listed + static_cast<unsigned>(__popc(who & lanes_below(lane)))] =
                static_cast<std::uint8_t>(one | bucket);
        }
        listed += static_cast<unsigned>(__popc(who));
    }
    return listed;
}

__device__ inline void write_stages(XcWriter& writer, const XcEncoding& of) {
    for (unsigned k = of.tables->stages; k >= 1 && writer.fits(); --k) {
        const std::uint32_t size = list_stage(of, k, writer.lane);
        SIMT_SYNC(xc_stage_listed, __syncwarp());
        const std::uint16_t* odds = of.tables->stage[k - 1];
        std::uint32_t group = (size + simt::kWarpLanes - 1) / simt::kWarpLanes;
        while (group > 0 && writer.fits()) {
            const std::uint32_t r = --group * simt::kWarpLanes + writer.lane;
            const bool active = r < size;
            const std::uint32_t entry = active ? of.list[r] : 0u;
            put(writer, active, entry >= kXcBuckets, __ldg(odds + entry % kXcBuckets));
        }
        SIMT_SYNC(xc_stage_written, __syncwarp());
    }
}

__device__ inline void write_flags(XcWriter& writer, const XcEncoding& of, std::uint32_t segment) {
    const XcContext context = of.tables->context;
    const std::uint16_t* odds = of.tables->flags[of.levels[segment]];
    const std::uint32_t first = segment * kSegmentWords;
    const std::uint32_t left = of.tile.words - first;
    const std::uint32_t words = left < kSegmentWords ? left : kSegmentWords;
    const std::uint8_t* marks = of.marks + std::uint64_t{segment} * kMarkBytes;
    std::uint32_t start = (words + kWarpWords - 1) / kWarpWords * kWarpWords;
    while (start > 0 && writer.fits()) {
        start -= kWarpWords;
        const std::uint32_t at = start + writer.lane * kGroupWords;
        const unsigned held = at < words ? group_mask(words - at) : 0u;
        const unsigned bits = held != 0 ? __ldg(marks + at / kGroupWords) : 0u;
        const Group group = load_group(of.base, first + at, 1, held);
        std::uint32_t odds_of[kGroupWords];
        for (unsigned i = 0; i < kGroupWords; ++i)
            odds_of[i] = __ldg(odds + context.bucket(group.word(i)));
        for (unsigned i = kGroupWords; i-- > 0;)
            put(writer, (held >> i & 1u) != 0, (bits >> i & 1u) != 0, odds_of[i]);
    }
}

__device__ inline void write_levels(XcWriter& writer, const XcEncoding& of) {
    const std::uint32_t segments = xc_segments(of.tile);
    std::uint32_t group = (segments + simt::kWarpLanes - 1) / simt::kWarpLanes;
    while (group > 0 && writer.fits()) {
        const std::uint32_t segment = --group * simt::kWarpLanes + writer.lane;
        const bool active = segment < segments;
        const unsigned leaf = kXcLevels + (active ? of.levels[segment] : 0u);
        for (unsigned height = 0; height < 4; ++height)
            put(writer, active, (leaf >> height & 1u) != 0,
                __ldg(of.tables->nodes + (leaf >> (height + 1))));
    }
}

__global__ void __launch_bounds__(kXcThreads) xc_encode(XcEncodeInput in, XcEncodeScratch scratch) {
    const unsigned lane = threadIdx.x % simt::kWarpLanes;
    const unsigned index = blockIdx.x * kXcWarps + threadIdx.x / simt::kWarpLanes;
    if (index >= in.count) return;
    if (lane == 0) clear_scan(scratch.scan, index);
    const XcTileSpan tile = in.tiles[index];
    const XcEncoding of = encoding_of(in, scratch, tile);
    std::uint8_t* room = scratch.room + tile.payload_at;

    const std::uint32_t raw = write_raw(of, room, lane);
    SIMT_SYNC(xc_raw_written, __syncwarp());
    const std::uint32_t tail = raw > kXcRawBits ? (raw - kXcRawBits + 7) / 8 : 0;
    XcWriter writer{room, tile.payload_bytes, tile.payload_bytes, 0, lane, tail, 2 * tile.words};
    if (writer.fits()) {
        writer.x = first_state(room, lane);
        write_stages(writer, of);
        for (std::uint32_t s = xc_segments(tile); s-- > 0 && writer.fits();)
            if (of.levels[s] != 0) write_flags(writer, of, s);
        write_levels(writer, of);
    }
    XcCoded& coded = scratch.coded[index];
    coded.states[lane] = writer.x;
    if (lane != 0) return;
    coded.begin = writer.out;
    coded.tail = tail;
    scratch.sizes[index] = writer.fits() ? writer.bytes() : 0;
}

/// Payload of tile t: bytes offsets[t] to offsets[t + 1] - 1 of `out`.
__global__ void __launch_bounds__(kXcGatherThreads)
    xc_gather(const XcTileSpan* tiles, XcEncodeScratch scratch, std::uint8_t* out) {
    const unsigned index = blockIdx.x;
    const std::uint32_t size = scratch.sizes[index];
    if (size == 0) return;
    const XcCoded& coded = scratch.coded[index];
    const std::uint8_t* room = scratch.room + tiles[index].payload_at;
    std::uint8_t* payload = out + scratch.scan.offsets[index];
    for (std::uint32_t i = threadIdx.x; i < kXcStatesBytes; i += kXcGatherThreads)
        payload[i] =
            static_cast<std::uint8_t>(coded.states[i / kXcStateBytes] >> 8 * (i % kXcStateBytes));
    payload += kXcStatesBytes;
    const std::uint32_t bytes = size - static_cast<std::uint32_t>(kXcStatesBytes) - coded.tail;
    for (std::uint32_t i = threadIdx.x; i < bytes; i += kXcGatherThreads)
        payload[i] = room[coded.begin + i];
    for (std::uint32_t i = threadIdx.x; i < coded.tail; i += kXcGatherThreads)
        payload[bytes + i] = room[kXcRawBits / 8 + i];
}

}  // namespace SIMT_TARGET
}  // namespace refit::kernels
