#include "workloads/checkpoint_layout.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "workloads/safetensors_json.hpp"

namespace refit {

namespace {

Error invalid(std::string what) { return Error{ErrorCode::invalid_input, std::move(what)}; }

struct Found {
    const FileTensor* tensor;
    std::size_t file;
};

/// All tensors of all files in catalog order; a name in two files is an error.
Result<std::vector<Found>> sort_tensors(const std::vector<CheckpointFile>& files) {
    std::vector<Found> found;
    for (std::size_t file = 0; file < files.size(); ++file)
        for (const FileTensor& tensor : files[file].tensors) found.push_back({&tensor, file});
    std::ranges::sort(found, [](const Found& a, const Found& b) {
        return std::tie(a.tensor->name, a.file) < std::tie(b.tensor->name, b.file);
    });
    for (std::size_t i = 1; i < found.size(); ++i) {
        if (found[i].tensor->name != found[i - 1].tensor->name) continue;
        return invalid("tensor " + shown(found[i].tensor->name) + " is in two files, " +
                       files[found[i - 1].file].name + " and " + files[found[i].file].name);
    }
    return found;
}

}  // namespace

Result<CheckpointFile> make_checkpoint_file(std::string name, ByteSpan header) {
    REFIT_TRY(tensors, parse_safetensors_header(header));
    CheckpointFile file;
    file.name = std::move(name);
    file.header.assign(header.begin(), header.end());
    file.data_bytes = tensors.empty() ? 0 : tensors.back().end;
    file.tensors = std::move(tensors);
    return file;
}

const StoredTensor* CheckpointLayout::find(std::string_view name) const {
    const auto at = std::ranges::lower_bound(tensors, name, {}, &StoredTensor::name);
    return at == tensors.end() || at->name != name ? nullptr : &*at;
}

std::optional<WordType> word_type(std::string_view dtype) {
    if (dtype == "BF16") return WordType::bf16;
    if (dtype == "F16") return WordType::f16;
    return std::nullopt;
}

bool is_word_tensor(const StoredTensor& tensor) {
    return word_type(tensor.dtype).has_value() && !tensor.name.empty() &&
           tensor.name.size() <= kTensorNameMax && tensor.shape.size() <= kTensorRankMax;
}

Result<CheckpointLayout> lay_out(const std::vector<CheckpointFile>& files) {
    REFIT_TRY(found, sort_tensors(files));
    CheckpointLayout layout;
    std::vector<TensorSpec> specs;
    for (const auto& [tensor, file] : found) {
        layout.tensors.push_back({tensor->name, tensor->dtype, tensor->shape, file,
                                  files[file].header.size() + tensor->begin,
                                  tensor->end - tensor->begin});
        if (!is_word_tensor(layout.tensors.back())) continue;
        specs.push_back({tensor->name, *word_type(tensor->dtype), tensor->shape});
        layout.word_tensors.push_back(static_cast<std::uint32_t>(layout.tensors.size() - 1));
    }
    REFIT_TRY(catalog, Catalog::make(std::move(specs)));
    layout.catalog = std::move(catalog);
    return layout;
}

Status check_index(ByteSpan index, const std::vector<CheckpointFile>& files) {
    REFIT_TRY(map, parse_safetensors_index(index));
    std::set<std::pair<std::string_view, std::string_view>> present;
    std::set<std::string_view> unnamed;
    for (const CheckpointFile& file : files) {
        unnamed.insert(file.name);
        for (const FileTensor& tensor : file.tensors) present.emplace(tensor.name, file.name);
    }
    for (const auto& [tensor, file] : map) {
        if (!present.contains({tensor, file})) {
            return invalid("the index places tensor " + shown(tensor) + " in " + shown(file) +
                           ", which does not hold it");
        }
        unnamed.erase(file);
    }
    if (!unnamed.empty())
        return invalid("the index does not name the file " + shown(*unnamed.begin()));
    return Done{};
}

bool is_other_name(std::string_view name, const std::vector<CheckpointFile>& files) {
    constexpr std::size_t kNameMax = 255;
    const bool plain = !name.empty() && name.size() <= kNameMax && name[0] != '.' &&
                       name.find_first_of(std::string_view("/\\\0", 3)) == name.npos;
    return plain && name != kIndexName &&
           std::ranges::find(files, name, &CheckpointFile::name) == files.end();
}

}  // namespace refit
