// Where the tensors of a checkpoint's files lie: one rule for reading and for writing.
//
// Errors   invalid_input: a tensor in two files, an index that disagrees with the files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/checkpoint.hpp"

namespace refit {

/// The name the index has inside its directory, and that of the one file without an index.
inline constexpr std::string_view kIndexName = "model.safetensors.index.json";
inline constexpr std::string_view kSingleName = "model.safetensors";

struct CheckpointLayout {
    std::vector<StoredTensor> tensors;        // sorted by name
    Catalog catalog;                          // of those it takes
    std::vector<std::uint32_t> word_tensors;  // catalog id -> place in `tensors`

    const StoredTensor* find(std::string_view name) const;
};

/// What the catalog calls this dtype; nothing when its tensors are not words.
std::optional<WordType> word_type(std::string_view dtype);

/// Can a catalog take it? A 16-bit type, and a name and a rank within the catalog's limits.
bool is_word_tensor(const StoredTensor& tensor);

/// Reads one file's header; `name` is kept as it is. Data bytes are those the tensors cover.
Result<CheckpointFile> make_checkpoint_file(std::string name, ByteSpan header);

Result<CheckpointLayout> lay_out(const std::vector<CheckpointFile>& files);

/// Does the index name exactly these files, and each tensor it lists where it is?
Status check_index(ByteSpan index, const std::vector<CheckpointFile>& files);

/// A plain name of a file that is neither the index nor one of `files`.
bool is_other_name(std::string_view name, const std::vector<CheckpointFile>& files);

}  // namespace refit
