// Which tensors of two checkpoints are coded as words, and what else the new one holds.
//
// Words    BF16 and F16 tensors of equal name, type and shape on both sides: one catalog, and the
//          words of either side under its ids.
// Opaque   every other tensor of the new checkpoint and, if asked for, the other files of its
//          folder: bytes. A counterpart in the base has the same name and size. In order of kind
//          and name.
// Owns     nothing: both checkpoints outlive it.
// Errors   wrong_base: the base lacks a tensor of the catalog. invalid_input: limits.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/codec/opaque.hpp"
#include "workloads/checkpoint.hpp"

namespace refit {

/// The tensors of one catalog inside a checkpoint that may hold more.
class SelectedWeights final : public Weights {
public:
    static Result<SelectedWeights> select(const Checkpoint& checkpoint, const Catalog& catalog);

    void read(std::uint32_t tensor,
              std::uint64_t first,
              std::span<std::uint16_t> out) const override;

private:
    explicit SelectedWeights(const Checkpoint& checkpoint) : checkpoint_(checkpoint) {}

    const Checkpoint& checkpoint_;
    std::vector<const StoredTensor*> tensors_;
};

/// The bytes of one opaque item inside a checkpoint.
class OpaqueBytes {
public:
    OpaqueBytes(const Checkpoint& checkpoint, const StoredTensor& tensor)
        : checkpoint_(&checkpoint), tensor_(&tensor) {}
    OpaqueBytes(const Checkpoint& checkpoint, std::size_t other)
        : checkpoint_(&checkpoint), other_(other) {}

    void read(std::uint64_t first, std::span<std::byte> out) const;

private:
    const Checkpoint* checkpoint_;
    const StoredTensor* tensor_ = nullptr;
    std::size_t other_ = 0;
};

/// The counterpart of an item; nothing where the checkpoint has none of this size.
std::optional<OpaqueBytes> find_opaque(const Checkpoint& checkpoint, const OpaqueItem& item);

struct OpaqueSource {
    OpaqueItem item;  // without changed elements and hash
    OpaqueBytes next;
    std::optional<OpaqueBytes> base;
    std::uint64_t element_bits = 0;  // when changed elements can be counted: same dtype and shape
};

struct CheckpointMatch {
    Catalog catalog;
    std::vector<OpaqueSource> opaque;
};

Result<CheckpointMatch> match_checkpoints(const Checkpoint& base,
                                          const Checkpoint& next,
                                          bool with_files);

/// How many elements of `bits` bits differ; both spans hold whole elements.
std::uint64_t count_changed_elements(ByteSpan base, ByteSpan next, std::uint64_t bits);

}  // namespace refit
