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
    ByteVector index;                      // empty: none
    std::unique_ptr<Temporary> temporary;  // outlives the open files, which lie in it
    bool is_directory = false;
    std::vector<File> files;
    std::vector<File> others;
};

namespace {

using Headers = std::vector<std::pair<std::string, ByteVector>>;

Error invalid(std::string what) { return Error{ErrorCode::invalid_input, std::move(what)}; }

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

Result<CheckpointContents> read_contents(bool is_directory,
                                         const Headers& headers,
                                         const ByteVector& index,
                                         std::vector<OtherFile> others) {
    if (index.empty() && headers.size() != 1) {
        return invalid("a checkpoint of " + std::to_string(headers.size()) +
                       " files needs an index");
    }
    if (!is_directory && (!index.empty() || !others.empty()))
        return invalid("a checkpoint that is one file can have neither index nor other files");
    CheckpointContents contents;
    contents.is_directory = is_directory;
    contents.index = index;
    for (const auto& [name, header] : headers) {
        if (is_directory && !is_shard_name(name))
            return invalid(shown(name) + " is no plain file name ending in .safetensors");
        if (is_directory && index.empty() && name != kSingleName)
            return invalid(shown(name) + " needs an index to be found");
        auto file = make_checkpoint_file(name, header);
        if (!file.has_value())
            return Error{file.error().code, shown(name) + ": " + file.error().what};
        if (std::ranges::find(contents.files, name, &CheckpointFile::name) != contents.files.end())
            return invalid("there are two headers for " + shown(name));
        contents.files.push_back(std::move(file).value());
    }
    if (!index.empty()) REFIT_CHECK(check_index(index, contents.files));
    for (const OtherFile& other : others) {
        if (!is_other_name(other.name, contents.files))
            return invalid(shown(other.name) + " cannot be the name of another file");
    }
    contents.others = std::move(others);
    return contents;
}

Result<std::unique_ptr<CheckpointWriter>> CheckpointWriter::create(
    const fs::path& target, const CheckpointContents& contents) {
    auto layout = lay_out(contents.files);
    if (!layout.has_value()) return in_file(layout.error(), target.string());
    auto checked = check_target(target, contents.is_directory);
    if (!checked.has_value()) return in_file(checked.error(), target.string());

    auto state = std::make_unique<State>();
    state->target = checked.value();
    state->layout = std::move(layout).value();
    state->index = contents.index;
    state->is_directory = contents.is_directory;
    const fs::path temporary = temporary_beside(state->target);
    if (state->is_directory) {
        make_folder(temporary);
        state->temporary = std::make_unique<Temporary>(temporary);
    }
    const auto add = [&](const std::string& name, std::uint64_t bytes, std::vector<File>& list) {
        const bool inside = state->is_directory;
        list.emplace_back(inside ? temporary / name : temporary, O_RDWR | O_CREAT | O_EXCL,
                          inside ? state->target / name : state->target);
        if (!state->temporary) state->temporary = std::make_unique<Temporary>(temporary);
        list.back().reserve(bytes);
    };
    for (const CheckpointFile& file : contents.files) {
        add(file.name, file.header.size() + file.data_bytes, state->files);
        state->files.back().write_at(0, file.header);
    }
    for (const OtherFile& other : contents.others) add(other.name, other.bytes, state->others);
    return std::unique_ptr<CheckpointWriter>(new CheckpointWriter(std::move(state)));
}

CheckpointWriter::CheckpointWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
CheckpointWriter::~CheckpointWriter() = default;

const std::vector<StoredTensor>& CheckpointWriter::tensors() const {
    return state_->layout.tensors;
}

void CheckpointWriter::write(const StoredTensor& tensor, std::uint64_t first, ByteSpan bytes) {
    REFIT_ASSERT(first <= tensor.bytes && bytes.size() <= tensor.bytes - first);
    state_->files[tensor.file].write_at(tensor.offset + first, bytes);
}

void CheckpointWriter::write_other(std::size_t index, std::uint64_t first, ByteSpan bytes) {
    state_->others[index].write_at(first, bytes);
}

void CheckpointWriter::commit() {
    for (File& file : state_->files) file.sync();
    for (File& file : state_->others) file.sync();
    if (!state_->index.empty()) {
        File index(state_->temporary->path() / kIndexName, O_WRONLY | O_CREAT | O_EXCL,
                   state_->target / kIndexName);
        index.write_at(0, state_->index);
        index.sync();
    }
    if (state_->is_directory) sync_folder(state_->temporary->path());
    state_->temporary->rename_to(state_->target);
}

}  // namespace refit
