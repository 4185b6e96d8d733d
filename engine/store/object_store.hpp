// The ObjectStore port: immutable byte strings under names, for anchors, parts and manifests.
//
// Durable    put() returns only when the object survives a crash. Putting the same name again is
//            harmless and cheap: content-addressed objects never change.
// Errors     not_found; corrupt (an object that no longer matches its content-hash name);
//            MachineError when the disk fails. A crash leaves an object whole or absent.
// Check      the directory store compares a full get() with the name: a part with its SHA-256, a
//            manifest with its sealed id. A range cannot be checked: its reader has chunk hashes.
// Names      [a-z0-9/._-]+, no empty, "." or ".." component; anything else is a bug in the caller.
// Threads    every operation may be called from several threads at once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/base/hash.hpp"
#include "engine/base/units.hpp"

namespace refit {

class ObjectStore {
public:
    virtual ~ObjectStore() = default;

    virtual void put(const std::string& name, ByteSpan bytes) = 0;
    virtual Result<ByteVector> get(const std::string& name) const = 0;
    /// Bytes [offset, offset + size); a range past the end is not_found.
    virtual Result<ByteVector> get_range(const std::string& name,
                                         std::uint64_t offset,
                                         std::uint64_t size) const = 0;
    virtual bool has(const std::string& name) const = 0;
    /// The names that start with `prefix`, sorted.
    virtual std::vector<std::string> list(const std::string& prefix) const = 0;
};

/// Object names: "parts/<hash>", "manifests/<sealed id>".
std::string part_key(const Hash256& payload);
std::string manifest_key(const Hash256& sealed);
bool is_object_name(std::string_view name);

/// Files under `root`, which is created: temporary file, fdatasync, rename, fsync of the folder.
std::unique_ptr<ObjectStore> make_directory_store(const std::filesystem::path& root);

/// In memory, for simulated runs.
std::unique_ptr<ObjectStore> make_memory_store();

}  // namespace refit
