// A Disk in memory that can lose: every operation is logged, and any prefix of the log can be
// turned into what a crash at that instant may leave.
//
// Model    An operation is a set of effects. Data: a write is one effect per 4 KiB page, the size
//          of a file another; DiskFile::sync() makes those of its file durable. Names: create,
//          rename (atomic) and remove; sync_folder() makes those of its folder durable. Effects
//          that are not durable survive a crash in any subset, in their order; a page also torn
//          at 512 bytes. Opening, reading and locking leave nothing.
// Killed   stop_at(n) throws Killed instead of operation n, and nothing happens any more until
//          revive(): the process died, the machine did not.
// Mutants  ignore_sync(n): the n-th sync since then does nothing.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/rng.hpp"
#include "engine/store/disk.hpp"

namespace refit {

struct Killed {};

/// What a disk holds: contents by inode, inodes by name. Copies share contents until they change.
struct DiskImage {
    std::map<std::string, int> names;
    std::map<int, std::shared_ptr<std::string>> contents;

    const std::string& content(int inode) const {
        static const std::string nothing;
        const auto found = contents.find(inode);
        return found == contents.end() ? nothing : *found->second;
    }
    std::string& change(int inode) {
        std::shared_ptr<std::string>& content = contents[inode];
        if (content == nullptr || content.use_count() > 1)
            content = std::make_shared<std::string>(content == nullptr ? "" : *content);
        return *content;
    }
};

struct DiskEffect {
    enum class Kind : std::uint8_t { write, size, create, rename, remove };
    Kind kind{};
    int inode = 0;
    std::uint64_t offset = 0;  // write: place; size: new size
    std::string bytes{};
    std::string name{};
    std::string to{};

    bool is_name() const { return kind >= Kind::create; }

    /// Of a write, only the 512-byte sectors whose bit is set: bit 0 is the page's first.
    void apply(DiskImage& image, std::uint32_t sectors = 0xFF) const {
        const auto named = image.names.find(name);
        const bool is_ours = named != image.names.end() && named->second == inode;
        switch (kind) {
            case Kind::write:
                apply_write(image.change(inode), sectors);
                return;
            case Kind::size:
                image.change(inode).resize(offset);
                return;
            case Kind::create:
                image.names[name] = inode;
                return;
            case Kind::rename:
                if (is_ours) image.names.erase(named);
                image.names[to] = inode;
                return;
            case Kind::remove:
                if (is_ours) image.names.erase(named);
                return;
        }
    }

private:
    void apply_write(std::string& content, std::uint32_t sectors) const {
        for (std::size_t at = offset, end = offset + bytes.size(); at < end;) {
            const std::size_t next = std::min(end, at / 512 * 512 + 512);
            const bool kept = (sectors >> (at / 512 % 8) & 1) != 0;
            if (kept && at < content.size()) {
                const std::size_t size = std::min(next, content.size()) - at;
                bytes.copy(content.data() + at, size, at - offset);
            }
            at = next;
        }
    }
};

/// One logged operation: effects, or a sync of a file (its inode) or of a folder (its name).
struct DiskOperation {
    std::string label;
    std::vector<DiskEffect> effects{};
    std::optional<int> synced_file{};
    std::optional<std::string> synced_folder{};

    bool is_sync() const { return synced_file.has_value() || synced_folder.has_value(); }
    bool makes_durable(const DiskEffect& effect) const {
        if (effect.is_name())
            return synced_folder == std::filesystem::path(effect.name).parent_path().string();
        return synced_file == effect.inode;
    }
};

class SimulatedDisk final : public Disk {
public:
    explicit SimulatedDisk(DiskImage start) : start_(std::move(start)), now_(start_) {
        for (const auto& [inode, content] : now_.contents)
            next_inode_ = std::max(next_inode_, inode + 1);
    }

    static DiskImage image_of(const std::map<std::string, std::string>& files) {
        DiskImage image;
        int inode = 0;
        for (const auto& [name, content] : files) {
            image.names[name] = inode;
            image.contents[inode++] = std::make_shared<std::string>(content);
        }
        return image;
    }

    const DiskImage& start() const { return start_; }
    const DiskImage& now() const { return now_; }
    const std::vector<DiskOperation>& log() const { return log_; }

    void stop_at(std::size_t operation) { stop_at_ = operation; }
    void revive() {
        dead_ = false;
        stop_at_ = ~std::size_t{0};
    }
    void ignore_sync(std::size_t number) { ignored_sync_ = number; }
    const std::string& ignored() const { return ignored_; }
    void set_free_space(Bytes bytes) { free_space_ = bytes; }

    std::optional<Info> info(const std::filesystem::path& path) const override {
        if (path == kFolder) return Info{Kind::folder, 0, 1};
        const auto found = now_.names.find(path.string());
        if (found == now_.names.end()) return std::nullopt;
        return Info{Kind::file, now_.content(found->second).size(), 1};
    }
    std::filesystem::path resolve(const std::filesystem::path& path) const override { return path; }
    std::vector<std::string> list(const std::filesystem::path& folder) const override {
        std::vector<std::string> names;
        for (const auto& [name, inode] : now_.names) {
            const std::filesystem::path path = name;
            if (path.parent_path() == folder) names.push_back(path.filename().string());
        }
        return names;
    }
    Bytes free_space(const std::filesystem::path&) const override { return free_space_; }

    std::unique_ptr<DiskFile> open(const std::filesystem::path& path, Access) override {
        const auto found = now_.names.find(path.string());
        if (found == now_.names.end()) throw MachineError(path.string() + ": no such file");
        return std::make_unique<OpenFile>(*this, found->second, path.filename().string());
    }
    std::unique_ptr<DiskFile> create(const std::filesystem::path& path,
                                     const std::filesystem::path&) override {
        if (info(path)) throw MachineError(path.string() + ": exists");
        const int inode = next_inode_++;
        DiskEffect effect{DiskEffect::Kind::create, inode};
        effect.name = path.string();
        run({"create " + path.filename().string(), {effect}});
        return std::make_unique<OpenFile>(*this, inode, path.filename().string());
    }
    void rename(const std::filesystem::path& from, const std::filesystem::path& to) override {
        DiskEffect effect{DiskEffect::Kind::rename, inode_of(from)};
        effect.name = from.string();
        effect.to = to.string();
        run({"rename " + from.filename().string() + " to " + to.filename().string(), {effect}});
    }
    void remove(const std::filesystem::path& path) override {
        DiskEffect effect{DiskEffect::Kind::remove, inode_of(path)};
        effect.name = path.string();
        run({"remove " + path.filename().string(), {effect}});
    }
    void discard(const std::filesystem::path& path) noexcept override {
        if (!dead_ && info(path)) remove(path);
    }
    void sync_folder(const std::filesystem::path& folder) override {
        run({"sync folder", {}, {}, folder.string()});
    }
    std::unique_ptr<DiskLock> lock(const std::filesystem::path&) override {
        if (locked_) return nullptr;
        return std::make_unique<Lock>(locked_);
    }

    static constexpr const char* kFolder = "/d";

private:
    class Lock final : public DiskLock {
    public:
        explicit Lock(bool& locked) : locked_(locked) { locked_ = true; }
        ~Lock() override { locked_ = false; }

    private:
        bool& locked_;
    };

    class OpenFile final : public DiskFile {
    public:
        OpenFile(SimulatedDisk& disk, int inode, std::string name)
            : disk_(disk), inode_(inode), name_(std::move(name)) {}

        std::uint64_t bytes() const override { return disk_.now_.content(inode_).size(); }
        void read_at(std::uint64_t offset, std::span<std::byte> out) const override {
            const std::string& content = disk_.now_.content(inode_);
            if (offset + out.size() > content.size()) throw MachineError(name_ + ": too short");
            const ByteSpan from = as_byte_span(content).subspan(offset, out.size());
            std::ranges::copy(from, out.begin());
        }
        void write_at(std::uint64_t offset, ByteSpan bytes) override {
            if (bytes.empty()) return;
            DiskOperation operation{"write " + name_};
            add_size(operation, offset + bytes.size());
            while (!bytes.empty()) {
                const std::size_t size = std::min<std::size_t>(bytes.size(), 4096 - offset % 4096);
                operation.effects.push_back({DiskEffect::Kind::write, inode_, offset,
                                             std::string(as_text(bytes.first(size)))});
                bytes = bytes.subspan(size);
                offset += size;
            }
            disk_.run(std::move(operation));
        }
        void reserve(std::uint64_t size) override {
            DiskOperation operation{"reserve " + name_};
            add_size(operation, size);
            if (!operation.effects.empty()) disk_.run(std::move(operation));
        }
        void sync() override { disk_.run({"sync " + name_, {}, inode_}); }

    private:
        void add_size(DiskOperation& operation, std::uint64_t size) const {
            if (size > bytes()) operation.effects.push_back({DiskEffect::Kind::size, inode_, size});
        }

        SimulatedDisk& disk_;
        int inode_;
        std::string name_;
    };

    int inode_of(const std::filesystem::path& path) const {
        const auto found = now_.names.find(path.string());
        if (found == now_.names.end()) throw MachineError(path.string() + ": no such file");
        return found->second;
    }

    void run(DiskOperation operation) {
        if (dead_ || log_.size() >= stop_at_) {
            dead_ = true;
            throw Killed{};
        }
        if (operation.is_sync() && ignored_sync_.has_value() && (*ignored_sync_)-- == 0) {
            ignored_ = operation.label + " after " + (log_.empty() ? "" : log_.back().label);
            ignored_sync_.reset();
            return;
        }
        for (const DiskEffect& effect : operation.effects) effect.apply(now_);
        log_.push_back(std::move(operation));
    }

    DiskImage start_;
    DiskImage now_;
    std::vector<DiskOperation> log_;
    int next_inode_ = 0;
    std::size_t stop_at_ = ~std::size_t{0};
    bool dead_ = false;
    std::optional<std::size_t> ignored_sync_;
    std::string ignored_;
    bool locked_ = false;
    Bytes free_space_{std::uint64_t{1} << 40};
};

/// How hard crash states are looked for.
struct CrashEffort {
    std::size_t all_subsets_up_to = 10;  // effects that are not durable
    std::size_t random_subsets = 32;     // beyond, and of torn pages always
};

/// What was not durable at an instant, and the ways to lose it.
class PendingEffects {
public:
    explicit PendingEffects(DiskImage durable) : durable_(std::move(durable)) {}

    void add(const DiskOperation& operation) {
        newest_ = operation.effects.size();
        pending_.insert(pending_.end(), operation.effects.begin(), operation.effects.end());
        if (!operation.is_sync()) return;
        std::vector<DiskEffect> left;
        for (DiskEffect& effect : pending_) {
            if (operation.makes_durable(effect)) {
                effect.apply(durable_);
            } else {
                left.push_back(std::move(effect));
            }
        }
        pending_ = std::move(left);
    }

    /// False once `visit` returned false.
    template <class Visit>
    bool for_each_loss(const CrashEffort& effort, Rng rng, const Visit& visit) const {
        const std::size_t count = pending_.size();
        const auto crash = [&](const auto& kept) { return visit(after(kept)); };
        if (!crash([](std::size_t) { return 0u; })) return false;
        if (count == 0) return true;
        if (!crash([](std::size_t) { return kAll; })) return false;
        if (newest_ > 0 && count <= effort.all_subsets_up_to) {
            // Subsets without a new effect were those of the instant before.
            for (std::uint64_t subset = 1; subset < std::uint64_t{1} << count; ++subset) {
                if (subset >> (count - newest_) == 0) continue;
                if (!crash([&](std::size_t i) { return (subset >> i & 1) != 0 ? kAll : 0u; }))
                    return false;
            }
        } else {
            for (std::size_t one = 0; one < count; ++one) {
                if (!crash([&](std::size_t i) { return i == one ? kAll : 0u; }) ||
                    !crash([&](std::size_t i) { return i == one ? 0u : kAll; }))
                    return false;
            }
        }
        for (std::size_t subset = 0; subset < effort.random_subsets; ++subset) {
            if (!crash([&](std::size_t) {
                    const std::uint64_t value = rng.next();
                    if ((value & 3) == 0) return 0u;
                    return (value & 3) == 1 ? kAll : static_cast<std::uint32_t>(value >> 8 & kAll);
                }))
                return false;
        }
        return true;
    }

private:
    static constexpr std::uint32_t kAll = 0xFF;

    /// `kept(i)`: the sectors of effect i that survive; of a name or size, any bit.
    template <class Kept>
    DiskImage after(const Kept& kept) const {
        DiskImage image = durable_;
        for (std::size_t i = 0; i < pending_.size(); ++i) {
            if (const std::uint32_t sectors = kept(i); sectors != 0)
                pending_[i].apply(image, sectors);
        }
        return image;
    }

    DiskImage durable_;
    std::vector<DiskEffect> pending_;
    std::size_t newest_ = 0;  // effects of the last operation, at the end of pending_
};

/// Calls `visit(image, length)` with what a crash after the first `length` operations of the log
/// may leave, for every length from `first` on; `visit` returns false to end it.
template <class Visit>
void for_each_crash(const SimulatedDisk& disk,
                    std::size_t first,
                    const CrashEffort& effort,
                    std::uint64_t seed,
                    const Visit& visit) {
    PendingEffects pending(disk.start());
    for (std::size_t length = 0; length <= disk.log().size(); ++length) {
        if (length > 0) pending.add(disk.log()[length - 1]);
        if (length < first) continue;
        if (!pending.for_each_loss(effort, Rng(seed, length),
                                   [&](const DiskImage& image) { return visit(image, length); }))
            return;
    }
}

}  // namespace refit
