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
    std::vector<MappedFile> mappings;  // of files[i]
    ByteVector index;
    CheckpointLayout layout;
};

namespace {

constexpr std::string_view kSingleName = "model.safetensors";

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

Result<CheckpointFile> read_file(std::string name, ByteSpan bytes) {
    REFIT_TRY(header, find_safetensors_header(bytes));
    REFIT_TRY(file, make_checkpoint_file(std::move(name), header));
    const std::uint64_t data = bytes.size() - header.size();
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
    return std::vector<std::string>(names.begin(), names.end());
}

/// Maps and reads one file; errors name it.
Result<CheckpointFile> add_file(const fs::path& path, std::vector<MappedFile>& mappings) {
    const fs::file_type type = type_of(path);
    if (type == fs::file_type::not_found)
        return Error{ErrorCode::not_found, "no such file", path.string()};
    if (type != fs::file_type::regular)
        return Error{ErrorCode::invalid_input, "this is not a regular file", path.string()};
    mappings.emplace_back(path);
    auto file = read_file(path.filename().string(), mappings.back().bytes());
    if (!file.has_value()) return in_file(file.error(), path.string());
    return file;
}

}  // namespace

Result<std::unique_ptr<Checkpoint>> Checkpoint::open(const fs::path& path) {
    if (Status status = refuse_foreign(path.string()); !status.has_value())
        return in_file(status.error(), path.string());

    auto state = std::make_unique<State>();
    state->path = path;
    state->is_directory = type_of(path) == fs::file_type::directory;
    std::vector<fs::path> paths{path};
    if (state->is_directory) {
        auto names = list_shards(path, state->index);
        if (!names.has_value()) return in_file(names.error(), path.string());
        paths.clear();
        for (const std::string& name : names.value()) paths.push_back(path / name);
    }
    for (const fs::path& file_path : paths) {
        REFIT_TRY(file, add_file(file_path, state->mappings));
        state->files.push_back(std::move(file));
    }
    auto layout = lay_out(state->files);
    if (!layout.has_value()) return in_file(layout.error(), path.string());
    state->layout = std::move(layout).value();
    if (!state->index.empty()) {
        Status status = check_index(state->index, state->files);
        if (!status.has_value()) return in_file(status.error(), (path / kIndexName).string());
    }
    return std::unique_ptr<Checkpoint>(new Checkpoint(std::move(state)));
}

Checkpoint::Checkpoint(std::unique_ptr<State> state) : state_(std::move(state)) {}
Checkpoint::~Checkpoint() = default;

const fs::path& Checkpoint::path() const { return state_->path; }
bool Checkpoint::is_directory() const { return state_->is_directory; }
const std::vector<CheckpointFile>& Checkpoint::files() const { return state_->files; }
const ByteVector& Checkpoint::index() const { return state_->index; }
const Catalog& Checkpoint::catalog() const { return state_->layout.catalog; }
std::vector<std::string> Checkpoint::other_tensors() const { return state_->layout.others; }

void Checkpoint::read(std::uint32_t tensor,
                      std::uint64_t first,
                      std::span<std::uint16_t> out) const {
    const std::uint64_t words = state_->layout.catalog.tensor(tensor).words;
    REFIT_ASSERT(first <= words && out.size() <= words - first);
    if (out.empty()) return;
    const WordPlace& place = state_->layout.places[tensor];
    const ByteSpan bytes = state_->mappings[place.file].bytes();
    std::memcpy(out.data(), bytes.data() + place.offset + 2 * first, out.size_bytes());
}

}  // namespace refit
