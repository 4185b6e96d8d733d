#include <fcntl.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "engine/store/file_io.hpp"
#include "workloads/checkpoint.hpp"
#include "workloads/checkpoint_layout.hpp"
#include "workloads/safetensors_json.hpp"

namespace refit {

namespace fs = std::filesystem;

struct CheckpointWriter::State {
    fs::path target;
    CheckpointLayout layout;
    ByteVector index;                      // empty: a single file
    std::unique_ptr<Temporary> temporary;  // outlives the open files, which lie in it
    std::vector<File> files;
};

namespace {

using Headers = std::vector<std::pair<std::string, ByteVector>>;

Error invalid(std::string what) { return Error{ErrorCode::invalid_input, std::move(what)}; }

/// The headers as files, in the order given; what they promise must be what the catalog says.
Result<std::vector<CheckpointFile>> read_headers(const Headers& headers, const ByteVector& index) {
    if (index.empty() && headers.size() != 1) {
        return invalid("a checkpoint of " + std::to_string(headers.size()) +
                       " files needs an index");
    }
    std::vector<CheckpointFile> files;
    for (const auto& [name, header] : headers) {
        if (!index.empty() && !is_shard_name(name))
            return invalid(shown(name) + " is no plain file name ending in .safetensors");
        auto file = make_checkpoint_file(name, header);
        if (!file.has_value())
            return Error{file.error().code, shown(name) + ": " + file.error().what};
        for (const CheckpointFile& other : files)
            if (other.name == name) return invalid("there are two headers for " + shown(name));
        files.push_back(std::move(file).value());
    }
    if (!index.empty()) REFIT_CHECK(check_index(index, files));
    return files;
}

Result<CheckpointLayout> check_layout(const std::vector<CheckpointFile>& files,
                                      const Catalog& catalog) {
    REFIT_TRY(layout, lay_out(files));
    if (!layout.others.empty()) {
        return Error{ErrorCode::unsupported,
                     "tensor " + shown(layout.others.front()) + " is neither BF16 nor F16"};
    }
    if (layout.catalog.id() != catalog.id())
        return invalid("the file headers describe other tensors than the catalog");
    return std::move(layout);
}

/// The target without a trailing slash, if nothing is in the way of it and of its temporary.
Result<fs::path> check_target(const fs::path& given, bool is_directory) {
    const fs::path target = given.has_filename() ? given : given.parent_path();
    std::error_code ignored;
    const fs::path folder = target.parent_path();
    if (target.empty() || (!is_directory && target != given))
        return invalid("this names a folder, and the checkpoint is one file");
    if (!folder.empty() && !fs::is_directory(folder, ignored))
        return Error{ErrorCode::not_found, "the folder " + folder.string() + " does not exist"};
    const fs::file_type type = fs::symlink_status(target, ignored).type();
    if (is_directory && type != fs::file_type::not_found)
        return invalid("the checkpoint is a directory, and something of this name exists");
    if (!is_directory && type != fs::file_type::not_found &&
        fs::status(target, ignored).type() != fs::file_type::regular)
        return invalid("the checkpoint is one file, and what exists here is not a file");
    const fs::path temporary = temporary_beside(target);
    if (fs::exists(fs::symlink_status(temporary, ignored)))
        return invalid("an unfinished " + temporary.filename().string() + " is in the way");
    return target;
}

}  // namespace

Result<std::unique_ptr<CheckpointWriter>> CheckpointWriter::create(const fs::path& target,
                                                                   const Catalog& catalog,
                                                                   const Headers& headers,
                                                                   const ByteVector& index) {
    auto files = read_headers(headers, index);
    if (!files.has_value()) return in_file(files.error(), target.string());
    auto layout = check_layout(files.value(), catalog);
    if (!layout.has_value()) return in_file(layout.error(), target.string());
    auto checked = check_target(target, !index.empty());
    if (!checked.has_value()) return in_file(checked.error(), target.string());

    auto state = std::make_unique<State>();
    state->target = checked.value();
    state->layout = std::move(layout).value();
    state->index = index;
    const fs::path temporary = temporary_beside(state->target);
    if (!index.empty()) {
        make_folder(temporary);
        state->temporary = std::make_unique<Temporary>(temporary);
    }
    for (const CheckpointFile& file : files.value()) {
        const bool single = index.empty();
        state->files.emplace_back(single ? temporary : temporary / file.name,
                                  O_RDWR | O_CREAT | O_EXCL,
                                  single ? state->target : state->target / file.name);
        if (!state->temporary) state->temporary = std::make_unique<Temporary>(temporary);
        state->files.back().reserve(file.header.size() + file.data_bytes);
        state->files.back().write_at(0, file.header);
    }
    return std::unique_ptr<CheckpointWriter>(new CheckpointWriter(std::move(state)));
}

CheckpointWriter::CheckpointWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
CheckpointWriter::~CheckpointWriter() = default;

void CheckpointWriter::write(std::uint32_t tensor,
                             std::uint64_t first,
                             std::span<const std::uint16_t> words) {
    const std::uint64_t present = state_->layout.catalog.tensor(tensor).words;
    REFIT_ASSERT(first <= present && words.size() <= present - first);
    const WordPlace& place = state_->layout.places[tensor];
    state_->files[place.file].write_at(place.offset + 2 * first, std::as_bytes(words));
}

void CheckpointWriter::commit() {
    for (File& file : state_->files) file.sync();
    if (!state_->index.empty()) {
        File index(state_->temporary->path() / kIndexName, O_WRONLY | O_CREAT | O_EXCL,
                   state_->target / kIndexName);
        index.write_at(0, state_->index);
        index.sync();
        sync_folder(state_->temporary->path());
    }
    state_->temporary->rename_to(state_->target);
}

}  // namespace refit
