// POSIX files under our rules: bytes at an offset, durable renames.
//
// Errors   every failure throws MachineError: the path, what was tried, the system's reason.
// Durable  a replaced file is whole or absent after a crash: write a temporary beside it, sync()
//          it, then Temporary::rename_to(), which also syncs the folder.
// Threads  read_at() and write_at() may be called from several threads at once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "engine/base/bytes.hpp"

namespace refit {

[[noreturn]] void throw_file_error(const std::filesystem::path& path,
                                   std::string_view action,
                                   int code);

/// An open file. `flags` are those of open(2); close-on-exec is added. Errors name `shown`: for a
/// temporary, the target that users know of.
class File {
public:
    File(const std::filesystem::path& path, int flags) : File(path, flags, path) {}
    File(const std::filesystem::path& path, int flags, std::filesystem::path shown);
    File(File&& other) noexcept;
    File& operator=(File&&) = delete;
    ~File();

    int descriptor() const { return descriptor_; }
    std::uint64_t bytes() const;

    /// Allocates the space now, so that a full disk shows before any work is done.
    void reserve(std::uint64_t bytes);
    void read_at(std::uint64_t offset, std::span<std::byte> out) const;
    void write_at(std::uint64_t offset, ByteSpan bytes);
    void sync();

private:
    std::filesystem::path shown_;
    int descriptor_;
};

/// A file or folder that disappears with this object unless it was renamed into place.
class Temporary {
public:
    explicit Temporary(std::filesystem::path path) : path_(std::move(path)) {}
    Temporary(const Temporary&) = delete;
    Temporary& operator=(const Temporary&) = delete;
    ~Temporary();

    const std::filesystem::path& path() const { return path_; }

    /// Replaces `target` in one step and makes the name durable. Sync the contents first.
    void rename_to(const std::filesystem::path& target);

private:
    std::filesystem::path path_;
};

/// The temporary name of a target, in the same folder: ".<name>.refit-tmp-<process id>".
std::filesystem::path temporary_beside(const std::filesystem::path& target);

void make_folder(const std::filesystem::path& folder);  // existing is fine; the parent must exist
void sync_folder(const std::filesystem::path& folder);

}  // namespace refit
