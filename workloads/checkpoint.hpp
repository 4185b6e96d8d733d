// A safetensors checkpoint: one file, or a directory with model.safetensors.index.json.
//
// Format     u64 little-endian header length, JSON header, data; offsets relative to the data.
//            Checked as the reference reader does: header <= 100,000,000 bytes and inside the
//            file, starts with "{", no duplicate keys, known dtypes, checked shape products,
//            size = shape x dtype, no overlap, no hole, no trailing bytes.
// Memory     the file is mapped, never loaded; header bytes are kept verbatim.
// Errors     not_found; invalid_input with the file and one sentence; unsupported for .bin, .pt,
//            .distcp, s3://, hf:// (the sentence names the format and the way to safetensors).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "engine/coords/weights.hpp"

namespace refit {

/// One tensor as the file states it, whatever its dtype.
struct FileTensor {
    std::string name;
    std::string dtype;  // "BF16"
    std::vector<std::uint64_t> shape;
    std::uint64_t begin = 0;  // byte range inside the file's data
    std::uint64_t end = 0;
};

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
/// without commit() nothing remains. Tensors are found by the headers' own offsets.
class CheckpointWriter {
public:
    /// `headers`: one per file, verbatim (8 length bytes + JSON). `index` empty: a single file.
    /// Refuses a target that exists as the wrong kind. Throws MachineError when the disk is full.
    static Result<std::unique_ptr<CheckpointWriter>> create(
        const std::filesystem::path& target,
        const Catalog& catalog,
        const std::vector<std::pair<std::string, ByteVector>>& headers,
        const ByteVector& index);
    ~CheckpointWriter();

    void write(std::uint32_t tensor, std::uint64_t first, std::span<const std::uint16_t> words);
    void commit();

private:
    struct State;
    explicit CheckpointWriter(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace refit
