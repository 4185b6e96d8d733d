// The attachment block of an .rfd file: the byte strings that travel with a delta untouched.
//
// Names      1..512 bytes, relative, no empty, "." or ".." component, no control bytes, unique.
//            They come from outside: whoever writes a file by such a name checks it again.
// Memory     a compressed attachment says at most 64 times the bytes it takes, so reading a block
//            allocates in proportion to it.
// Errors     truncated, corrupt.
#pragma once

#include <vector>

#include "engine/codec/container.hpp"

namespace refit {

bool is_attachment_name(std::string_view name);

ByteVector serialize_attachments(const std::vector<Attachment>& attachments);
Result<std::vector<Attachment>> parse_attachments(ByteSpan bytes);

}  // namespace refit
