// The canonical checkpoint: which tensors there are, and one 64-bit address for every word.
//
// Model    Tensors are ordered by name (byte-wise), whatever order a file or layout uses, and
//          their words are numbered through: tensor t holds [first_word, first_word + words).
//          A tensor is seen as rows x columns: columns = last dimension, rows = the rest
//          flattened; a 1-D tensor or a scalar is one row.
// Limit    names 1..512 bytes, rank <= 8, < 2^48 words in all, <= 2^20 tensors; checked
//          multiplication. Only 16-bit dtypes; other tensors never enter a catalog.
// Bytes    serialize(), little-endian: text "refit.catalog/1", u32 tensor count; per tensor, by
//          name: text name, u8 type, u8 rank, u64 per dimension. A text is u32 length, then bytes.
// Errors   invalid_input from make(): duplicate or bad name, overflow, limits. truncated, corrupt
//          from parse(), which takes exactly what serialize() writes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/hash.hpp"
#include "engine/base/result.hpp"
#include "engine/base/units.hpp"

namespace refit {

inline constexpr std::size_t kTensorNameMax = 512;
inline constexpr std::size_t kTensorRankMax = 8;

enum class WordType : std::uint8_t { bf16 = 1, f16 = 2 };

struct TensorSpec {
    std::string name;
    WordType type = WordType::bf16;
    std::vector<std::uint64_t> shape;
};

struct Tensor {
    std::string name;
    WordType type;
    std::vector<std::uint64_t> shape;
    std::uint64_t first_word;
    std::uint64_t words;
    std::uint64_t rows;
    std::uint64_t columns;  // 0 only when words == 0
};

class Catalog {
public:
    static Result<Catalog> make(std::vector<TensorSpec> specs);

    std::span<const Tensor> tensors() const { return tensors_; }
    const Tensor& tensor(std::uint32_t id) const { return tensors_[id]; }
    std::optional<std::uint32_t> find(std::string_view name) const;
    Words words() const { return words_; }

    /// SHA-256 over names, types and shapes in canonical order.
    const Hash256& id() const { return id_; }

    /// A small binary form, and back; parse() trusts nothing.
    ByteVector serialize() const;
    static Result<Catalog> parse(ByteSpan bytes);

private:
    std::vector<Tensor> tensors_;
    Words words_;
    Hash256 id_;
};

/// The name for an error line: in quotes, control bytes as \xNN, so one line stays one line.
std::string quoted_name(std::string_view name);

/// The tensor's class: its name with every all-digit component replaced by "*"
/// ("model.layers.3.mlp.up_proj.weight" -> "model.layers.*.mlp.up_proj.weight").
std::string tensor_class(std::string_view name);

/// The tensor's kind for reports: the last component before ".weight"/".bias" ("up_proj").
std::string tensor_kind(std::string_view name);

}  // namespace refit
