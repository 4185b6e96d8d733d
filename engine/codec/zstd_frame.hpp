// One zstd frame in, one zstd frame out: the only place that touches the zstd library.
//
// Contexts   one per call: nothing is shared between threads and nothing is global.
// Decoding   trusts nothing: exactly one frame, no dictionary, a window of at most 128 MiB, and
//            exactly the size the caller already knows; anything else is corrupt.
// Errors     truncated, corrupt; MachineError when there is no memory for a context.
// Bytes      a frame depends on the version of the library that wrote it; any version reads it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "engine/base/bytes.hpp"

namespace refit {

inline constexpr unsigned kZstdWindowLogMax = 27;

/// 10504 for 1.5.4.
unsigned zstd_library_version();

/// Appends one frame that holds `bytes`, with its content size in the frame header.
void append_zstd_frame(ByteSpan bytes, int level, ByteVector& out);

/// Fills `out` from `frame`; `what` names the stream in an error.
Status read_zstd_frame(ByteSpan frame, std::span<std::byte> out, std::string_view what);

}  // namespace refit
