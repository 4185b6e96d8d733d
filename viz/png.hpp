// A picture as a PNG file: 8-bit RGB, not interlaced, no chunk that a picture does not need. The
// same pixels are the same bytes wherever zlib is the same.
//
// Errors    MachineError when memory ends.
#pragma once

#include "viz/image.hpp"

namespace refit {

ByteVector png_of(const Image& image);

}  // namespace refit
