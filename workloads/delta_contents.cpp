#include "workloads/delta_contents.hpp"

#include <utility>

#include "workloads/checkpoint_layout.hpp"
#include "workloads/encode_checkpoints.hpp"
#include "workloads/safetensors_json.hpp"

namespace refit {

namespace {

Error corrupt(std::string what) { return Error{ErrorCode::corrupt, std::move(what)}; }

Result<CheckpointContents> carried_contents(const RfdReader& delta) {
    std::vector<std::pair<std::string, ByteVector>> headers;
    ByteVector index;
    bool is_directory = false;
    for (const Attachment& attachment : delta.attachments()) {
        if (attachment.name == kIndexAttachment) index = attachment.bytes;
        if (attachment.name == kDirectoryAttachment) is_directory = true;
        if (attachment.name.starts_with(kHeaderPrefix))
            headers.emplace_back(attachment.name.substr(kHeaderPrefix.size()), attachment.bytes);
    }
    if (headers.empty()) return corrupt("carries no file header to write");
    std::vector<OtherFile> others;
    for (const OpaqueItem& item : delta.opaque())
        if (item.kind == OpaqueKind::file) others.push_back({item.name, item.bytes});
    return read_contents(is_directory, headers, index, std::move(others));
}

/// The tensors of the files, each to be claimed once.
class Claims {
public:
    explicit Claims(const CheckpointLayout& layout)
        : layout_(layout), claimed_(layout.tensors.size()) {}

    Result<StoredTensor> claim(const std::string& name) {
        const StoredTensor* tensor = layout_.find(name);
        if (tensor == nullptr)
            return corrupt("holds " + shown(name) + ", which none of its file headers has");
        const auto at = static_cast<std::size_t>(tensor - layout_.tensors.data());
        if (claimed_[at]) return corrupt("holds tensor " + shown(name) + " twice");
        claimed_[at] = true;
        return *tensor;
    }

    Status check_all() const {
        for (std::size_t i = 0; i < claimed_.size(); ++i)
            if (!claimed_[i])
                return corrupt("does not hold tensor " + shown(layout_.tensors[i].name) +
                               ", which its file headers have");
        return Done{};
    }

private:
    const CheckpointLayout& layout_;
    std::vector<bool> claimed_;
};

Result<DeltaContents> match_contents(const RfdReader& delta) {
    DeltaContents result;
    REFIT_TRY(contents, carried_contents(delta));
    REFIT_TRY(layout, lay_out(contents.files));
    Claims claims(layout);
    for (const Tensor& tensor : delta.catalog().tensors()) {
        REFIT_TRY(stored, claims.claim(tensor.name));
        if (word_type(stored.dtype) != tensor.type || stored.shape != tensor.shape)
            return corrupt("holds tensor " + shown(tensor.name) + " unlike its file header");
        result.words.push_back(std::move(stored));
    }
    for (const OpaqueItem& item : delta.opaque()) {
        if (item.kind != OpaqueKind::tensor) continue;
        REFIT_TRY(stored, claims.claim(item.name));
        if (stored.bytes != item.bytes)
            return corrupt("holds tensor " + shown(item.name) + " unlike its file header");
        result.opaque.push_back(std::move(stored));
    }
    REFIT_CHECK(claims.check_all());
    result.contents = std::move(contents);
    return result;
}

}  // namespace

Result<DeltaContents> read_delta_contents(const RfdReader& delta) {
    auto contents = match_contents(delta);
    if (contents.has_value()) return contents;
    // Whatever is wrong with them came with the delta.
    return Error{ErrorCode::corrupt, contents.error().what};
}

}  // namespace refit
