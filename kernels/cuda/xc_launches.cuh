// The operations of xc as launches in one queue, as kernels/cuda/launches.cuh has the others.
#pragma once

#include <cstdint>

#include "kernels/cuda/launches.cuh"
#include "kernels/cuda/xc_decode.cuh"
#include "kernels/cuda/xc_encode.cuh"
#include "kernels/cuda/xc_plan.hpp"
#include "kernels/cuda/xc_scan.cuh"

namespace refit::kernels {

/// Segments of a batch, on the device.
struct SegmentTable {
    const SegmentSpan* spans;
    std::uint32_t count;
};

inline namespace SIMT_TARGET {

/// Adds to words[exponent], kXcExponents of them.
inline void launch_xc_sample(simt::Queue& queue,
                             const std::uint16_t* base,
                             const SegmentTable& segments,
                             std::uint8_t mantissa_bits,
                             std::uint32_t* words) {
    if (segments.count == 0) return;
    simt::launch(queue, xc_sample_shape(segments.count), xc_sample, base, segments.spans,
                 segments.count, unsigned{mantissa_bits}, words);
}

/// Adds to out.counts. Afterwards out.scan.offsets has where the changes of each segment begin.
inline void launch_xc_list(simt::Queue& queue, const XcListInput& in, const XcLists& out) {
    constexpr std::uint32_t kBlocksMax = 1024;
    if (in.segments == 0) return;
    simt::launch(queue, scan_clear_shape(in.segments), scan_clear, scan_parts(in.segments),
                 out.scan);
    simt::launch(queue, scan_counts_shape(in.segments), scan_counts, in.changed, in.segments,
                 out.scan);
    simt::launch(queue, xc_list_shape(in.segments, kBlocksMax), xc_list, in, out);
}

/// Payload of tile t: bytes scratch.scan.offsets[t] to [t + 1] of `out`, none where plain words are
/// no longer.
inline void launch_xc_encode(simt::Queue& queue,
                             const XcEncodeInput& in,
                             const XcEncodeScratch& scratch,
                             std::uint8_t* out) {
    if (in.count == 0) return;
    simt::launch(queue, xc_encode_shape(in.count), xc_encode, in, scratch);
    simt::launch(queue, scan_counts_shape(in.count), scan_counts, scratch.sizes, in.count,
                 scratch.scan);
    simt::launch(queue, xc_gather_shape(in.count), xc_gather, in.tiles, scratch, out);
}

/// Writes faults[tile]; nothing is staged of a tile that has one. As after launch_diff(),
/// scratch.scan.offsets[segments.count] is how much `out` holds.
inline void launch_xc_decode(simt::Queue& queue,
                             const XcDecodeInput& in,
                             const SegmentTable& segments,
                             const XcDecodeScratch& scratch,
                             const StagedList& out,
                             XcFault* faults) {
    if (in.count == 0) return;
    simt::launch(queue, xc_decode_shape(in.count), xc_decode, in, scratch, faults);
    if (segments.count == 0) return;
    simt::launch(queue, scan_shape(segments.count), scan_staged, scratch.changed, segments.spans,
                 segments.count, scratch.scan);
    simt::launch(queue, xc_emit_shape(segments.count), xc_emit, in.base, segments.spans,
                 segments.count, scratch, out);
}

}  // namespace SIMT_TARGET
}  // namespace refit::kernels
