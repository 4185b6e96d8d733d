#include "engine/store/file_io.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace refit {

namespace {

constexpr mode_t kFileMode = 0666;  // before the user's umask
constexpr mode_t kFolderMode = 0777;

/// The kernel moves at most 2^31 - 4096 bytes a call; asking for less keeps the loop simple.
constexpr std::size_t kTransferMax = std::size_t{1} << 30;

std::filesystem::path folder_of(const std::filesystem::path& path) {
    const std::filesystem::path folder = path.parent_path();
    return folder.empty() ? std::filesystem::path(".") : folder;
}

}  // namespace

void throw_file_error(const std::filesystem::path& path, std::string_view action, int code) {
    throw MachineError(fmt::format("{}: cannot {}: {}", path.string(), action,
                                   std::generic_category().message(code)));
}

File::File(const std::filesystem::path& path, int flags, std::filesystem::path shown)
    : shown_(std::move(shown)), descriptor_(::open(path.c_str(), flags | O_CLOEXEC, kFileMode)) {
    if (descriptor_ < 0) {
        throw_file_error(shown_, (flags & O_CREAT) != 0 ? "create the file" : "open", errno);
    }
}

File::File(File&& other) noexcept
    : shown_(std::move(other.shown_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

File::~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

std::uint64_t File::bytes() const {
    struct stat status {};
    if (::fstat(descriptor_, &status) != 0) throw_file_error(shown_, "read its size", errno);
    return static_cast<std::uint64_t>(status.st_size);
}

void File::reserve(std::uint64_t bytes) {
    if (bytes == 0) return;
    if (!std::in_range<off_t>(bytes)) throw_file_error(shown_, "reserve space", EFBIG);
    const int code = ::posix_fallocate(descriptor_, 0, static_cast<off_t>(bytes));
    if (code != 0) throw_file_error(shown_, "reserve " + std::to_string(bytes) + " bytes", code);
}

void File::read_at(std::uint64_t offset, std::span<std::byte> out) const {
    while (!out.empty()) {
        const ssize_t got = ::pread(descriptor_, out.data(), std::min(out.size(), kTransferMax),
                                    static_cast<off_t>(offset));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) throw_file_error(shown_, "read", errno);
        if (got == 0) throw MachineError(shown_.string() + ": became shorter while it was read");
        out = out.subspan(static_cast<std::size_t>(got));
        offset += static_cast<std::uint64_t>(got);
    }
}

void File::write_at(std::uint64_t offset, ByteSpan bytes) {
    while (!bytes.empty()) {
        const ssize_t put =
            ::pwrite(descriptor_, bytes.data(), std::min(bytes.size(), kTransferMax),
                     static_cast<off_t>(offset));
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) throw_file_error(shown_, "write", errno);
        bytes = bytes.subspan(static_cast<std::size_t>(put));
        offset += static_cast<std::uint64_t>(put);
    }
}

void File::sync() {
    if (::fdatasync(descriptor_) != 0) throw_file_error(shown_, "make it durable", errno);
}

Temporary::~Temporary() {
    if (path_.empty()) return;
    std::error_code ignored;  // a destructor has nobody to tell
    std::filesystem::remove_all(path_, ignored);
}

void Temporary::rename_to(const std::filesystem::path& target) {
    if (::rename(path_.c_str(), target.c_str()) != 0) throw_file_error(target, "replace it", errno);
    path_.clear();
    sync_folder(folder_of(target));
}

std::filesystem::path temporary_beside(const std::filesystem::path& target) {
    return folder_of(target) /
           fmt::format(".{}.refit-tmp-{}", target.filename().string(), ::getpid());
}

void make_folder(const std::filesystem::path& folder) {
    if (::mkdir(folder.c_str(), kFolderMode) == 0) return;
    const int code = errno;
    std::error_code ignored;
    if (code == EEXIST && std::filesystem::is_directory(folder, ignored)) return;
    throw_file_error(folder, "create the folder", code);
}

void sync_folder(const std::filesystem::path& folder) {
    const File opened(folder, O_RDONLY | O_DIRECTORY);
    if (::fsync(opened.descriptor()) != 0) throw_file_error(folder, "make it durable", errno);
}

}  // namespace refit
