// Bytes of a known size, as they are or in a zstd frame, whichever is shorter.
//
// Limit    64 bytes of content per stored byte, so that a file bounds the memory it can ask for.
// Errors   truncated, corrupt.
// Source   FORMAT.md 5.
#pragma once

#include <string_view>

#include "engine/base/bytes.hpp"
#include "engine/base/result.hpp"

namespace refit {

void write_packed(ByteSpan bytes, ByteWriter& writer);

/// `what` names the bytes in an error.
Result<ByteVector> read_packed(ByteReader& reader, std::string_view what);

}  // namespace refit
