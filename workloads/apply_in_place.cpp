#include "workloads/apply_in_place.hpp"

#include <fcntl.h>

#include <algorithm>
#include <utility>

#include "engine/codec/body.hpp"
#include "engine/store/file_io.hpp"
#include "workloads/checkpoint_layout.hpp"
#include "workloads/safetensors_json.hpp"

namespace refit {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kIdentityFormat = "refit.in-place/1";
constexpr std::uint64_t kNameMax = 4096;
constexpr std::uint64_t kBlockMax = 0xFFFF'FFFFu;
constexpr std::uint64_t kReadBytes = std::uint64_t{1} << 20;
/// What a changed word may take in a journal, its share of record heads included.
constexpr std::uint64_t kJournalBytesPerWord = 5;

void write_hash(ByteWriter& writer, const Hash256& hash) {
    writer.append(std::as_bytes(std::span(hash.bytes)));
}

Hash256 read_hash(ByteReader& reader) { return reader.read<Hash256>(); }

Error mismatch(const std::string& what, const fs::path& about) {
    return Error{ErrorCode::mismatch, what, about.string()};
}

Hash256 hash_pieces(std::uint64_t bytes,
                    const std::function<void(std::uint64_t, std::span<std::byte>)>& read) {
    Sha256 hash;
    ByteVector piece;
    for (std::uint64_t at = 0; at < bytes; at += piece.size()) {
        piece.resize(std::min(kReadBytes, bytes - at));
        read(at, piece);
        hash.update(piece);
    }
    return hash.finish();
}

Status check_item(const OpaqueItem& item,
                  const Checkpoint& checkpoint,
                  const FilePlace& place,
                  const fs::path& about) {
    bool same = false;
    if (item.kind == OpaqueKind::tensor) {
        const auto bytes = find_opaque(checkpoint, item);
        same = bytes.has_value() &&
               hash_pieces(item.bytes, [&](std::uint64_t at, std::span<std::byte> out) {
                   bytes->read(at, out);
               }) == item.hash;
    } else {
        std::error_code absent;
        const fs::path path = place(item.name);
        if (fs::file_size(path, absent) == item.bytes && !absent) {
            const File file(path, O_RDONLY);
            same = hash_pieces(item.bytes, [&](std::uint64_t at, std::span<std::byte> out) {
                       file.read_at(at, out);
                   }) == item.hash;
        }
    }
    if (same) return Done{};
    return mismatch(shown(item.name) + " does not hold what its update should have left", about);
}

/// A checkpoint being patched: which of its new files are whole, and where the others are.
class Patching {
public:
    Patching(InPlaceUpdate& update, const DeltaContents& delta, const Checkpoint& base)
        : update_(update), delta_(delta), base_(base) {}

    Status prepare() {
        const auto& files = delta_.contents.files;
        for (const CheckpointFile& file : files) {
            REFIT_TRY(target, prepare_file(file));
            targets_.push_back(target);
        }
        for (const CheckpointFile& file : base_.files()) {
            const bool stays =
                !base_.is_directory() ||
                std::ranges::find(files, file.name, &CheckpointFile::name) != files.end();
            if (!stays) REFIT_CHECK(update_.remove_file(file.name));
        }
        return prepare_index();
    }

    /// Other files whose bytes the base has already are left alone.
    Status prepare_others(const std::vector<OpaqueItem>& items) {
        for (const OpaqueItem& item : items) {
            if (item.kind != OpaqueKind::file) continue;
            const auto before = find_opaque(base_, item);
            const auto read = [&](std::uint64_t at, std::span<std::byte> out) {
                before->read(at, out);
            };
            others_.push_back(nullptr);
            if (before.has_value() && hash_pieces(item.bytes, read) == item.hash) continue;
            REFIT_TRY(file, update_.create_file(item.name, item.bytes));
            others_.back() = file;
        }
        return Done{};
    }

    void write_tile(Device& device,
                    const DeltaContext& context,
                    const Tile& tile,
                    DecodedTile& decoded) {
        const bool whole = std::ranges::any_of(tile.pieces, [&](const Piece& piece) {
            return targets_[delta_.words[piece.tensor].file].whole != nullptr;
        });
        patch_tile(tile, decoded);
        if (!whole) return;
        const auto next = overwrite_tile(device, context, decoded);
        for (const Piece& piece : tile.pieces) {
            const StoredTensor& tensor = delta_.words[piece.tensor];
            InPlaceUpdate::NewFile* file = targets_[tensor.file].whole;
            if (file != nullptr) {
                file->write(tensor.offset + 2 * piece.tensor_first, piece_bytes(next, piece));
            }
        }
    }

    void write_opaque(std::size_t item, std::uint64_t first, ByteSpan next, bool is_base) {
        if (delta_.is_other(item)) {
            InPlaceUpdate::NewFile* file = others_[delta_.other(item)];
            if (file != nullptr) file->write(first, next);
            return;
        }
        const StoredTensor& tensor = delta_.opaque[item];
        const Target& target = targets_[tensor.file];
        if (target.whole != nullptr) {
            target.whole->write(tensor.offset + first, next);
        } else if (!is_base) {
            update_.patch_bytes(target.patched, tensor.offset + first, next);
        }
    }

private:
    struct Target {
        InPlaceUpdate::NewFile* whole = nullptr;
        InPlaceUpdate::Patched patched;
    };

    /// The name a file has in the base: a single file keeps its own.
    std::string name_of(const CheckpointFile& file) const {
        return base_.is_directory() ? file.name : base_.files()[0].name;
    }

    Result<Target> prepare_file(const CheckpointFile& file) {
        const std::string name = name_of(file);
        Target target;
        const auto before = std::ranges::find(base_.files(), name, &CheckpointFile::name);
        if (before != base_.files().end() && before->header == file.header) {
            REFIT_TRY(patched, update_.patched_file(name));
            target.patched = patched;
            return target;
        }
        REFIT_TRY(whole, update_.create_file(name, file.header.size() + file.data_bytes));
        whole->write(0, file.header);
        target.whole = whole;
        return target;
    }

    Status prepare_index() {
        const ByteVector& index = delta_.contents.index;
        if (index == base_.index()) return Done{};
        if (index.empty()) return update_.remove_file(std::string(kIndexName));
        REFIT_TRY(file, update_.create_file(std::string(kIndexName), index.size()));
        file->write(0, index);
        return Done{};
    }

    void patch_tile(const Tile& tile, const DecodedTile& decoded) {
        std::size_t at = 0;
        std::vector<std::uint32_t> positions;
        std::vector<std::uint16_t> words;
        const auto flush = [&] {
            const Piece& piece = tile.pieces[at];
            const StoredTensor& tensor = delta_.words[piece.tensor];
            const Target& target = targets_[tensor.file];
            if (!positions.empty() && target.whole == nullptr) {
                update_.patch_words(target.patched, tensor.offset + 2 * piece.tensor_first,
                                    positions, words);
            }
            positions.clear();
            words.clear();
        };
        for_each_change(TileDiff{decoded.base, {}, &decoded.changes}, [&](std::uint32_t index,
                                                                          std::uint16_t next) {
            while (index >= tile.pieces[at].tile_first + tile.pieces[at].words) {
                flush();
                ++at;
            }
            positions.push_back(static_cast<std::uint32_t>(index - tile.pieces[at].tile_first));
            words.push_back(next);
        });
        if (!tile.pieces.empty()) flush();
    }

    InPlaceUpdate& update_;
    const DeltaContents& delta_;
    const Checkpoint& base_;
    std::vector<Target> targets_;                  // by file of the new checkpoint
    std::vector<InPlaceUpdate::NewFile*> others_;  // by other file; null: stays
};

InPlaceIdentity identity_of(const RfdReader& delta,
                            const DeltaContents& contents,
                            const Checkpoint& base) {
    InPlaceIdentity identity;
    identity.sealed_id = delta.manifest().sealed_id();
    identity.next_version = delta.manifest().seal.next_version;
    identity.salt = delta.manifest().open.salt;
    identity.catalog = delta.catalog();
    identity.opaque = delta.opaque();
    for (const CheckpointFile& file : contents.contents.files)
        identity.shards.push_back(base.is_directory() ? file.name : base.files()[0].name);
    return identity;
}

InPlaceTarget target_of(const Checkpoint& base, const DeltaContents& contents, bool allow_linked) {
    InPlaceTarget target{base.path()};
    target.allow_linked = allow_linked;
    if (!base.is_directory()) return target;
    target.heads = {std::string(kSingleName), std::string(kIndexName)};
    const auto add = [&](const std::string& name) {
        if (name != kSingleName) target.files.push_back(name);
    };
    for (const CheckpointFile& file : base.files()) add(file.name);
    for (const CheckpointFile& file : contents.contents.files) add(file.name);
    for (const OtherFile& other : contents.contents.others) add(other.name);
    std::ranges::sort(target.files);
    target.files.erase(std::unique(target.files.begin(), target.files.end()), target.files.end());
    return target;
}

Bytes space_for(const RfdReader& delta, const DeltaContents& contents, const Checkpoint& base) {
    std::uint64_t bytes = kJournalBytesPerWord * delta.manifest().seal.changed_words;
    for (const OpaqueItem& item : delta.opaque()) bytes += item.bytes;
    for (const CheckpointFile& file : contents.contents.files) {
        const auto before = std::ranges::find(base.files(), file.name, &CheckpointFile::name);
        if (before == base.files().end() || before->header != file.header)
            bytes += file.header.size() + file.data_bytes;
    }
    return Bytes{bytes + contents.contents.index.size()};
}

}  // namespace

ByteVector InPlaceIdentity::serialize() const {
    ByteWriter writer;
    writer.write_text(kIdentityFormat);
    write_hash(writer, sealed_id);
    write_hash(writer, next_version);
    writer.write(salt);
    writer.write_block(catalog.serialize());
    writer.write_block(serialize_opaque(opaque));
    writer.write(static_cast<std::uint32_t>(shards.size()));
    for (const std::string& shard : shards) writer.write_text(shard);
    return std::move(writer).take();
}

Result<InPlaceIdentity> InPlaceIdentity::parse(ByteSpan bytes) {
    ByteReader reader(bytes);
    if (reader.take_text(kIdentityFormat.size()) != kIdentityFormat)
        return Error{ErrorCode::corrupt, "the journal is not one of this program's"};
    InPlaceIdentity identity;
    identity.sealed_id = read_hash(reader);
    identity.next_version = read_hash(reader);
    identity.salt = reader.read<std::uint64_t>();
    REFIT_TRY(catalog, Catalog::parse(reader.take_block(kBlockMax)));
    identity.catalog = std::move(catalog);
    REFIT_TRY(opaque, parse_opaque(reader.take_block(kBlockMax)));
    identity.opaque = std::move(opaque);
    const auto shards = reader.read<std::uint32_t>();
    for (std::uint32_t i = 0; i < shards && !reader.failed(); ++i)
        identity.shards.push_back(reader.take_text(kNameMax));
    REFIT_CHECK(reader.finish("the journal's identity"));
    return identity;
}

Status check_identity(Device& device,
                      const InPlaceIdentity& identity,
                      const fs::path& about,
                      const FilePlace& place,
                      const ByteProgress& progress) {
    std::vector<std::pair<std::string, fs::path>> files;
    for (const std::string& shard : identity.shards) files.emplace_back(shard, place(shard));
    REFIT_TRY(checkpoint, Checkpoint::open_files(about, files));
    const auto words = SelectedWeights::select(*checkpoint, identity.catalog);
    if (!words.has_value()) return mismatch(words.error().what + " after its update", about);
    const Grid grid(identity.catalog);
    const Hash256 version =
        read_version(device, {identity.catalog, grid, identity.salt}, words.value(), progress);
    if (version != identity.next_version) {
        return mismatch("holds version " + short_hex(version) + " after its update, not " +
                            short_hex(identity.next_version),
                        about);
    }
    for (const OpaqueItem& item : identity.opaque)
        REFIT_CHECK(check_item(item, *checkpoint, place, about));
    return Done{};
}

InPlaceApply::InPlaceApply(Device& device, Disk& disk, fs::path base, bool allow_linked)
    // Through a link the files that hold the bytes are what is updated, beside themselves.
    : device_(device),
      disk_(disk),
      base_(allow_linked ? disk.resolve(base) : std::move(base)),
      allow_linked_(allow_linked) {}

InPlaceCheck InPlaceApply::check(const ByteProgress& progress) const {
    return [this, progress](const InPlaceView& view) -> Status {
        REFIT_TRY(identity, InPlaceIdentity::parse(view.identity()));
        const FilePlace place = [&](const std::string& name) { return view.path(name); };
        return check_identity(device_, identity, base_, place, progress);
    };
}

Result<std::optional<Hash256>> InPlaceApply::complete_interrupted(const ByteProgress& progress) {
    REFIT_TRY(unfinished, interrupted(disk_, base_));
    if (!unfinished.has_value()) REFIT_CHECK(Checkpoint::open(base_));
    REFIT_CHECK(recover(disk_, base_, check(progress)));
    if (!unfinished.has_value()) return std::optional<Hash256>{};
    REFIT_TRY(identity, InPlaceIdentity::parse(*unfinished));
    return std::optional<Hash256>{identity.sealed_id};
}

Result<InPlaceResult> InPlaceApply::apply(const RfdReader& delta,
                                          const std::string& delta_name,
                                          const ByteProgress& progress) {
    InPlaceResult result;
    REFIT_TRY(completed, complete_interrupted(progress));
    result.recovered = completed.has_value();
    if (completed == delta.manifest().sealed_id()) {
        result.applied = true;
        return result;
    }
    auto contents = read_delta_contents(delta);
    if (!contents.has_value()) return in_file(contents.error(), delta_name);
    REFIT_TRY(base, Checkpoint::open(base_));
    if (base->is_directory() != contents.value().contents.is_directory) {
        return Error{ErrorCode::wrong_base,
                     std::string("is ") + (base->is_directory() ? "a folder" : "one file") +
                         ", and " + delta_name + " leads to the other kind: use -o",
                     base_.string()};
    }
    Status status = update(delta, contents.value(), delta_name, *base, progress);
    result.applied = status.has_value();
    if (status.has_value()) return result;
    // Whoever runs the command again after it was killed at its very end finds it done.
    const InPlaceIdentity identity = identity_of(delta, contents.value(), *base);
    if (status.error().code == ErrorCode::wrong_base &&
        is_at(identity, contents.value(), *base, progress))
        return result;
    return status.error();
}

bool InPlaceApply::is_at(const InPlaceIdentity& identity,
                         const DeltaContents& contents,
                         const Checkpoint& base,
                         const ByteProgress& progress) const {
    const auto& files = contents.contents.files;
    const bool same_files = std::ranges::equal(files, base.files(), {}, &CheckpointFile::header,
                                               &CheckpointFile::header) &&
                            contents.contents.index == base.index();
    if (!same_files) return false;
    const FilePlace place = [&](const std::string& name) {
        return base.is_directory() ? base.path() / name : base.path();
    };
    return check_identity(device_, identity, base_, place, progress).has_value();
}

Status InPlaceApply::update(const RfdReader& delta,
                            const DeltaContents& contents,
                            const std::string& delta_name,
                            const Checkpoint& base,
                            const ByteProgress& progress) {
    REFIT_TRY(decoder, CheckpointDecoder::create(device_, delta, base, delta_name));
    const ByteVector identity = identity_of(delta, contents, base).serialize();
    REFIT_TRY(update, InPlaceUpdate::begin(disk_, target_of(base, contents, allow_linked_),
                                           identity, space_for(delta, contents, base)));
    Patching patching(*update, contents, base);
    REFIT_CHECK(patching.prepare());
    REFIT_CHECK(patching.prepare_others(delta.opaque()));
    REFIT_CHECK(decoder.decode(
        [&](const Tile& tile, DecodedTile& decoded) {
            patching.write_tile(device_, decoder.context(), tile, decoded);
        },
        [&](std::size_t item, std::uint64_t first, ByteSpan next, bool is_base) {
            patching.write_opaque(item, first, next, is_base);
        },
        progress));
    return update->commit(check(progress));
}

}  // namespace refit
