// A safetensors checkpoint: one file, or a directory with model.safetensors.index.json.
//
// Format     workloads/safetensors.hpp; nothing may follow the last tensor. A directory without an
//            index may hold one model.safetensors. An index must name the file of each tensor it
//            lists, a tensor lies in one file only, and every file it names must be there.
// Memory     headers and index only; data is read at its place when it is asked for.
// Others     what else lies in the directory is listed, never read unasked: other_files().
// Errors     not_found; invalid_input with the file and one sentence; unsupported for .bin, .pt,
//            .distcp, s3://, hf:// (the sentence names the format and the way to safetensors).
//            A checkpoint that an interrupted `apply --in-place` left half-way is invalid_input.
//            A file that cannot be read throws MachineError.
// Threads    reading is safe from several threads at once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/coords/weights.hpp"
#include "workloads/safetensors.hpp"

namespace refit {

struct CheckpointFile {
    std::string name;   // relative to the directory; the file's own name for a single file
    ByteVector header;  // the 8 length bytes and the JSON, verbatim
    std::uint64_t data_bytes = 0;
    std::vector<FileTensor> tensors;  // in data order
};

/// Where the bytes of one tensor lie, whatever its dtype.
struct StoredTensor {
    std::string name;
    std::string dtype;  // "BF16"
    std::vector<std::uint64_t> shape;
    std::size_t file = 0;      // of the checkpoint's files
    std::uint64_t offset = 0;  // in bytes from the start of that file; any alignment
    std::uint64_t bytes = 0;
};

/// A plain file of the directory that is neither shard nor index.
struct OtherFile {
    std::string name;
    std::uint64_t bytes = 0;
};

class Checkpoint final : public Weights {
public:
    static Result<std::unique_ptr<Checkpoint>> open(const std::filesystem::path& path);
    /// Files whose place is known, for an update that has not given them their names yet. `path`
    /// is for messages; other files are not listed.
    static Result<std::unique_ptr<Checkpoint>> open_files(
        const std::filesystem::path& path,
        const std::vector<std::pair<std::string, std::filesystem::path>>& files);
    ~Checkpoint() override;

    const std::filesystem::path& path() const;
    bool is_directory() const;
    const std::vector<CheckpointFile>& files() const;  // sorted by name
    const ByteVector& index() const;                   // index JSON verbatim; empty for one file

    const std::vector<StoredTensor>& tensors() const;  // sorted by name
    const StoredTensor* find(std::string_view name) const;
    void read_bytes(const StoredTensor& tensor,
                    std::uint64_t first,
                    std::span<std::byte> out) const;

    /// The tensors a catalog takes: BF16 and F16. The names of all others.
    const Catalog& catalog() const;
    std::vector<std::string> other_tensors() const;

    /// Sorted by name; hidden files are left out. Folders are named, not entered.
    const std::vector<OtherFile>& other_files() const;
    const std::vector<std::string>& other_folders() const;
    void read_other(std::size_t index, std::uint64_t first, std::span<std::byte> out) const;

    void read(std::uint32_t tensor,
              std::uint64_t first,
              std::span<std::uint16_t> out) const override;

private:
    struct State;
    explicit Checkpoint(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

/// Everything of a checkpoint but its data: what a writer starts from.
struct CheckpointContents {
    bool is_directory = false;
    std::vector<CheckpointFile> files;
    ByteVector index;               // empty: none, and then there is one file
    std::vector<OtherFile> others;  // of a directory only
};

/// `headers`: (file name, 8 length bytes + JSON) of each file, verbatim. A file in a directory
/// without an index is called model.safetensors. Errors: invalid_input: bad headers, index or
/// names.
Result<CheckpointContents> read_contents(
    bool is_directory,
    const std::vector<std::pair<std::string, ByteVector>>& headers,
    const ByteVector& index,
    std::vector<OtherFile> others);

/// Writes a checkpoint beside `target` and renames it into place at commit(); without commit()
/// nothing remains. Writing may happen on several threads at once; bytes nobody wrote are zero.
class CheckpointWriter {
public:
    /// A single file replaces an existing one; a directory must not exist yet. Errors:
    /// invalid_input: a tensor in two files, a target that is in the way; not_found: its folder.
    /// Throws MachineError when the disk is full: the space is reserved here.
    static Result<std::unique_ptr<CheckpointWriter>> create(const std::filesystem::path& target,
                                                            const CheckpointContents& contents);
    ~CheckpointWriter();

    const std::vector<StoredTensor>& tensors() const;  // sorted by name
    void write(const StoredTensor& tensor, std::uint64_t first, ByteSpan bytes);
    void write_other(std::size_t index, std::uint64_t first, ByteSpan bytes);
    void commit();

private:
    struct State;
    explicit CheckpointWriter(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace refit
