#include "workloads/safetensors.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>

#include "workloads/safetensors_json.hpp"

namespace refit {

namespace {

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::string_view kMetadataKey = "__metadata__";

struct Dtype {
    std::string_view name;
    std::uint64_t bits;
};
constexpr std::array<Dtype, 22> kDtypes{{
    {"BF16", 16},   {"F16", 16},    {"F32", 32},        {"F64", 64},        {"F8_E4M3", 8},
    {"F8_E5M2", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}, {"F6_E2M3", 6},
    {"F6_E3M2", 6}, {"F4", 4},      {"C64", 64},        {"BOOL", 8},        {"I8", 8},
    {"I16", 16},    {"I32", 32},    {"I64", 64},        {"U8", 8},          {"U16", 16},
    {"U32", 32},    {"U64", 64},
}};

Error invalid(std::string what) { return Error{ErrorCode::invalid_input, std::move(what)}; }

/// A tensor as far as the header has been read.
struct Draft {
    FileTensor tensor;
    bool has_dtype = false;
    bool has_shape = false;
    std::vector<std::uint64_t> offsets;
};

class HeaderReader {
public:
    Status visit(const JsonValue& value) {
        if (value.path.empty()) {
            if (value.kind == JsonKind::object) return Done{};
            return invalid("the header is not a JSON object");
        }
        if (value.path[0] == kMetadataKey) return visit_metadata(value);
        if (value.path.size() == 1) {
            if (value.kind != JsonKind::object)
                return invalid("the header describes tensor " + shown(value.path[0]) + " badly");
            drafts_.emplace_back().tensor.name = value.path[0];
            return Done{};
        }
        return visit_tensor(value);
    }

    std::vector<Draft> take() { return std::move(drafts_); }

private:
    static Status visit_metadata(const JsonValue& value) {
        const bool whole = value.path.size() == 1;
        const bool absent = whole && value.kind == JsonKind::null;
        if (absent || value.kind == (whole ? JsonKind::object : JsonKind::text)) return Done{};
        return invalid("the header has __metadata__ that is not an object of texts, at " +
                       shown(value.path.back()));
    }

    Status visit_tensor(const JsonValue& value) {
        Draft& draft = drafts_.back();
        const std::string& field = value.path[1];
        const bool list = value.path.size() == 2 && value.kind == JsonKind::array;
        const bool entry = value.path.size() == 3 && value.kind == JsonKind::natural;
        bool good = true;  // other fields are allowed, as in the reference reader
        if (field == "dtype") {
            good = value.kind == JsonKind::text;
            draft.tensor.dtype = std::string(value.text);
            draft.has_dtype = true;
        } else if (field == "shape") {
            good = list || entry;
            draft.has_shape = true;
            if (entry) draft.tensor.shape.push_back(value.natural);
        } else if (field == "data_offsets") {
            good = list || (entry && draft.offsets.size() < 2);
            if (entry) draft.offsets.push_back(value.natural);
        }
        if (good) return Done{};
        return invalid("tensor " + shown(draft.tensor.name) + " has a bad " + field);
    }

    std::vector<Draft> drafts_;
};

std::optional<std::uint64_t> checked_product(std::uint64_t a, std::uint64_t b) {
    std::uint64_t product = 0;
    if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
    return product;
}

Result<FileTensor> finish(Draft draft) {
    FileTensor& tensor = draft.tensor;
    const std::string name = shown(tensor.name);
    if (!draft.has_dtype || !draft.has_shape || draft.offsets.size() != 2)
        return invalid("tensor " + name + " lacks dtype, shape or data_offsets");
    tensor.begin = draft.offsets[0];
    tensor.end = draft.offsets[1];
    if (tensor.begin > tensor.end) {
        return invalid("tensor " + name + " ends at byte " + std::to_string(tensor.end) +
                       ", before its begin " + std::to_string(tensor.begin));
    }

    const auto dtype = std::ranges::find(kDtypes, tensor.dtype, &Dtype::name);
    if (dtype == kDtypes.end())
        return invalid("tensor " + name + " has the unknown dtype " + shown(tensor.dtype));
    std::optional<std::uint64_t> count = 1;
    for (const std::uint64_t extent : tensor.shape)
        if (count) count = checked_product(*count, extent);
    const std::optional<std::uint64_t> bits =
        count ? checked_product(*count, dtype->bits) : std::nullopt;
    if (!bits) return invalid("tensor " + name + " has a shape that overflows 64 bits");
    if (*bits % 8 != 0) return invalid("tensor " + name + " ends inside a byte");
    if (*bits / 8 != tensor.end - tensor.begin) {
        return invalid("tensor " + name + " has " + std::to_string(tensor.end - tensor.begin) +
                       " bytes, but its shape needs " + std::to_string(*bits / 8));
    }
    return std::move(draft.tensor);
}

/// Each tensor must begin where the one before ends: neither hole nor overlap.
Status check_cover(const std::vector<FileTensor>& tensors) {
    std::uint64_t end = 0;
    for (const FileTensor& tensor : tensors) {
        if (tensor.begin < end) {
            return invalid("tensor " + shown(tensor.name) + " begins at byte " +
                           std::to_string(tensor.begin) + ", inside the tensor before it");
        }
        if (tensor.begin > end) {
            return invalid("bytes " + std::to_string(end) + " to " + std::to_string(tensor.begin) +
                           " of the data belong to no tensor");
        }
        end = tensor.end;
    }
    return Done{};
}

/// How files begin that people take for safetensors, and what to do about it. Read as a header
/// length, each of these is over the limit or longer than its file.
struct Foreign {
    std::string_view start;
    std::string_view what;
};
constexpr std::array<Foreign, 9> kForeign{{
    {"version https://git-lfs", "a Git LFS pointer, not the weights: fetch them with git lfs pull"},
    {"<", "a web page, not a safetensors file: download it again"},
    {"{", "a JSON text, not a safetensors file: name the folder it is in, or download it again"},
    {"PK\x03\x04",
     "a PyTorch archive, not a safetensors file: convert it with torch.load and"
     " safetensors.torch.save_file"},
    {"\x80\x02\x8A\x0A",
     "an old PyTorch file, not a safetensors file: convert it with torch.load and"
     " safetensors.torch.save_file"},
    {"GGUF", "a GGUF file, not a safetensors file: use the safetensors files it was made from"},
    {"\x89HDF", "an HDF5 file, not a safetensors file: convert it with save_pretrained"},
    {"\x93NUMPY",
     "a NumPy array, not a safetensors file: convert it with numpy.load and"
     " safetensors.numpy.save_file"},
    {"\x1F\x8B", "a gzip archive, not a safetensors file: unpack it first"},
}};

/// What a file without a plausible header length really is; empty if that cannot be told.
std::string describe_foreign(ByteSpan file) {
    std::string_view text = as_text(file.first(std::min<std::size_t>(file.size(), 64)));
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    for (const Foreign& foreign : kForeign)
        if (text.starts_with(foreign.start)) return "this is " + std::string(foreign.what);
    return {};
}

}  // namespace

Result<std::uint64_t> safetensors_header_bytes(ByteSpan start, std::uint64_t file_bytes) {
    if (file_bytes < kLengthBytes) {
        return invalid("the file is cut short: it has " + std::to_string(file_bytes) +
                       " bytes, and a safetensors file starts with 8 bytes of header length");
    }
    const auto json_bytes = ByteReader(start).read<std::uint64_t>();
    const bool fits = json_bytes <= kHeaderJsonMax && json_bytes <= file_bytes - kLengthBytes;
    if (const std::string foreign = fits ? "" : describe_foreign(start); !foreign.empty())
        return invalid(foreign);
    if (json_bytes > kHeaderJsonMax) {
        return invalid("the header claims " + std::to_string(json_bytes) + " bytes, the limit is " +
                       std::to_string(kHeaderJsonMax));
    }
    if (json_bytes > file_bytes - kLengthBytes) {
        return invalid("the file is cut short: a header of " + std::to_string(json_bytes) +
                       " bytes does not fit into " + std::to_string(file_bytes) + " bytes");
    }
    return kLengthBytes + json_bytes;
}

Result<ByteSpan> find_safetensors_header(ByteSpan file) {
    REFIT_TRY(bytes, safetensors_header_bytes(file, file.size()));
    return file.first(static_cast<std::size_t>(bytes));
}

std::uint64_t dtype_bits(std::string_view dtype) {
    const auto known = std::ranges::find(kDtypes, dtype, &Dtype::name);
    return known == kDtypes.end() ? 0 : known->bits;
}

Result<std::vector<FileTensor>> parse_safetensors_header(ByteSpan header) {
    REFIT_TRY(found, find_safetensors_header(header));
    if (found.size() != header.size())
        return invalid("the header has another length than it states");
    const std::string_view json = as_text(header.subspan(kLengthBytes));
    if (!json.starts_with("{")) return invalid("the header does not start with \"{\"");

    HeaderReader reader;
    REFIT_CHECK(
        walk_json(json, "the header", [&](const JsonValue& value) { return reader.visit(value); }));

    std::vector<FileTensor> tensors;
    for (Draft& draft : reader.take()) {
        REFIT_TRY(tensor, finish(std::move(draft)));
        tensors.push_back(std::move(tensor));
    }
    std::ranges::sort(tensors, {}, [](const FileTensor& tensor) {
        return std::tie(tensor.begin, tensor.end, tensor.name);
    });
    REFIT_CHECK(check_cover(tensors));
    return tensors;
}

Result<std::vector<std::pair<std::string, std::string>>> parse_safetensors_index(ByteSpan index) {
    std::vector<std::pair<std::string, std::string>> map;
    bool has_map = false;
    REFIT_CHECK(walk_json(as_text(index), "the index", [&](const JsonValue& value) -> Status {
        if (value.path.empty() || value.path[0] != "weight_map") return Done{};
        has_map = true;
        if (value.path.size() == 1) {
            if (value.kind == JsonKind::object) return Done{};
            return invalid("the index has a weight_map that is not an object");
        }
        if (value.kind != JsonKind::text || !is_shard_name(value.text)) {
            return invalid("the index gives tensor " + shown(value.path[1]) +
                           " a file that is no plain name ending in .safetensors");
        }
        map.emplace_back(value.path[1], value.text);
        return Done{};
    }));
    if (!has_map) return invalid("the index has no weight_map");
    std::ranges::sort(map);
    return map;
}

bool is_shard_name(std::string_view name) {
    constexpr std::string_view kSuffix = ".safetensors";
    const bool plain = name.find_first_of(std::string_view("/\\\0", 3)) == name.npos &&
                       name.find("..") == name.npos;
    return plain && name.ends_with(kSuffix) && name.size() > kSuffix.size() && name[0] != '.';
}

}  // namespace refit
