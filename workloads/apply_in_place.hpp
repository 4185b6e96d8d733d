// A delta applied to a checkpoint where it lies: the glue between decoder and in-place update.
//
// Files    Those whose header stays are overwritten word by word; those whose header changes, that
//          are new, or other files with new bytes are written whole beside and renamed; those the
//          new version lacks are removed. What else lies in the folder stays.
// Crash    engine/store/in_place.hpp: the name shows the old checkpoint, none, or the new one.
// Check    after the overwrite: every word and every opaque item of the result is read back.
// Errors   as decode_checkpoint.hpp and in_place.hpp.
#pragma once

#include "engine/store/in_place.hpp"
#include "workloads/decode_checkpoint.hpp"
#include "workloads/delta_contents.hpp"

namespace refit {

struct InPlaceResult {
    bool recovered = false;  // an interrupted update was completed first
    bool applied = false;    // this delta was; false: the checkpoint was at its version already
};

/// What an update in place leads to: kept in its journal, and enough to check the result.
struct InPlaceIdentity {
    Hash256 sealed_id;
    Hash256 next_version;
    std::uint64_t salt = 0;
    Catalog catalog;
    std::vector<OpaqueItem> opaque;
    std::vector<std::string> shards;

    ByteVector serialize() const;
    static Result<InPlaceIdentity> parse(ByteSpan bytes);
};

class InPlaceApply {
public:
    InPlaceApply(Device& device, Disk& disk, std::filesystem::path base, bool allow_linked);

    Result<InPlaceResult> apply(const RfdReader& delta,
                                const std::string& delta_name,
                                const ByteProgress& progress);

private:
    Result<std::optional<Hash256>> complete_interrupted(const ByteProgress& progress);
    Status update(const RfdReader& delta,
                  const DeltaContents& contents,
                  const std::string& delta_name,
                  const Checkpoint& base,
                  const ByteProgress& progress);
    bool is_at(const InPlaceIdentity& identity,
               const DeltaContents& contents,
               const Checkpoint& base,
               const ByteProgress& progress) const;
    InPlaceCheck check(const ByteProgress& progress) const;

    Device& device_;
    Disk& disk_;
    std::filesystem::path base_;
    bool allow_linked_;
};

/// Where a file lies now.
using FilePlace = std::function<std::filesystem::path(const std::string&)>;

/// Do the files hold exactly this? Reads all of them. Errors: mismatch.
Status check_identity(Device& device,
                      const InPlaceIdentity& identity,
                      const std::filesystem::path& shown,
                      const FilePlace& place,
                      const ByteProgress& progress);

}  // namespace refit
