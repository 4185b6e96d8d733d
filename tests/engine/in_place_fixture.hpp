// In-place updates for tests: two versions of the files of a folder, and the update between them.
#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <string>

#include "engine/base/rng.hpp"
#include "engine/store/in_place.hpp"
#include "tests/support/files.hpp"

namespace refit {

// Sanitizers look for other mistakes than these tests and take ten times as long.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
constexpr bool kSanitized = __has_feature(address_sanitizer);
#else
constexpr bool kSanitized = false;
#endif

using Files = std::map<std::string, std::string>;

inline constexpr const char* kIndex = "model.safetensors.index.json";
inline constexpr const char* kSingle = "model.safetensors";

struct UpdateCase {
    std::string name;
    Files old_files;
    Files new_files;
    bool lone = false;
    /// Syncs it could do without: nothing is overwritten, so an order more or less is the same.
    int spare_syncs = 0;

    friend void PrintTo(const UpdateCase& files, std::ostream* out) { *out << files.name; }

    InPlaceTarget target(const std::filesystem::path& folder) const {
        if (lone) return {folder / old_files.begin()->first};
        InPlaceTarget target{folder, {kSingle, kIndex}};
        for (const auto& [file, content] : old_files) target.files.push_back(file);
        return target;
    }
};

enum class Shown : std::uint8_t { nothing, old_files, new_files, mix };

/// What a reader finds: an index and the files it lists, else the one model file.
class Reader {
public:
    using Found = std::map<std::string, const std::string*>;

    Reader(const UpdateCase& files, Found found) : case_(files), found_(std::move(found)) {}

    bool holds(const Files& files) const {
        return files.size() == found_.size() &&
               std::equal(files.begin(), files.end(), found_.begin(),
                          [](const auto& file, const auto& found) {
                              return file.first == found.first && file.second == *found.second;
                          });
    }

    Shown shown() const {
        if (case_.lone) return shown_by(case_.old_files.begin()->first);
        if (found_.contains(kIndex)) return shown_by(kIndex);
        return shown_by(kSingle);
    }

private:
    Shown shown_by(const std::string& head) const {
        if (!found_.contains(head)) return Shown::nothing;
        const Shown as_old = compare(head, case_.old_files, Shown::old_files);
        if (as_old != Shown::mix) return as_old;
        return compare(head, case_.new_files, Shown::new_files);
    }

    /// Does `head` show exactly these files? One that is hidden makes an index show nothing.
    Shown compare(const std::string& head, const Files& files, Shown whole) const {
        const auto own = files.find(head);
        if (own == files.end() || own->second != *found_.at(head)) return Shown::mix;
        if (head != kIndex && files.contains(kIndex)) return Shown::mix;  // a shard by itself
        for (const auto& [name, content] : files) {
            const auto file = found_.find(name);
            if (file == found_.end() && name == kSingle) return Shown::nothing;
            if (file == found_.end() || *file->second != content) return Shown::mix;
        }
        return whole;
    }

    const UpdateCase& case_;
    Found found_;
};

/// The same for a folder of the real disk.
class FolderReader {
public:
    FolderReader(const UpdateCase& files, const std::filesystem::path& folder) : case_(files) {
        for (const auto& entry : std::filesystem::directory_iterator(folder))
            contents_[entry.path().filename().string()] = read_text_file(entry.path());
    }
    bool holds(const Files& files) const { return contents_ == files; }
    Shown shown() const {
        Reader::Found found;
        for (const auto& [name, content] : contents_) found[name] = &content;
        return Reader(case_, std::move(found)).shown();
    }
    const Files& contents() const { return contents_; }

private:
    const UpdateCase& case_;
    Files contents_;
};

inline std::string random_text(std::uint64_t seed, std::size_t bytes) {
    std::string text;
    for (std::size_t i = 0; i < bytes; ++i) text += static_cast<char>(draw(seed, 0, i));
    return text;
}

/// The same text with about `count` other words, some side by side and some over page borders.
inline std::string with_changes(std::string text, std::uint64_t seed, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t at = draw(seed, 1, i) % (text.size() - 3);
        for (std::size_t byte = 0; byte < 3; ++byte) text[at + byte] ^= 0x5A;
    }
    for (std::size_t border = 4096; border + 2 < text.size(); border += 4096) {
        text[border - 1] ^= 0x11;
        text[border] ^= 0x22;
    }
    return text;
}

/// All that differs, as words; an odd last byte as a byte.
inline void patch_differences(InPlaceUpdate& update,
                              const InPlaceUpdate::Patched& file,
                              const std::string& from,
                              const std::string& to,
                              std::uint64_t base = 1) {
    std::vector<std::uint32_t> positions;
    std::vector<std::uint16_t> words;
    if (from[0] != to[0]) update.patch_bytes(file, 0, as_byte_span(to).first(1));
    for (std::uint64_t at = base; at + 1 < to.size(); at += 2) {
        if (std::memcmp(from.data() + at, to.data() + at, 2) == 0) continue;
        std::uint16_t word = 0;
        std::memcpy(&word, to.data() + at, sizeof(word));
        positions.push_back(static_cast<std::uint32_t>((at - base) / 2));
        words.push_back(word);
    }
    update.patch_words(file, base, positions, words);
    update.patch_bytes(file, to.size() - 1, as_byte_span(to).last(1));
}

inline Status describe(InPlaceUpdate& update, const UpdateCase& files) {
    for (const auto& [name, content] : files.new_files) {
        const auto old = files.old_files.find(name);
        const bool kept = old != files.old_files.end();
        if (kept && old->second == content) continue;
        if (kept && old->second.size() == content.size() && name != kIndex) {
            REFIT_TRY(file, update.patched_file(name));
            patch_differences(update, file, old->second, content);
            continue;
        }
        REFIT_TRY(file, update.create_file(name, content.size()));
        file->write(0, as_byte_span(content));
    }
    for (const auto& [name, content] : files.old_files) {
        if (!files.new_files.contains(name)) REFIT_CHECK(update.remove_file(name));
    }
    return Done{};
}

inline std::string content_at(Disk& disk, const std::filesystem::path& path) {
    const auto file = disk.open(path, Disk::Access::read);
    ByteVector bytes(file->bytes());
    file->read_at(0, bytes);
    return std::string(as_text(bytes));
}

/// Every new file is where the view says, and whole.
inline InPlaceCheck check_of(Disk& disk, const UpdateCase& files) {
    return [&disk, &files](const InPlaceView& view) -> Status {
        if (as_text(view.identity()) != files.name)
            return Error{ErrorCode::mismatch, "another identity"};
        for (const auto& [name, content] : files.new_files) {
            if (!disk.info(view.path(name)) || content_at(disk, view.path(name)) != content)
                return Error{ErrorCode::mismatch, "the check found other bytes", name};
        }
        return Done{};
    };
}

inline Status update_files(Disk& disk,
                           const std::filesystem::path& folder,
                           const UpdateCase& files) {
    REFIT_TRY(update, InPlaceUpdate::begin(disk, files.target(folder), as_byte_span(files.name),
                                           Bytes{1000}));
    REFIT_CHECK(describe(*update, files));
    return update->commit(check_of(disk, files));
}

inline std::vector<UpdateCase> update_cases() {
    const std::string a = random_text(1, 9001);
    const std::string b = random_text(2, 10'000);
    const std::string c = random_text(3, 5000);
    const auto other = [](const std::string& text, std::uint64_t seed) {
        return with_changes(text, seed, 4);
    };
    std::vector<UpdateCase> cases;
    cases.push_back(
        {"lone file, patched", {{"m.safetensors", a}}, {{"m.safetensors", other(a, 4)}}, true});
    cases.push_back({"lone file, resized", {{"m.safetensors", a}}, {{"m.safetensors", b}}, true});
    cases.push_back({"directory, everything",
                     {{kIndex, "old: a b c"}, {"a", a}, {"b", b}, {"c", c}},
                     {{kIndex, "new: a b d"}, {"a", other(a, 5)}, {"b", b + "longer"}, {"d", c}}});
    cases.push_back({"directory, two shards patched, index as it was",
                     {{kIndex, "same: a b c"}, {"a", a}, {"b", b}, {"c", c}},
                     {{kIndex, "same: a b c"}, {"a", other(a, 6)}, {"b", other(b, 7)}, {"c", c}}});
    cases.push_back(
        {"directory without an index, patched", {{kSingle, a}}, {{kSingle, other(a, 8)}}});
    cases.push_back({"directory, one file becomes two shards",
                     {{kSingle, a}},
                     {{kIndex, "new: a b"}, {"a", a.substr(0, 4000)}, {"b", b}},
                     false,
                     1});
    cases.push_back({"directory, two shards become one file",
                     {{kIndex, "old: a b"}, {"a", a.substr(0, 4000)}, {"b", b}},
                     {{kSingle, a}},
                     false,
                     1});
    cases.push_back({"directory, a shard has the name of a lone file",
                     {{kIndex, "old: b model"}, {kSingle, a}, {"b", b}},
                     {{kIndex, "new: b model"}, {kSingle, other(a, 9)}, {"b", other(b, 10)}}});
    return cases;
}

}  // namespace refit
