#include "workloads/text_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <span>

#include "engine/store/file_io.hpp"

namespace refit {

Result<std::string> load_text_file(const std::filesystem::path& path) {
    constexpr std::uint64_t kBytesMax = std::uint64_t{1} << 20;
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) return Error{ErrorCode::not_found, "no such file"};
    if (!std::filesystem::is_regular_file(path, ignored))
        return Error{ErrorCode::invalid_input, "this is not a regular file"};
    const File file(path, O_RDONLY);
    const std::uint64_t size = file.bytes();
    if (size > kBytesMax) {
        return Error{ErrorCode::invalid_input,
                     fmt::format("the file has {} bytes, the limit is {}", size, kBytesMax)};
    }
    std::string text(size, '\0');
    file.read_at(0, std::as_writable_bytes(std::span(text)));
    return text;
}

}  // namespace refit
