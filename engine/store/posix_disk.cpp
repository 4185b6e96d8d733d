#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "engine/store/disk.hpp"
#include "engine/store/file_io.hpp"

namespace refit {

namespace {

namespace fs = std::filesystem;

constexpr int kLinksMax = 40;  // as Linux follows
constexpr mode_t kModeMask = 07777;

class PosixFile final : public DiskFile {
public:
    explicit PosixFile(File file) : file_(std::move(file)) {}

    std::uint64_t bytes() const override { return file_.bytes(); }
    void read_at(std::uint64_t offset, std::span<std::byte> out) const override {
        file_.read_at(offset, out);
    }
    void write_at(std::uint64_t offset, ByteSpan bytes) override { file_.write_at(offset, bytes); }
    void reserve(std::uint64_t bytes) override { file_.reserve(bytes); }
    void sync() override { file_.sync(); }

private:
    File file_;
};

/// A lock on the folder itself leaves no lock file behind, and the kernel ends it with us.
class FolderLock final : public DiskLock {
public:
    explicit FolderLock(File folder) : folder_(std::move(folder)) {}

private:
    File folder_;
};

/// A process may be forbidden files of this size: that shows before any of it is overwritten.
void check_size_limit(const fs::path& path, std::uint64_t bytes) {
    rlimit limit{};
    if (::getrlimit(RLIMIT_FSIZE, &limit) != 0) throw_file_error(path, "read its limit", errno);
    if (limit.rlim_cur != RLIM_INFINITY && bytes > limit.rlim_cur)
        throw_file_error(path, "overwrite it", EFBIG);
}

class PosixDisk final : public Disk {
public:
    std::optional<Info> info(const fs::path& path) const override {
        struct stat status {};
        if (::lstat(path.c_str(), &status) != 0) {
            if (errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG) return std::nullopt;
            throw_file_error(path, "look it up", errno);
        }
        Info info;
        if (S_ISREG(status.st_mode)) info.kind = Kind::file;
        if (S_ISDIR(status.st_mode)) info.kind = Kind::folder;
        if (S_ISLNK(status.st_mode)) info.kind = Kind::link;
        info.bytes = static_cast<std::uint64_t>(status.st_size);
        info.names = status.st_nlink;
        return info;
    }

    fs::path resolve(const fs::path& path) const override {
        fs::path at = path;
        for (int links = 0; links < kLinksMax; ++links) {
            const auto found = info(at);
            if (!found.has_value() || found->kind != Kind::link) return at;
            std::error_code code;
            const fs::path next = fs::read_symlink(at, code);
            if (code) throw_file_error(at, "follow the link", code.value());
            at = at.parent_path() / next;  // an absolute one replaces the folder
        }
        throw_file_error(path, "follow the link", ELOOP);
    }

    std::vector<std::string> list(const fs::path& folder) const override {
        std::vector<std::string> names;
        std::error_code code;
        fs::directory_iterator entry(folder, code);
        for (; !code && entry != fs::directory_iterator(); entry.increment(code))
            names.push_back(entry->path().filename().string());
        if (code) throw_file_error(folder, "list", code.value());
        std::ranges::sort(names);
        return names;
    }

    Bytes free_space(const fs::path& folder) const override {
        std::error_code code;
        const fs::space_info space = fs::space(folder, code);
        if (code) throw_file_error(folder, "ask for its free space", code.value());
        return Bytes{space.available};
    }

    std::unique_ptr<DiskFile> open(const fs::path& path, Access access) override {
        File file(path, access == Access::read ? O_RDONLY : O_RDWR);
        if (access == Access::overwrite) check_size_limit(path, file.bytes());
        return std::make_unique<PosixFile>(std::move(file));
    }

    std::unique_ptr<DiskFile> create(const fs::path& path, const fs::path& like) override {
        File file(path, O_RDWR | O_CREAT | O_EXCL, like);
        struct stat status {};
        // A file system without rights has none to copy.
        if (::stat(like.c_str(), &status) == 0)
            (void)::fchmod(file.descriptor(), status.st_mode & kModeMask);
        return std::make_unique<PosixFile>(std::move(file));
    }

    void rename(const fs::path& from, const fs::path& to) override {
        if (::rename(from.c_str(), to.c_str()) != 0) throw_file_error(to, "rename to it", errno);
    }

    void remove(const fs::path& path) override {
        if (::unlink(path.c_str()) != 0) throw_file_error(path, "remove", errno);
    }

    void discard(const fs::path& path) noexcept override { ::unlink(path.c_str()); }

    void sync_folder(const fs::path& folder) override { refit::sync_folder(folder); }

    std::unique_ptr<DiskLock> lock(const fs::path& folder) override {
        File opened(folder, O_RDONLY | O_DIRECTORY);
        while (::flock(opened.descriptor(), LOCK_EX | LOCK_NB) != 0) {
            if (errno == EWOULDBLOCK) return nullptr;
            if (errno != EINTR) throw_file_error(folder, "lock", errno);
        }
        return std::make_unique<FolderLock>(std::move(opened));
    }
};

}  // namespace

std::unique_ptr<Disk> make_posix_disk() { return std::make_unique<PosixDisk>(); }

}  // namespace refit
