// A safetensors checkpoint: one file, or a directory with model.safetensors.index.json.
//
// Format     workloads/safetensors.hpp; nothing may follow the last tensor. A directory without an
//            index may hold one model.safetensors. An index must name the file of each tensor it
//            lists, a tensor lies in one file only, and every file it names must be there.
// Memory     files are mapped, never loaded; header bytes are kept verbatim.
// Errors     not_found; invalid_input with the file and one sentence; unsupported for .bin, .pt,
//            .distcp, s3://, hf:// (the sentence names the format and the way to safetensors).
//            A file that cannot be read throws MachineError.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
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

class Checkpoint final : public Weights {
public:
    static Result<std::unique_ptr<Checkpoint>> open(const std::filesystem::path& path);
    ~Checkpoint() override;

    const std::filesystem::path& path() const;
    bool is_directory() const;
    const std::vector<CheckpointFile>& files() const;  // sorted by name
    const ByteVector& index() const;                   // index JSON verbatim; empty for one file

    /// The 16-bit tensors. Tensors of other dtypes are listed by other_tensors().
    const Catalog& catalog() const;
    std::vector<std::string> other_tensors() const;

    void read(std::uint32_t tensor,
              std::uint64_t first,
              std::span<std::uint16_t> out) const override;

private:
    struct State;
    explicit Checkpoint(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

/// Writes a checkpoint with given headers beside `target` and renames it into place at commit();
/// without commit() nothing remains. Tensors are found by the headers' own offsets. write() may be
/// called from several threads at once; words nobody wrote are zero.
class CheckpointWriter {
public:
    /// `headers`: (file name, 8 length bytes + JSON) of each file, verbatim. `index` empty: a
    /// single file, which replaces an existing one. A directory must not exist yet.
    /// Errors: invalid_input: bad headers or index, others than the catalog's, a target that is in
    /// the way; unsupported: tensors neither BF16 nor F16, whose bytes nobody would write;
    /// not_found: the target's folder. Throws MachineError when the disk is full: the space is
    /// reserved here.
    static Result<std::unique_ptr<CheckpointWriter>> create(
        const std::filesystem::path& target,
        const Catalog& catalog,
        const std::vector<std::pair<std::string, ByteVector>>& headers,
        const ByteVector& index);
    ~CheckpointWriter();

    /// Words [first, first + words.size()) of one tensor.
    void write(std::uint32_t tensor, std::uint64_t first, std::span<const std::uint16_t> words);
    void commit();

private:
    struct State;
    explicit CheckpointWriter(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace refit
