// The safetensors file format: its header, and the index of a sharded checkpoint.
//
// Layout   u64 little-endian header length, JSON header, data; offsets relative to the data.
// Rules    those of the reference reader: header <= 100,000,000 bytes and inside the file, starts
//          with "{", known dtypes, checked shape products, size = shape x dtype, tensors cover the
//          data without overlap or hole, text metadata. What it refuses is refused here.
// Stricter than it: a key twice at any level (it keeps the last), white space before "{", a tensor
//          as an array of its fields, a dtype as an object, more than 32 levels (it takes 127).
// Memory   in proportion to header bytes that are there, never to a length that is claimed.
// Errors   invalid_input, one sentence to follow the file's name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/bytes.hpp"

namespace refit {

/// Of a header without its 8 length bytes, and of an index.
inline constexpr std::uint64_t kHeaderJsonMax = 100'000'000;

/// One tensor as the file states it, whatever its dtype.
struct FileTensor {
    std::string name;
    std::string dtype;  // "BF16"
    std::vector<std::uint64_t> shape;
    std::uint64_t begin = 0;  // byte range inside the file's data
    std::uint64_t end = 0;
};

/// How long the header of a file is, its 8 length bytes included; `start` is the file's first
/// bytes, 4096 or all of it.
Result<std::uint64_t> safetensors_header_bytes(ByteSpan start, std::uint64_t file_bytes);

/// The header at the front of a file: the 8 length bytes and the JSON.
Result<ByteSpan> find_safetensors_header(ByteSpan file);

/// Reads what find_safetensors_header() found, or a copy of it. Tensors come in data order.
Result<std::vector<FileTensor>> parse_safetensors_header(ByteSpan header);

/// Bits of one element; 0 for a dtype the format does not know.
std::uint64_t dtype_bits(std::string_view dtype);

/// The weight_map of a model.safetensors.index.json: (tensor, file), sorted. File names are plain
/// names ending in ".safetensors"; what they count is never read out of them.
Result<std::vector<std::pair<std::string, std::string>>> parse_safetensors_index(ByteSpan index);

/// A name of one file in one folder: not empty, not hidden, no "/", no "..", ends as it must.
bool is_shard_name(std::string_view name);

}  // namespace refit
