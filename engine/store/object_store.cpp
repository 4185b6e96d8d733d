#include "engine/store/object_store.hpp"

#include <algorithm>
#include <map>
#include <mutex>

namespace refit {

namespace {

class MemoryStore final : public ObjectStore {
public:
    void put(const std::string& name, ByteSpan bytes) override {
        REFIT_ASSERT(is_object_name(name));
        const std::lock_guard lock(mutex_);
        objects_.try_emplace(name, bytes.begin(), bytes.end());
    }

    Result<ByteVector> get(const std::string& name) const override {
        const std::lock_guard lock(mutex_);
        const auto found = objects_.find(name);
        if (found == objects_.end()) return missing(name);
        return found->second;
    }

    Result<ByteVector> get_range(const std::string& name,
                                 std::uint64_t offset,
                                 std::uint64_t size) const override {
        const std::lock_guard lock(mutex_);
        const auto found = objects_.find(name);
        if (found == objects_.end()) return missing(name);
        const ByteVector& bytes = found->second;
        if (offset > bytes.size() || size > bytes.size() - offset)
            return Error{ErrorCode::not_found, "the range lies past the end of the object", name};
        const ByteSpan range = ByteSpan(bytes).subspan(offset, size);
        return ByteVector(range.begin(), range.end());
    }

    bool has(const std::string& name) const override {
        const std::lock_guard lock(mutex_);
        return objects_.contains(name);
    }

    std::vector<std::string> list(const std::string& prefix) const override {
        const std::lock_guard lock(mutex_);
        std::vector<std::string> names;
        for (auto it = objects_.lower_bound(prefix); it != objects_.end(); ++it) {
            if (!it->first.starts_with(prefix)) break;
            names.push_back(it->first);
        }
        return names;
    }

private:
    static Error missing(const std::string& name) {
        return Error{ErrorCode::not_found, "the store has no such object", name};
    }

    mutable std::mutex mutex_;
    std::map<std::string, ByteVector> objects_;
};

bool is_name_character(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

}  // namespace

std::string part_key(const Hash256& payload) { return "parts/" + to_hex(payload); }

std::string manifest_key(const Hash256& sealed) { return "manifests/" + to_hex(sealed); }

bool is_object_name(std::string_view name) {
    while (true) {
        const std::size_t slash = std::min(name.find('/'), name.size());
        const std::string_view component = name.substr(0, slash);
        if (component.empty() || component == "." || component == "..") return false;
        if (!std::ranges::all_of(component, is_name_character)) return false;
        if (slash == name.size()) return true;
        name.remove_prefix(slash + 1);
    }
}

std::unique_ptr<ObjectStore> make_memory_store() { return std::make_unique<MemoryStore>(); }

}  // namespace refit
