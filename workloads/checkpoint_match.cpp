#include "workloads/checkpoint_match.hpp"

#include <algorithm>
#include <cstring>

#include "workloads/checkpoint_layout.hpp"
#include "workloads/safetensors.hpp"
#include "workloads/safetensors_json.hpp"

namespace refit {

namespace {

bool same_place(const StoredTensor& one, const StoredTensor& other) {
    return one.dtype == other.dtype && one.shape == other.shape;
}

bool is_coded_as_words(const StoredTensor& next, const StoredTensor* base) {
    return is_word_tensor(next) && base != nullptr && same_place(*base, next);
}

OpaqueSource opaque_tensor(const Checkpoint& base,
                           const Checkpoint& next,
                           const StoredTensor& tensor) {
    OpaqueItem item;
    item.kind = OpaqueKind::tensor;
    item.name = tensor.name;
    item.bytes = tensor.bytes;
    OpaqueSource source{item, OpaqueBytes(next, tensor), find_opaque(base, item), 0};
    source.item.has_base = source.base.has_value();
    const StoredTensor* before = base.find(tensor.name);
    if (before != nullptr && same_place(*before, tensor))
        source.element_bits = dtype_bits(tensor.dtype);
    return source;
}

OpaqueSource opaque_file(const Checkpoint& base, const Checkpoint& next, std::size_t index) {
    OpaqueItem item;
    item.kind = OpaqueKind::file;
    item.name = next.other_files()[index].name;
    item.bytes = next.other_files()[index].bytes;
    OpaqueSource source{item, OpaqueBytes(next, index), find_opaque(base, item), 0};
    source.item.has_base = source.base.has_value();
    return source;
}

std::uint64_t bits_at(ByteSpan bytes, std::uint64_t bit, std::uint64_t bits) {
    std::uint64_t value = 0;
    for (std::uint64_t i = 0; i < bits; ++i) {
        const auto byte = std::to_integer<unsigned>(bytes[(bit + i) / 8]);
        value |= static_cast<std::uint64_t>((byte >> ((bit + i) % 8)) & 1u) << i;
    }
    return value;
}

}  // namespace

Result<SelectedWeights> SelectedWeights::select(const Checkpoint& checkpoint,
                                                const Catalog& catalog) {
    SelectedWeights selected(checkpoint);
    for (const Tensor& tensor : catalog.tensors()) {
        const StoredTensor* stored = checkpoint.find(tensor.name);
        if (stored == nullptr || word_type(stored->dtype) != tensor.type ||
            stored->shape != tensor.shape) {
            return Error{ErrorCode::wrong_base,
                         "has no tensor " + shown(tensor.name) + " of the type and shape needed",
                         checkpoint.path().string()};
        }
        selected.tensors_.push_back(stored);
    }
    return selected;
}

void SelectedWeights::read(std::uint32_t tensor,
                           std::uint64_t first,
                           std::span<std::uint16_t> out) const {
    checkpoint_.read_bytes(*tensors_[tensor], 2 * first, std::as_writable_bytes(out));
}

void OpaqueBytes::read(std::uint64_t first, std::span<std::byte> out) const {
    if (tensor_ != nullptr) return checkpoint_->read_bytes(*tensor_, first, out);
    checkpoint_->read_other(other_, first, out);
}

std::optional<OpaqueBytes> find_opaque(const Checkpoint& checkpoint, const OpaqueItem& item) {
    if (item.kind == OpaqueKind::tensor) {
        const StoredTensor* tensor = checkpoint.find(item.name);
        if (tensor == nullptr || tensor->bytes != item.bytes) return std::nullopt;
        return OpaqueBytes(checkpoint, *tensor);
    }
    const auto& files = checkpoint.other_files();
    const auto file = std::ranges::find(files, item.name, &OtherFile::name);
    if (file == files.end() || file->bytes != item.bytes) return std::nullopt;
    return OpaqueBytes(checkpoint, static_cast<std::size_t>(file - files.begin()));
}

Result<CheckpointMatch> match_checkpoints(const Checkpoint& base,
                                          const Checkpoint& next,
                                          bool with_files) {
    CheckpointMatch match;
    std::vector<TensorSpec> specs;
    for (const StoredTensor& tensor : next.tensors()) {
        if (is_coded_as_words(tensor, base.find(tensor.name))) {
            specs.push_back({tensor.name, *word_type(tensor.dtype), tensor.shape});
        } else if (tensor.name.size() > kOpaqueNameMax) {
            return Error{ErrorCode::unsupported,
                         "tensor " + shown(tensor.name) + " has a name over " +
                             std::to_string(kOpaqueNameMax) + " bytes",
                         next.path().string()};
        } else {
            match.opaque.push_back(opaque_tensor(base, next, tensor));
        }
    }
    if (with_files) {
        for (std::size_t i = 0; i < next.other_files().size(); ++i)
            match.opaque.push_back(opaque_file(base, next, i));
    }
    auto catalog = Catalog::make(std::move(specs));
    if (!catalog.has_value()) return in_file(catalog.error(), next.path().string());
    match.catalog = std::move(catalog).value();
    return match;
}

std::uint64_t count_changed_elements(ByteSpan base, ByteSpan next, std::uint64_t bits) {
    REFIT_ASSERT(base.size() == next.size() && bits > 0);
    std::uint64_t changed = 0;
    for (std::uint64_t at = 0; at + bits <= 8 * next.size(); at += bits) {
        if (bits % 8 == 0) {
            changed += std::memcmp(&base[at / 8], &next[at / 8], bits / 8) != 0 ? 1 : 0;
        } else {
            changed += bits_at(base, at, bits) != bits_at(next, at, bits) ? 1 : 0;
        }
    }
    return changed;
}

}  // namespace refit
