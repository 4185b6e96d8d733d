#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <set>
#include <system_error>

#include "engine/codec/manifest.hpp"
#include "engine/store/file_io.hpp"
#include "engine/store/object_store.hpp"

namespace refit {

namespace {

namespace fs = std::filesystem;

/// No object name may hold this character, so a temporary never shows as an object.
constexpr char kTemporaryMark = '~';

/// Does what was read still match the name it was stored under?
Status check_content(const std::string& name, ByteSpan bytes) {
    if (name.starts_with("parts/") && name != part_key(sha256(bytes)))
        return Error{ErrorCode::corrupt, "the part no longer matches the hash in its name"};
    if (name.starts_with("manifests/")) {
        REFIT_TRY(manifest, Manifest::parse(bytes));
        if (name != manifest_key(manifest.sealed_id()))
            return Error{ErrorCode::corrupt, "the manifest no longer matches the id in its name"};
    }
    return Done{};
}

class DirectoryStore final : public ObjectStore {
public:
    explicit DirectoryStore(const fs::path& root)
        : root_(fs::weakly_canonical(root.has_filename() ? root : root.parent_path())) {
        ensure_folder(root_);
    }

    void put(const std::string& name, ByteSpan bytes) override {
        REFIT_ASSERT(is_object_name(name));
        const fs::path path = root_ / name;
        {
            const std::lock_guard lock(mutex_);
            ensure_folder(path.parent_path());
        }
        if (size_of(path) == static_cast<std::int64_t>(bytes.size())) {
            sync_folder(path.parent_path());  // whoever renamed it may have died before this
            return;
        }
        Temporary temporary(path.string() + kTemporaryMark + std::to_string(::getpid()) + "-" +
                            std::to_string(next_temporary_++));
        {
            File file(temporary.path(), O_WRONLY | O_CREAT | O_TRUNC, path);
            file.write_at(0, bytes);
            file.sync();
        }
        temporary.rename_to(path);
    }

    Result<ByteVector> get(const std::string& name) const override {
        REFIT_ASSERT(is_object_name(name));
        const fs::path path = root_ / name;
        if (size_of(path) < 0) return missing(path);
        const File file(path, O_RDONLY);
        ByteVector bytes(file.bytes());
        file.read_at(0, bytes);
        if (Status status = check_content(name, bytes); !status.has_value())
            return in_file(status.error(), path.string());
        return bytes;
    }

    Result<ByteVector> get_range(const std::string& name,
                                 std::uint64_t offset,
                                 std::uint64_t size) const override {
        REFIT_ASSERT(is_object_name(name));
        const fs::path path = root_ / name;
        if (size_of(path) < 0) return missing(path);
        const File file(path, O_RDONLY);
        const std::uint64_t present = file.bytes();
        if (offset > present || size > present - offset) {
            return Error{ErrorCode::not_found, "the range lies past the end of the object",
                         path.string()};
        }
        ByteVector bytes(size);
        file.read_at(offset, bytes);
        return bytes;
    }

    bool has(const std::string& name) const override {
        REFIT_ASSERT(is_object_name(name));
        return size_of(root_ / name) >= 0;
    }

    std::vector<std::string> list(const std::string& prefix) const override {
        const std::size_t slash = prefix.rfind('/');
        const std::string folder = slash == prefix.npos ? "" : prefix.substr(0, slash);
        REFIT_ASSERT(folder.empty() ? slash == prefix.npos : is_object_name(folder));

        std::vector<std::string> names;
        std::error_code code;
        fs::recursive_directory_iterator entry(root_ / folder, code);
        if (code == std::errc::no_such_file_or_directory) return names;
        for (; !code && entry != fs::recursive_directory_iterator(); entry.increment(code)) {
            const std::string name = entry->path().lexically_relative(root_).string();
            std::error_code vanished;  // a temporary may be renamed between the two calls
            if (entry->is_regular_file(vanished) && name.starts_with(prefix) &&
                is_object_name(name))
                names.push_back(name);
        }
        if (code) throw_file_error(root_ / folder, "list", code.value());
        std::ranges::sort(names);
        return names;
    }

private:
    static Error missing(const fs::path& path) {
        return Error{ErrorCode::not_found, "the store has no such object", path.string()};
    }

    /// Bytes of the object at `path`, -1 when there is none.
    static std::int64_t size_of(const fs::path& path) {
        std::error_code code;
        const fs::file_status status = fs::status(path, code);
        if (!fs::exists(status)) {
            if (code && status.type() == fs::file_type::none)
                throw_file_error(path, "look it up", code.value());
            return -1;
        }
        if (!fs::is_regular_file(status)) return -1;
        return static_cast<std::int64_t>(fs::file_size(path, code));  // -1 if it just vanished
    }

    /// Creates what is missing of `folder` and makes each name below the root durable once per
    /// handle, also a name that was there: its creator may have died before syncing it.
    void ensure_folder(const fs::path& folder) {
        if (durable_.contains(folder)) return;
        const fs::path parent = folder.parent_path();
        std::error_code ignored;
        if (durable_.contains(root_) || !fs::is_directory(parent, ignored)) ensure_folder(parent);
        make_folder(folder);
        sync_folder(parent);
        durable_.insert(folder);
    }

    fs::path root_;
    std::mutex mutex_;  // guards durable_
    std::set<fs::path> durable_;
    std::atomic<std::uint64_t> next_temporary_ = 0;
};

}  // namespace

std::unique_ptr<ObjectStore> make_directory_store(const std::filesystem::path& root) {
    return std::make_unique<DirectoryStore>(root);
}

}  // namespace refit
