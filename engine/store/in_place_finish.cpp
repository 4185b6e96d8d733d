#include "engine/store/in_place_finish.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace refit {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kPage = 4096;
constexpr std::string_view kFreshMark = ".refit-new";

/// Overwrites files page by page: the pages that hold changed words are read, changed and written
/// back, neighbours together. Nobody else sees these files, so equal bytes may be written again.
class Overwriter final : public PatchSink {
public:
    Overwriter(Disk& disk, std::function<fs::path(const std::string&)> locate)
        : disk_(disk), locate_(std::move(locate)) {}

    void words(const NamedFile& file,
               std::uint64_t offset,
               std::span<const std::uint16_t> positions,
               std::span<const std::uint16_t> words) override {
        select(file);
        const auto at = [&](std::size_t i) { return offset + 2 * std::uint64_t{positions[i]}; };
        std::size_t first = 0;
        while (first < positions.size()) {
            const std::uint64_t begin = start_of(at(first));
            std::uint64_t end = begin;
            std::size_t last = first;
            for (; last < positions.size() && start_of(at(last)) <= end; ++last)
                end = start_of(at(last) + 1) + kPage;  // a word may lie on two pages
            end = std::min(end, file.bytes);
            pages_.resize(static_cast<std::size_t>(end - begin));
            open_->read_at(begin, pages_);
            for (std::size_t i = first; i < last; ++i)
                std::memcpy(pages_.data() + (at(i) - begin), &words[i], sizeof(words[i]));
            open_->write_at(begin, pages_);
            first = last;
        }
    }

    void bytes(const NamedFile& file, std::uint64_t offset, ByteSpan bytes) override {
        select(file);
        open_->write_at(offset, bytes);
    }

private:
    static std::uint64_t start_of(std::uint64_t offset) { return offset / kPage * kPage; }

    void select(const NamedFile& file) {
        if (name_ == file.name) return;
        open_.reset();
        open_ = disk_.open(locate_(file.name), Disk::Access::overwrite);
        name_ = file.name;
    }

    Disk& disk_;
    std::function<fs::path(const std::string&)> locate_;
    std::string name_;
    std::unique_ptr<DiskFile> open_;
    ByteVector pages_;
};

class Finish {
public:
    Finish(Disk& disk, const UpdatePlace& place, JournalPlan plan)
        : disk_(disk), place_(place), plan_(std::move(plan)) {}

    Status run(const DiskFile& journal, const InPlaceCheck& check) {
        REFIT_CHECK(check_files());
        disk_.sync_folder(place_.folder);  // whoever moved the names before us may have died
        hide_heads();
        REFIT_CHECK(overwrite(journal));
        move_whole_files();
        REFIT_CHECK(check(view()));
        show_heads();
        remove_leftovers(disk_, place_);
        disk_.remove(place_.journal());
        disk_.sync_folder(place_.folder);
        return Done{};
    }

private:
    bool exists(const fs::path& path) const { return disk_.info(path).has_value(); }

    bool is_head(const std::string& name) const {
        return std::ranges::find(plan_.heads, name) != plan_.heads.end();
    }

    /// Where the file lies while the heads are hidden.
    fs::path inside(const std::string& name) const {
        return is_head(name) ? place_.hidden(name) : place_.at(name);
    }

    bool has_bytes(const fs::path& path, std::uint64_t bytes) const {
        const auto info = disk_.info(disk_.resolve(path));
        return info.has_value() && info->kind == Disk::Kind::file && info->bytes == bytes;
    }

    /// Are these the files the journal was made for? Asked before anything is touched.
    Status check_files() const {
        for (const std::string& head : plan_.heads) {
            if (exists(place_.at(head)) && exists(place_.hidden(head)))
                return Error{ErrorCode::invalid_input,
                             "stands beside its own unfinished update: remove one of it and " +
                                 place_.hidden(head).filename().string(),
                             place_.at(head).string()};
        }
        const auto wrong = [&](const NamedFile& file) {
            return Error{
                ErrorCode::corrupt,
                fmt::format("is not the file of {} bytes its unfinished update is for", file.bytes),
                place_.at(file.name).string()};
        };
        for (const NamedFile& file : plan_.patched) {
            if (!has_bytes(place_.at(file.name), file.bytes) &&
                !has_bytes(inside(file.name), file.bytes))
                return wrong(file);
        }
        for (const NamedFile& file : plan_.created) {
            if (!has_bytes(place_.fresh(file.name), file.bytes) &&
                !has_bytes(place_.at(file.name), file.bytes) &&
                !has_bytes(inside(file.name), file.bytes))
                return wrong(file);
        }
        return Done{};
    }

    void hide_heads() {
        for (const std::string& head : plan_.heads) {
            if (!exists(place_.at(head))) continue;
            disk_.rename(place_.at(head), place_.hidden(head));
            disk_.sync_folder(place_.folder);
        }
    }

    Status overwrite(const DiskFile& journal) {
        if (plan_.patched.empty()) return Done{};
        const auto locate = [&](const std::string& name) { return inside(name); };
        Overwriter overwriter(disk_, locate);
        REFIT_CHECK(read_journal(journal, &overwriter));
        for (const NamedFile& file : plan_.patched)
            disk_.open(inside(file.name), Disk::Access::overwrite)->sync();
        return Done{};
    }

    void move_whole_files() {
        bool moved = false;
        for (const NamedFile& file : plan_.created) {
            if (!exists(place_.fresh(file.name))) continue;
            disk_.rename(place_.fresh(file.name), inside(file.name));
            moved = true;
        }
        for (const std::string& name : plan_.removed) {
            if (!exists(inside(name))) continue;
            disk_.remove(inside(name));
            moved = true;
        }
        if (moved) disk_.sync_folder(place_.folder);
    }

    InPlaceView view() const {
        std::map<std::string, fs::path> moved;
        for (const std::string& head : plan_.heads) moved.emplace(head, place_.hidden(head));
        return {place_.folder, std::move(moved), plan_.identity};
    }

    void show_heads() {
        for (auto head = plan_.heads.rbegin(); head != plan_.heads.rend(); ++head) {
            if (!exists(place_.hidden(*head))) continue;
            disk_.rename(place_.hidden(*head), place_.at(*head));
            disk_.sync_folder(place_.folder);
        }
    }

    Disk& disk_;
    const UpdatePlace& place_;
    JournalPlan plan_;
};

}  // namespace

UpdatePlace UpdatePlace::of(const Disk& disk, const fs::path& path) {
    const fs::path given = path.has_filename() ? path : path.parent_path();
    const fs::path target = disk.resolve(given);
    const auto info = disk.info(target);
    if (info.has_value() && info->kind == Disk::Kind::folder) return {target, ""};
    const fs::path folder = target.parent_path();
    return {folder.empty() ? fs::path(".") : folder, target.filename().string()};
}

fs::path UpdatePlace::journal() const {
    return folder / (lone.empty() ? ".refit-journal" : "." + lone + ".refit-journal");
}

fs::path UpdatePlace::journal_new() const { return journal().string() + "-new"; }

fs::path UpdatePlace::hidden(const std::string& head) const {
    return folder / (head + ".refit-applying");
}

fs::path UpdatePlace::fresh(const std::string& name) const {
    return folder / ("." + name + std::string(kFreshMark));
}

void remove_leftovers(Disk& disk, const UpdatePlace& place) {
    if (!place.lone.empty()) {
        for (const fs::path& path : {place.journal_new(), place.fresh(place.lone)}) {
            if (disk.info(path).has_value()) disk.remove(path);
        }
        return;
    }
    for (const std::string& name : disk.list(place.folder)) {
        const bool ours = name[0] == '.' && name.ends_with(kFreshMark);
        if (ours || place.at(name) == place.journal_new()) disk.remove(place.at(name));
    }
}

Status finish_update(Disk& disk, const UpdatePlace& place, const InPlaceCheck& check) {
    const auto journal = disk.open(place.journal(), Disk::Access::read);
    auto plan = read_journal(*journal, nullptr);
    if (!plan.has_value()) return in_file(plan.error(), place.journal().string());
    return Finish(disk, place, std::move(plan).value()).run(*journal, check);
}

}  // namespace refit
