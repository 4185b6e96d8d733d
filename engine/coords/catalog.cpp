#include "engine/coords/catalog.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace refit {

namespace {

constexpr std::string_view kFormatName = "refit.catalog/1";
constexpr std::size_t kTensorsMax = std::size_t{1} << 20;
constexpr std::uint64_t kWordsEnd = std::uint64_t{1} << 48;

/// Name length, name, type, rank: a tensor takes at least this many bytes.
constexpr std::size_t kTensorBytesMin = 4 + 1 + 1 + 1;

/// The product, or nothing once it reaches the limit on words.
std::optional<std::uint64_t> limited_product(std::uint64_t a, std::uint64_t b) {
    if (a != 0 && b > (kWordsEnd - 1) / a) return std::nullopt;
    return a * b;
}

Error invalid(std::string what) { return {ErrorCode::invalid_input, std::move(what)}; }

Result<Tensor> make_tensor(TensorSpec spec) {
    if (spec.name.empty() || spec.name.size() > kTensorNameMax) {
        return invalid(fmt::format("a tensor name of {} bytes; 1 to {} are allowed",
                                   spec.name.size(), kTensorNameMax));
    }
    if (spec.type != WordType::bf16 && spec.type != WordType::f16)
        return invalid(fmt::format("tensor {} has no 16-bit type", quoted_name(spec.name)));
    if (spec.shape.size() > kTensorRankMax) {
        return invalid(fmt::format("tensor {} has {} dimensions; at most {} are allowed",
                                   quoted_name(spec.name), spec.shape.size(), kTensorRankMax));
    }
    const auto too_large = [&] {
        return invalid(fmt::format("tensor {} has 2^48 words or more", quoted_name(spec.name)));
    };
    std::uint64_t rows = 1;
    for (std::size_t d = 0; d + 1 < spec.shape.size(); ++d) {
        const auto product = limited_product(rows, spec.shape[d]);
        if (!product) return too_large();
        rows = *product;
    }
    const std::uint64_t columns = spec.shape.empty() ? 1 : spec.shape.back();
    const auto words = limited_product(rows, columns);
    if (!words || columns >= kWordsEnd) return too_large();
    return Tensor{std::move(spec.name), spec.type, std::move(spec.shape), 0, *words, rows, columns};
}

bool is_number(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

Result<Catalog> Catalog::make(std::vector<TensorSpec> specs) {
    if (specs.size() > kTensorsMax)
        return invalid(
            fmt::format("{} tensors; at most {} are allowed", specs.size(), kTensorsMax));
    std::ranges::sort(specs, {}, &TensorSpec::name);

    Catalog catalog;
    catalog.tensors_.reserve(specs.size());
    for (TensorSpec& spec : specs) {
        if (!catalog.tensors_.empty() && catalog.tensors_.back().name == spec.name)
            return invalid(fmt::format("tensor {} appears twice", quoted_name(spec.name)));
        REFIT_TRY(tensor, make_tensor(std::move(spec)));
        tensor.first_word = catalog.words_.count;
        if (tensor.words >= kWordsEnd - catalog.words_.count)
            return invalid("the tensors have 2^48 words or more in all");
        catalog.words_ += Words{tensor.words};
        catalog.tensors_.push_back(std::move(tensor));
    }
    catalog.id_ = sha256(catalog.serialize());
    return catalog;
}

std::optional<std::uint32_t> Catalog::find(std::string_view name) const {
    const auto at = std::ranges::lower_bound(tensors_, name, {}, &Tensor::name);
    if (at == tensors_.end() || at->name != name) return std::nullopt;
    return static_cast<std::uint32_t>(at - tensors_.begin());
}

ByteVector Catalog::serialize() const {
    ByteWriter writer;
    writer.write_text(kFormatName);
    writer.write(static_cast<std::uint32_t>(tensors_.size()));
    for (const Tensor& tensor : tensors_) {
        writer.write_text(tensor.name);
        writer.write(static_cast<std::uint8_t>(tensor.type));
        writer.write(static_cast<std::uint8_t>(tensor.shape.size()));
        for (const std::uint64_t extent : tensor.shape) writer.write(extent);
    }
    return std::move(writer).take();
}

Result<Catalog> Catalog::parse(ByteSpan bytes) {
    ByteReader reader(bytes);
    const std::string format = reader.take_text(kFormatName.size());
    if (!reader.failed() && format != kFormatName)
        return Error{ErrorCode::corrupt, "the catalog is in no format we know"};
    const auto count = reader.read<std::uint32_t>();
    if (count > kTensorsMax || count > reader.remaining() / kTensorBytesMin)
        return Error{ErrorCode::corrupt, fmt::format("the catalog cannot hold {} tensors", count)};

    std::vector<TensorSpec> specs;
    specs.reserve(count);
    for (std::uint32_t i = 0; i < count && !reader.failed(); ++i) {
        TensorSpec spec;
        spec.name = reader.take_text(kTensorNameMax);
        spec.type = static_cast<WordType>(reader.read<std::uint8_t>());
        const auto rank = reader.read<std::uint8_t>();
        if (rank > kTensorRankMax)
            return Error{ErrorCode::corrupt, "a tensor of the catalog has too many dimensions"};
        for (std::uint8_t d = 0; d < rank; ++d) spec.shape.push_back(reader.read<std::uint64_t>());
        // Only the one canonical order: equal catalogs have equal bytes, and so equal ids.
        if (!reader.failed() && !specs.empty() && spec.name <= specs.back().name)
            return Error{ErrorCode::corrupt, "the catalog's tensors are not in order of name"};
        specs.push_back(std::move(spec));
    }
    REFIT_CHECK(reader.finish("the catalog"));
    auto catalog = make(std::move(specs));
    if (!catalog.has_value()) return Error{ErrorCode::corrupt, catalog.error().what};
    return catalog;
}

std::string quoted_name(std::string_view name) {
    std::string text = "'";
    for (const char c : name) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7F) {
            text += fmt::format("\\x{:02x}", byte);
        } else {
            text += c;
        }
    }
    return text + "'";
}

std::string tensor_class(std::string_view name) {
    std::string result;
    for (;;) {
        const std::size_t dot = name.find('.');
        const std::string_view component = name.substr(0, dot);
        result += is_number(component) ? std::string_view("*") : component;
        if (dot == std::string_view::npos) return result;
        result += '.';
        name.remove_prefix(dot + 1);
    }
}

std::string tensor_kind(std::string_view name) {
    for (const std::string_view suffix : {".weight", ".bias"}) {
        if (name.size() > suffix.size() && name.ends_with(suffix)) {
            name.remove_suffix(suffix.size());
            break;
        }
    }
    const std::size_t dot = name.rfind('.');
    return std::string(dot == std::string_view::npos ? name : name.substr(dot + 1));
}

}  // namespace refit
