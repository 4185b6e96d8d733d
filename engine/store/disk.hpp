// The Disk port: what an update of files needs from a file system, so that a simulated one can
// lose whatever was not made durable.
//
// Durable  bytes and size of a file: DiskFile::sync(). Names (create, rename, remove):
//          sync_folder(). Nothing else is, and what is not may survive a crash in any part.
// Errors   MachineError names the path; a query for a name that is not there is no error.
// Threads  DiskFile::read_at() and write_at() may be called from several threads at once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/base/units.hpp"

namespace refit {

class DiskFile {
public:
    virtual ~DiskFile() = default;

    virtual std::uint64_t bytes() const = 0;
    virtual void read_at(std::uint64_t offset, std::span<std::byte> out) const = 0;
    virtual void write_at(std::uint64_t offset, ByteSpan bytes) = 0;
    /// Gives the file at least `bytes` bytes, with space behind each.
    virtual void reserve(std::uint64_t bytes) = 0;
    virtual void sync() = 0;
};

/// Held by one process at a time; ends with this object or the process.
class DiskLock {
public:
    virtual ~DiskLock() = default;
};

class Disk {
public:
    enum class Kind : std::uint8_t { file, folder, link, other };
    enum class Access : std::uint8_t { read, overwrite };

    struct Info {
        Kind kind = Kind::other;
        std::uint64_t bytes = 0;
        std::uint64_t names = 1;  // hard links
    };

    virtual ~Disk() = default;

    /// What the name stands for; a symbolic link is not followed. Nothing: no such name.
    virtual std::optional<Info> info(const std::filesystem::path& path) const = 0;
    /// Follows symbolic links of the last component, also to a name that is not there.
    virtual std::filesystem::path resolve(const std::filesystem::path& path) const = 0;
    /// The names in a folder, sorted.
    virtual std::vector<std::string> list(const std::filesystem::path& folder) const = 0;
    virtual Bytes free_space(const std::filesystem::path& folder) const = 0;

    virtual std::unique_ptr<DiskFile> open(const std::filesystem::path& path, Access access) = 0;
    /// The name must not exist. Readable by whom `like` is, where there is such a file.
    virtual std::unique_ptr<DiskFile> create(const std::filesystem::path& path,
                                             const std::filesystem::path& like) = 0;
    virtual void rename(const std::filesystem::path& from, const std::filesystem::path& to) = 0;
    virtual void remove(const std::filesystem::path& path) = 0;
    /// Removes it if it can, for destructors.
    virtual void discard(const std::filesystem::path& path) noexcept = 0;
    virtual void sync_folder(const std::filesystem::path& folder) = 0;
    /// Null when another process holds it.
    virtual std::unique_ptr<DiskLock> lock(const std::filesystem::path& folder) = 0;
};

std::unique_ptr<Disk> make_posix_disk();

}  // namespace refit
