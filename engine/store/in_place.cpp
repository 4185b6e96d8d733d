#include "engine/store/in_place.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "engine/store/in_place_finish.hpp"

namespace refit {

namespace {

namespace fs = std::filesystem;

Error invalid(const std::string& what, const fs::path& where) {
    return Error{ErrorCode::invalid_input, what, where.string()};
}

Error busy(const UpdatePlace& place) {
    return invalid("another in-place update is at work in this folder", place.folder);
}

/// Is what stands under this name, if anything, a plain file that nobody else shares?
Status check_plain(const Disk& disk, const fs::path& path, bool allow_linked) {
    auto info = disk.info(path);
    if (!info.has_value()) return Done{};
    const bool linked =
        info->kind == Disk::Kind::link || (info->kind == Disk::Kind::file && info->names > 1);
    if (linked && !allow_linked) {
        const std::string what = info->kind == Disk::Kind::link
                                     ? "a symbolic link"
                                     : fmt::format("one of {} hard links", info->names);
        return invalid("is " + what + ": overwriting it would change whatever shares its bytes",
                       path);
    }
    if (info->kind == Disk::Kind::link) info = disk.info(disk.resolve(path));
    if (!info.has_value() || info->kind != Disk::Kind::file) return invalid("is no file", path);
    return Done{};
}

class NewFileOnDisk final : public InPlaceUpdate::NewFile {
public:
    NewFileOnDisk(std::unique_ptr<DiskFile> file, std::uint64_t bytes)
        : file_(std::move(file)), bytes_(bytes) {
        file_->reserve(bytes);
    }

    void write(std::uint64_t offset, ByteSpan bytes) override {
        REFIT_ASSERT(file_ != nullptr && offset <= bytes_ && bytes.size() <= bytes_ - offset);
        file_->write_at(offset, bytes);
    }

    void finish() override {
        if (file_ == nullptr) return;
        file_->sync();
        file_.reset();
    }

private:
    std::unique_ptr<DiskFile> file_;
    std::uint64_t bytes_;
};

class Update final : public InPlaceUpdate {
public:
    Update(Disk& disk,
           UpdatePlace place,
           std::unique_ptr<DiskLock> lock,
           const InPlaceTarget& target,
           ByteSpan identity)
        : disk_(disk),
          place_(std::move(place)),
          lock_(std::move(lock)),
          allow_linked_(target.allow_linked) {
        plan_.identity.assign(identity.begin(), identity.end());
        plan_.heads = target.heads;
        if (!place_.lone.empty()) plan_.heads = {place_.lone};
    }

    ~Update() override {
        if (forward_) return;
        journal_.reset();
        if (journal_file_ != nullptr) disk_.discard(place_.journal_new());
        for (const NamedFile& file : plan_.created) disk_.discard(place_.fresh(file.name));
    }

    Result<Patched> patched_file(const std::string& name) override {
        if (const auto* known = find(plan_.patched, name))
            return Patched{static_cast<std::uint32_t>(known - plan_.patched.data()), known->bytes};
        REFIT_CHECK(check_name(name));
        if (!disk_.info(place_.at(name)).has_value())
            return Error{ErrorCode::not_found, "no such file", place_.at(name).string()};
        REFIT_CHECK(check_plain(disk_, place_.at(name), allow_linked_));
        // Opened for writing now: missing rights must show before the point of no return.
        plan_.patched.push_back(
            {name, disk_.open(place_.at(name), Disk::Access::overwrite)->bytes()});
        numbers_.emplace_back();
        return Patched{static_cast<std::uint32_t>(numbers_.size() - 1), plan_.patched.back().bytes};
    }

    void patch_words(const Patched& file,
                     std::uint64_t offset,
                     std::span<const std::uint32_t> positions,
                     std::span<const std::uint16_t> words) override {
        REFIT_ASSERT(positions.size() == words.size());
        if (positions.empty()) return;
        const std::uint64_t end = 2 * (std::uint64_t{positions.back()} + 1);
        REFIT_ASSERT(offset <= file.bytes && end <= file.bytes - offset);
        select(file);
        for (std::size_t i = 0; i < positions.size(); ++i) {
            REFIT_ASSERT(i == 0 || positions[i] > positions[i - 1]);
            journal_->add_word(offset + 2 * std::uint64_t{positions[i]}, words[i]);
        }
    }

    void patch_bytes(const Patched& file, std::uint64_t offset, ByteSpan bytes) override {
        REFIT_ASSERT(offset <= file.bytes && bytes.size() <= file.bytes - offset);
        if (bytes.empty()) return;
        select(file);
        for (; bytes.size() >= 2; bytes = bytes.subspan(2), offset += 2) {
            std::uint16_t word = 0;
            std::memcpy(&word, bytes.data(), sizeof(word));
            journal_->add_word(offset, word);
        }
        journal_->add_bytes(offset, bytes);
    }

    Result<NewFile*> create_file(const std::string& name, std::uint64_t bytes) override {
        REFIT_CHECK(check_name(name));
        REFIT_CHECK(check_plain(disk_, place_.at(name), allow_linked_));
        const fs::path like = place_.at(disk_.info(place_.at(name)) ? name : existing_head());
        auto file = disk_.create(place_.fresh(name), like);
        plan_.created.push_back({name, bytes});
        open_.push_back(std::make_unique<NewFileOnDisk>(std::move(file), bytes));
        return open_.back().get();
    }

    Status remove_file(const std::string& name) override {
        REFIT_CHECK(check_name(name));
        REFIT_CHECK(check_plain(disk_, place_.at(name), allow_linked_));
        plan_.removed.push_back(name);
        return Done{};
    }

    Status commit(const InPlaceCheck& check) override {
        REFIT_ASSERT(!forward_);
        for (const auto& file : open_) file->finish();
        if (journal_ == nullptr && plan_.removed.empty() && plan_.created.size() <= 1)
            return commit_at_once(check);
        if (!plan_.created.empty()) disk_.sync_folder(place_.folder);
        for (const NamedFile& file : plan_.created) journal().created(file);
        for (const std::string& name : plan_.removed) journal().removed(name);
        journal().commit();
        journal_.reset();
        forward_ = true;  // a failed rename may have happened all the same
        disk_.rename(place_.journal_new(), place_.journal());
        return finish_update(disk_, place_, check);
    }

private:
    static const NamedFile* find(const std::vector<NamedFile>& files, const std::string& name) {
        const auto found = std::ranges::find(files, name, &NamedFile::name);
        return found == files.end() ? nullptr : &*found;
    }

    /// One part in the update for each name: two could not be repeated in any order.
    Status check_name(const std::string& name) const {
        REFIT_ASSERT(find(plan_.patched, name) == nullptr && find(plan_.created, name) == nullptr &&
                     std::ranges::find(plan_.removed, name) == plan_.removed.end());
        if (!is_update_name(name)) return invalid("is no plain file name", name);
        REFIT_ASSERT(place_.lone.empty() || name == place_.lone);
        return Done{};
    }

    std::string existing_head() const {
        for (const std::string& head : plan_.heads) {
            if (disk_.info(place_.at(head)).has_value()) return head;
        }
        return plan_.heads.front();
    }

    JournalWriter& journal() {
        if (journal_ == nullptr) {
            journal_file_ = disk_.create(place_.journal_new(), place_.at(existing_head()));
            journal_ = std::make_unique<JournalWriter>(*journal_file_, plan_.identity, plan_.heads);
        }
        return *journal_;
    }

    /// A file enters the journal with its first patch: one without any stays out of the update.
    void select(const Patched& file) {
        auto& number = numbers_[file.number];
        if (!number.has_value()) number = journal().patched(plan_.patched[file.number]);
        journal_->select(*number);
    }

    /// At most one new file: a rename is atomic by itself.
    Status commit_at_once(const InPlaceCheck& check) {
        std::map<std::string, fs::path> moved;
        for (const NamedFile& file : plan_.created) moved[file.name] = place_.fresh(file.name);
        REFIT_CHECK(check(InPlaceView(place_.folder, std::move(moved), plan_.identity)));
        forward_ = true;
        for (const NamedFile& file : plan_.created) {
            disk_.rename(place_.fresh(file.name), place_.at(file.name));
            disk_.sync_folder(place_.folder);
        }
        return Done{};
    }

    Disk& disk_;
    UpdatePlace place_;
    std::unique_ptr<DiskLock> lock_;
    bool allow_linked_;
    JournalPlan plan_;
    std::vector<std::optional<std::uint32_t>> numbers_;  // in the journal, of plan_.patched
    std::vector<std::unique_ptr<NewFileOnDisk>> open_;
    std::unique_ptr<DiskFile> journal_file_;
    std::unique_ptr<JournalWriter> journal_;
    bool forward_ = false;
};

/// What would stop the update half-way, asked before it begins.
Status check_target(const Disk& disk, const UpdatePlace& place, const InPlaceTarget& target) {
    std::vector<std::string> heads = target.heads;
    if (!place.lone.empty()) {
        heads = {place.lone};
    }
    for (const std::string& head : heads) {
        const fs::path longest = place.lone.empty() ? place.hidden(head) : place.journal_new();
        if (!is_update_name(head) || longest.filename().string().size() > kUpdateNameMax)
            return invalid("is no file name an in-place update can work with", place.at(head));
        if (disk.info(place.hidden(head)).has_value())
            return invalid("is in the way and has no journal", place.hidden(head));
        REFIT_CHECK(check_plain(disk, place.at(head), target.allow_linked));
    }
    for (const std::string& name : target.files)
        REFIT_CHECK(check_plain(disk, place.at(name), target.allow_linked));
    return Done{};
}

}  // namespace

Result<std::unique_ptr<InPlaceUpdate>> InPlaceUpdate::begin(Disk& disk,
                                                            const InPlaceTarget& target,
                                                            ByteSpan identity,
                                                            Bytes space) {
    REFIT_ASSERT(identity.size() <= kUpdateIdentityMax);
    const fs::path path = target.path.has_filename() ? target.path : target.path.parent_path();
    const auto info = disk.info(path);
    if (!info.has_value()) return Error{ErrorCode::not_found, "no such file", path.string()};
    if (info->kind == Disk::Kind::link) REFIT_CHECK(check_plain(disk, path, target.allow_linked));
    const UpdatePlace place = UpdatePlace::of(disk, target.path);
    if (place.lone.empty() == target.heads.empty())
        return invalid(target.heads.empty() ? "is a directory" : "is no directory", target.path);
    auto lock = disk.lock(place.folder);
    if (lock == nullptr) return busy(place);
    if (disk.info(place.journal()).has_value())
        return invalid("an in-place update of it is unfinished", target.path);
    REFIT_CHECK(check_target(disk, place, target));
    remove_leftovers(disk, place);
    if (const Bytes free = disk.free_space(place.folder); free < space)
        throw MachineError(fmt::format("{}: no space: the update takes {} bytes, {} are free",
                                       target.path.string(), space.count, free.count));
    return std::unique_ptr<InPlaceUpdate>(
        std::make_unique<Update>(disk, place, std::move(lock), target, identity));
}

Result<std::optional<ByteVector>> interrupted(Disk& disk, const fs::path& path) {
    const UpdatePlace place = UpdatePlace::of(disk, path);
    if (!disk.info(place.journal()).has_value()) {
        if (!place.lone.empty() && !disk.info(place.at(place.lone)).has_value() &&
            disk.info(place.hidden(place.lone)).has_value())
            return Error{ErrorCode::corrupt,
                         "was left by an in-place update whose journal is gone: it may be half "
                         "updated",
                         place.hidden(place.lone).string()};
        return std::optional<ByteVector>();
    }
    auto plan = read_journal(*disk.open(place.journal(), Disk::Access::read), nullptr);
    if (!plan.has_value()) return in_file(plan.error(), place.journal().string());
    return std::optional<ByteVector>(std::move(plan.value().identity));
}

Result<bool> recover(Disk& disk, const fs::path& path, const InPlaceCheck& check) {
    const UpdatePlace place = UpdatePlace::of(disk, path);
    const auto lock = disk.lock(place.folder);
    if (lock == nullptr) return busy(place);
    const bool unfinished = disk.info(place.journal()).has_value();
    if (unfinished) REFIT_CHECK(finish_update(disk, place, check));
    if (!unfinished) {
        remove_leftovers(disk, place);
        disk.sync_folder(place.folder);  // the last update may have died before its last one
    }
    return unfinished;
}

}  // namespace refit
