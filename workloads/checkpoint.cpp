#include "workloads/checkpoint.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <system_error>
#include <utility>

#include "engine/store/file_io.hpp"
#include "workloads/checkpoint_layout.hpp"
#include "workloads/safetensors_json.hpp"

namespace refit {

namespace fs = std::filesystem;

struct Checkpoint::State {
    fs::path path;
    bool is_directory = false;
    std::vector<CheckpointFile> files;
    std::vector<File> handles;  // of files[i]
    ByteVector index;
    CheckpointLayout layout;
    std::vector<OtherFile> others;
    std::vector<std::string> folders;
};

namespace {

struct Foreign {
    std::string_view mark;
    std::string_view what;
};
constexpr std::array<Foreign, 4> kRemote{{
    {"s3://", "an S3 address: copy the safetensors files here first, as with aws s3 cp"},
    {"gs://", "a Cloud Storage address: copy the safetensors files here first"},
    {"hf://", "a Hugging Face address: fetch its safetensors files first with hf download"},
    {"://", "a remote address: copy the safetensors files here first"},
}};
constexpr std::array<Foreign, 6> kFormats{{
    {".bin",
     "a PyTorch .bin checkpoint: make safetensors with save_pretrained(safe_serialization=True)"},
    {".pt", "a PyTorch .pt file: convert it with torch.load and safetensors.torch.save_file"},
    {".pth", "a PyTorch .pth file: convert it with torch.load and safetensors.torch.save_file"},
    {".ckpt", "a .ckpt file: convert it with torch.load and safetensors.torch.save_file"},
    {".distcp",
     "a torch.distributed checkpoint (.distcp): convert it with dcp_to_torch_save, then"
     " safetensors.torch.save_file"},
    {".gguf", "a GGUF file: use the safetensors files it was made from"},
}};

/// Enough of a file to tell what it is when it is no safetensors file.
constexpr std::uint64_t kHeaderStart = 4096;

Error unsupported(std::string_view what) {
    return Error{ErrorCode::unsupported, "this is " + std::string(what)};
}

Status refuse_foreign(const std::string& path) {
    for (const Foreign& remote : kRemote)
        if (path.find(remote.mark) != path.npos) return unsupported(remote.what);
    for (const Foreign& format : kFormats)
        if (path.ends_with(format.mark)) return unsupported(format.what);
    return Done{};
}

/// The status of a path that exists; nothing when it does not.
fs::file_type type_of(const fs::path& path) {
    std::error_code code;
    const fs::file_status status = fs::status(path, code);
    if (status.type() == fs::file_type::none) throw_file_error(path, "look it up", code.value());
    return status.type();
}

/// Why a directory is no checkpoint: by what it holds instead.
Error explain_directory(const fs::path& path) {
    std::set<std::string> names;
    std::error_code code;
    fs::directory_iterator entry(path, code);
    for (; !code && entry != fs::directory_iterator(); entry.increment(code))
        names.insert(entry->path().filename().string());
    if (code) throw_file_error(path, "list", code.value());
    for (const std::string& name : names)
        if (Status status = refuse_foreign(name); !status.has_value()) return status.error();
    return Error{ErrorCode::not_found, "the directory holds neither " + std::string(kIndexName) +
                                           " nor " + std::string(kSingleName)};
}

Result<ByteVector> read_index(const fs::path& path) {
    const File file(path, O_RDONLY);
    const std::uint64_t size = file.bytes();
    if (size > kHeaderJsonMax) {
        return Error{ErrorCode::invalid_input, "the index has " + std::to_string(size) +
                                                   " bytes, the limit is " +
                                                   std::to_string(kHeaderJsonMax)};
    }
    ByteVector bytes(size);
    file.read_at(0, bytes);
    return bytes;
}

Result<CheckpointFile> read_file(std::string name, const File& from) {
    const std::uint64_t size = from.bytes();
    ByteVector start(std::min(size, kHeaderStart));
    from.read_at(0, start);
    REFIT_TRY(header_bytes, safetensors_header_bytes(start, size));
    ByteVector header(header_bytes);
    from.read_at(0, header);
    REFIT_TRY(file, make_checkpoint_file(std::move(name), header));
    const std::uint64_t data = size - header_bytes;
    if (file.data_bytes > data) {
        return Error{ErrorCode::invalid_input, "the file is cut short: its tensors need " +
                                                   std::to_string(file.data_bytes) +
                                                   " bytes, it holds " + std::to_string(data)};
    }
    if (file.data_bytes < data) {
        return Error{ErrorCode::invalid_input, "the file has " +
                                                   std::to_string(data - file.data_bytes) +
                                                   " bytes after the last tensor"};
    }
    return std::move(file);
}

fs::path in_place_name(const fs::path& path) { return path.string() + ".refit-applying"; }

/// Is the name away because an update in place stopped between its two renames?
Status refuse_interrupted(const fs::path& path) {
    for (const fs::path& name : {path, path / kIndexName, path / kSingleName}) {
        if (type_of(name) != fs::file_type::not_found ||
            type_of(in_place_name(name)) == fs::file_type::not_found)
            continue;
        return Error{ErrorCode::invalid_input,
                     "an apply --in-place was interrupted here; run it again, it will complete",
                     path.string()};
    }
    return Done{};
}

/// Names of the files a directory's index lists; the index itself goes to `index`.
Result<std::vector<std::string>> list_shards(const fs::path& path, ByteVector& index) {
    const fs::path index_path = path / kIndexName;
    if (type_of(index_path) == fs::file_type::not_found) {
        if (type_of(path / kSingleName) == fs::file_type::not_found) return explain_directory(path);
        return std::vector<std::string>{std::string(kSingleName)};
    }
    auto bytes = read_index(index_path);
    if (!bytes.has_value()) return in_file(bytes.error(), index_path.string());
    index = std::move(bytes).value();
    auto map = parse_safetensors_index(index);
    if (!map.has_value()) return in_file(map.error(), index_path.string());
    std::set<std::string> names;
    for (const auto& [tensor, file] : map.value()) names.insert(file);
    if (names.empty()) {
        return Error{ErrorCode::invalid_input, "the index names no file at all",
                     index_path.string()};
    }
    return std::vector<std::string>(names.begin(), names.end());
}

/// Opens one file and reads its header; errors name it.
Result<CheckpointFile> add_file(const std::string& name,
                                const fs::path& path,
                                std::vector<File>& handles) {
    const fs::file_type type = type_of(path);
    if (type == fs::file_type::not_found)
        return Error{ErrorCode::not_found, "no such file", path.string()};
    if (type != fs::file_type::regular)
        return Error{ErrorCode::invalid_input, "this is not a regular file", path.string()};
    handles.emplace_back(path, O_RDONLY);
    auto file = read_file(name, handles.back());
    if (!file.has_value()) return in_file(file.error(), path.string());
    return file;
}

void list_others(const fs::path& folder,
                 const std::vector<CheckpointFile>& files,
                 std::vector<OtherFile>& others,
                 std::vector<std::string>& folders) {
    std::error_code code;
    fs::directory_iterator entry(folder, code);
    for (; !code && entry != fs::directory_iterator(); entry.increment(code)) {
        const std::string name = entry->path().filename().string();
        if (!is_other_name(name, files)) continue;
        const fs::file_type type = type_of(entry->path());
        if (type == fs::file_type::directory) folders.push_back(name);
        if (type == fs::file_type::regular) others.push_back({name, entry->file_size()});
    }
    if (code) throw_file_error(folder, "list", code.value());
    std::ranges::sort(others, {}, &OtherFile::name);
    std::ranges::sort(folders);
}

}  // namespace

Result<std::unique_ptr<Checkpoint>> Checkpoint::open(const fs::path& path) {
    if (Status status = refuse_foreign(path.string()); !status.has_value())
        return in_file(status.error(), path.string());
    REFIT_CHECK(refuse_interrupted(path));

    ByteVector index;
    const bool is_directory = type_of(path) == fs::file_type::directory;
    std::vector<std::pair<std::string, fs::path>> files{{path.filename().string(), path}};
    if (is_directory) {
        auto names = list_shards(path, index);
        if (!names.has_value()) return in_file(names.error(), path.string());
        files.clear();
        for (const std::string& name : names.value()) files.emplace_back(name, path / name);
    }
    REFIT_TRY(checkpoint, open_files(path, files));
    State& state = *checkpoint->state_;
    state.is_directory = is_directory;
    state.index = std::move(index);
    if (!state.index.empty()) {
        Status status = check_index(state.index, state.files);
        if (!status.has_value()) return in_file(status.error(), (path / kIndexName).string());
    }
    if (is_directory) list_others(path, state.files, state.others, state.folders);
    return std::move(checkpoint);
}

Result<std::unique_ptr<Checkpoint>> Checkpoint::open_files(
    const fs::path& path, const std::vector<std::pair<std::string, fs::path>>& files) {
    auto state = std::make_unique<State>();
    state->path = path;
    for (const auto& [name, place] : files) {
        REFIT_TRY(file, add_file(name, place, state->handles));
        state->files.push_back(std::move(file));
    }
    auto layout = lay_out(state->files);
    if (!layout.has_value()) return in_file(layout.error(), path.string());
    state->layout = std::move(layout).value();
    return std::unique_ptr<Checkpoint>(new Checkpoint(std::move(state)));
}

Checkpoint::Checkpoint(std::unique_ptr<State> state) : state_(std::move(state)) {}
Checkpoint::~Checkpoint() = default;

const fs::path& Checkpoint::path() const { return state_->path; }
bool Checkpoint::is_directory() const { return state_->is_directory; }
const std::vector<CheckpointFile>& Checkpoint::files() const { return state_->files; }
const ByteVector& Checkpoint::index() const { return state_->index; }
const std::vector<StoredTensor>& Checkpoint::tensors() const { return state_->layout.tensors; }
const StoredTensor* Checkpoint::find(std::string_view name) const {
    return state_->layout.find(name);
}
const Catalog& Checkpoint::catalog() const { return state_->layout.catalog; }
const std::vector<OtherFile>& Checkpoint::other_files() const { return state_->others; }
const std::vector<std::string>& Checkpoint::other_folders() const { return state_->folders; }

std::vector<std::string> Checkpoint::other_tensors() const {
    std::vector<std::string> names;
    for (const StoredTensor& tensor : state_->layout.tensors)
        if (!is_word_tensor(tensor)) names.push_back(tensor.name);
    return names;
}

void Checkpoint::read_bytes(const StoredTensor& tensor,
                            std::uint64_t first,
                            std::span<std::byte> out) const {
    REFIT_ASSERT(first <= tensor.bytes && out.size() <= tensor.bytes - first);
    state_->handles[tensor.file].read_at(tensor.offset + first, out);
}

void Checkpoint::read(std::uint32_t tensor,
                      std::uint64_t first,
                      std::span<std::uint16_t> out) const {
    const CheckpointLayout& layout = state_->layout;
    read_bytes(layout.tensors[layout.word_tensors[tensor]], 2 * first, std::as_writable_bytes(out));
}

void Checkpoint::read_other(std::size_t index,
                            std::uint64_t first,
                            std::span<std::byte> out) const {
    const OtherFile& other = state_->others[index];
    REFIT_ASSERT(first <= other.bytes && out.size() <= other.bytes - first);
    File(state_->path / other.name, O_RDONLY).read_at(first, out);
}

}  // namespace refit
