// Where the words of a checkpoint's files lie: one rule for reading and for writing.
//
// Errors   invalid_input: a tensor in two files, names or shapes no catalog takes, an index that
//          disagrees with the files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "workloads/checkpoint.hpp"

namespace refit {

/// The name the index has inside its directory.
inline constexpr std::string_view kIndexName = "model.safetensors.index.json";

/// Where word 0 of a tensor lies.
struct WordPlace {
    std::size_t file;      // of the files laid out
    std::uint64_t offset;  // in bytes from the start of that file; any alignment
};

struct CheckpointLayout {
    Catalog catalog;
    std::vector<WordPlace> places;    // by catalog id
    std::vector<std::string> others;  // tensors that are neither BF16 nor F16, sorted
};

/// Reads one file's header; `name` is kept as it is. Data bytes are those the tensors cover.
Result<CheckpointFile> make_checkpoint_file(std::string name, ByteSpan header);

Result<CheckpointLayout> lay_out(const std::vector<CheckpointFile>& files);

/// Does the index name exactly these files, and each tensor it lists where it is?
Status check_index(ByteSpan index, const std::vector<CheckpointFile>& files);

}  // namespace refit
