#include "viz/png.hpp"

#include <png.h>

#include <string>

#include "engine/base/result.hpp"

namespace refit {

ByteVector png_of(const Image& image) {
    REFIT_ASSERT(image.pixels.size() == std::size_t{3} * image.width * image.height);
    png_image head{};
    head.version = PNG_IMAGE_VERSION;
    head.width = image.width;
    head.height = image.height;
    head.format = PNG_FORMAT_RGB;
    const auto write = [&](void* memory, png_alloc_size_t& size) {
        const int written =
            png_image_write_to_memory(&head, memory, &size, 0, image.pixels.data(), 0, nullptr);
        if (written == 0) throw MachineError(std::string("no PNG: ") + head.message);
    };
    ByteVector bytes(PNG_IMAGE_PNG_SIZE_MAX(head));
    png_alloc_size_t size = bytes.size();
    write(bytes.data(), size);
    bytes.resize(size);
    return bytes;
}

}  // namespace refit
