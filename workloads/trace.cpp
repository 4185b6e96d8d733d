#include "workloads/trace.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "engine/codec/container.hpp"
#include "engine/store/file_io.hpp"
#include "workloads/checkpoint.hpp"
#include "workloads/decode_checkpoint.hpp"
#include "workloads/safetensors_json.hpp"
#include "workloads/toml_parser.hpp"

namespace refit {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kTraceTomlMax = std::uint64_t{1} << 20;

Error invalid(std::string what) { return Error{ErrorCode::invalid_input, std::move(what)}; }

struct TraceFile {
    std::string name;
    std::string base;
    std::vector<std::string> deltas;
};

Result<std::string> read_text(const toml::table& table, std::string_view key) {
    const auto text = table[key].value_exact<std::string>();
    if (!text || text->empty()) return invalid(fmt::format("{} must be a text", key));
    return *text;
}

Result<TraceFile> parse_trace_toml(std::string_view text) {
    const toml::parse_result parsed = toml::parse(text);
    if (!parsed) {
        return invalid(fmt::format("line {}: {}", parsed.error().source().begin.line,
                                   toml_reason(parsed.error())));
    }
    const toml::table& table = parsed.table();
    constexpr std::string_view kKeys[] = {"name", "licence", "origin", "base", "deltas"};
    for (const auto& [key, value] : table) {
        if (std::ranges::find(kKeys, key.str()) == std::end(kKeys))
            return invalid("unknown key " + shown(key.str()));
    }
    TraceFile trace;
    REFIT_TRY(name, read_text(table, "name"));
    REFIT_TRY(base, read_text(table, "base"));
    REFIT_CHECK(read_text(table, "licence"));  // for people, but no trace goes without
    REFIT_CHECK(read_text(table, "origin"));
    trace.name = name;
    trace.base = base;
    const toml::array* const deltas = table["deltas"].as_array();
    if (deltas == nullptr) return invalid("deltas must be a list of texts");
    for (const toml::node& delta : *deltas) {
        const auto path = delta.value_exact<std::string>();
        if (!path || path->empty()) return invalid("deltas must be a list of texts");
        trace.deltas.push_back(*path);
    }
    return trace;
}

Result<TraceFile> read_trace_toml(const fs::path& path) {
    std::error_code ignored;
    if (!fs::exists(path, ignored)) return Error{ErrorCode::not_found, "no such file"};
    if (!fs::is_regular_file(path, ignored)) return invalid("this is not a regular file");
    const File file(path, O_RDONLY);
    const std::uint64_t size = file.bytes();
    if (size > kTraceTomlMax)
        return invalid(fmt::format("the file has {} bytes, the limit is {}", size, kTraceTomlMax));
    std::string text(size, '\0');
    file.read_at(0, std::as_writable_bytes(std::span(text)));
    return parse_trace_toml(text);
}

/// Decodes the units of one part and overwrites `words`, all canonical words of the base.
Status apply_part(Device& device,
                  const Codec& codec,
                  const DeltaContext& context,
                  std::span<const UnitRange> units,
                  ByteSpan payload,
                  std::vector<std::uint16_t>& words) {
    const auto place = [&](const Piece& piece) {
        return std::span(words).subspan(
            context.catalog.tensor(piece.tensor).first_word + piece.tensor_first, piece.words);
    };
    const BaseReader read_base = [&](std::uint32_t tile, std::vector<std::uint16_t>& copy) {
        copy.resize(context.grid.tile(tile).words);
        for (const Piece& piece : context.grid.tile(tile).pieces)
            std::ranges::copy(place(piece), copy.begin() + std::ptrdiff_t(piece.tile_first));
        return std::span<const std::uint16_t>(copy);
    };
    const UnitDecoder decoder(device, codec, context);
    DecodedUnit decoded;
    for (const UnitRange& unit : units) {
        REFIT_CHECK(decoder.decode(unit, payload, read_base, decoded));
        for (DecodedTile& tile : decoded.tiles) {
            const auto next = overwrite_tile(device, context, tile);
            for (const Piece& piece : context.grid.tile(tile.tile).pieces)
                std::ranges::copy(next.subspan(piece.tile_first, piece.words),
                                  place(piece).begin());
        }
        payload = payload.subspan(decoded.bytes);
    }
    if (payload.empty()) return Done{};
    return Error{ErrorCode::corrupt, fmt::format("a part has {} bytes too many", payload.size())};
}

Result<std::vector<std::uint16_t>> apply_delta(Device& device,
                                               const Catalog& catalog,
                                               const Grid& grid,
                                               const Weights& base,
                                               const RfdReader& delta) {
    const OpenRecord& open = delta.manifest().open;
    if (open.catalog != catalog.id() || open.grid != grid.id())
        return Error{ErrorCode::wrong_base, "the delta is for other tensors than the base has"};
    const DeltaContext context{catalog, grid, open.salt};
    const Hash256 base_version = read_version(device, context, base, [](Bytes) {});
    if (open.base_version != base_version) {
        return Error{ErrorCode::wrong_base,
                     fmt::format("the delta is from version {}, the version before it is {}",
                                 short_hex(open.base_version), short_hex(base_version))};
    }
    REFIT_TRY(codec, find_codec(open.codec));
    const std::vector<UnitRange> units = make_units(grid, open.unit_words);

    std::vector<std::uint16_t> words = all_words(catalog, base);
    const std::vector<PartRecord>& parts = delta.manifest().parts;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const PartRecord& part = parts[i];
        if (part.first_unit > units.size() || part.unit_count > units.size() - part.first_unit)
            return Error{ErrorCode::corrupt, "the delta has more units than its grid"};
        REFIT_TRY(payload, delta.read_payload(i));
        REFIT_CHECK(apply_part(device, *codec, context,
                               std::span(units).subspan(part.first_unit, part.unit_count), payload,
                               words));
    }
    return words;
}

class RebuiltTrace final : public StepSource {
public:
    RebuiltTrace(std::string name, std::unique_ptr<Checkpoint> base)
        : name_(std::move(name)), base_(std::move(base)), grid_(base_->catalog()) {}

    std::string name() const override { return name_; }
    const Catalog& catalog() const override { return base_->catalog(); }
    std::uint64_t versions() const override { return 1 + rebuilt_.size(); }
    const Weights& version(std::uint64_t number) const override {
        REFIT_ASSERT(number < versions());
        if (number == 0) return *base_;
        return *rebuilt_[number - 1];
    }

    Status add(Device& device, const fs::path& path) {
        REFIT_TRY(delta, RfdReader::open(path));
        REFIT_TRY(words, apply_delta(device, catalog(), grid_, version(versions() - 1), delta));
        auto next = std::make_unique<MemoryWeights>(catalog(), std::move(words));
        const DeltaContext context{catalog(), grid_, delta.manifest().open.salt};
        const Hash256& promised = delta.manifest().seal.next_version;
        const Hash256 reached = read_version(device, context, *next, [](Bytes) {});
        if (reached != promised) {
            return Error{ErrorCode::corrupt,
                         fmt::format("the delta leads to version {}, its seal says {}",
                                     short_hex(reached), short_hex(promised))};
        }
        rebuilt_.push_back(std::move(next));
        return Done{};
    }

private:
    std::string name_;
    std::unique_ptr<Checkpoint> base_;
    Grid grid_;
    std::vector<std::unique_ptr<MemoryWeights>> rebuilt_;
};

class CheckpointTrace final : public StepSource {
public:
    explicit CheckpointTrace(std::vector<std::unique_ptr<Checkpoint>> versions)
        : versions_(std::move(versions)) {}

    std::string name() const override {
        const fs::path& path = versions_[0]->path();
        return (path.has_filename() ? path : path.parent_path()).filename().string();
    }
    const Catalog& catalog() const override { return versions_[0]->catalog(); }
    std::uint64_t versions() const override { return versions_.size(); }
    const Weights& version(std::uint64_t number) const override {
        REFIT_ASSERT(number < versions());
        return *versions_[number];
    }

private:
    std::vector<std::unique_ptr<Checkpoint>> versions_;
};

std::string describe(const Tensor& tensor) {
    return fmt::format("{} [{}]", tensor.type == WordType::bf16 ? "BF16" : "F16",
                       fmt::join(tensor.shape, ","));
}

/// How the first tensor (in catalog order) differs that does, up to the name of the first version.
std::optional<std::string> first_difference(const Catalog& first, const Catalog& other) {
    const auto mine = first.tensors();
    const auto theirs = other.tensors();
    for (std::size_t i = 0; i < std::max(mine.size(), theirs.size()); ++i) {
        const bool only_mine =
            i == theirs.size() || (i < mine.size() && mine[i].name < theirs[i].name);
        if (only_mine) return fmt::format("lacks tensor {} of", shown(mine[i].name));
        if (i == mine.size() || theirs[i].name < mine[i].name)
            return fmt::format("has tensor {}, which is not in", shown(theirs[i].name));
        if (mine[i].type != theirs[i].type || mine[i].shape != theirs[i].shape) {
            return fmt::format("has tensor {} as {}, it is {} in", shown(mine[i].name),
                               describe(theirs[i]), describe(mine[i]));
        }
    }
    return std::nullopt;
}

}  // namespace

Result<std::unique_ptr<StepSource>> open_trace(const fs::path& trace_toml, Device& device) {
    auto trace = read_trace_toml(trace_toml);
    if (!trace.has_value()) return in_file(trace.error(), trace_toml.string());
    const fs::path folder = trace_toml.parent_path();
    REFIT_TRY(base, Checkpoint::open(folder / trace.value().base));
    auto source = std::make_unique<RebuiltTrace>(trace.value().name, std::move(base));
    for (const std::string& delta : trace.value().deltas) {
        Status added = source->add(device, folder / delta);
        if (!added.has_value()) return in_file(added.error(), (folder / delta).string());
    }
    return std::unique_ptr<StepSource>(std::move(source));
}

Result<std::unique_ptr<StepSource>> open_checkpoints(const std::vector<fs::path>& versions) {
    REFIT_ASSERT(!versions.empty());
    std::vector<std::unique_ptr<Checkpoint>> opened;
    for (const fs::path& path : versions) {
        REFIT_TRY(checkpoint, Checkpoint::open(path));
        if (const auto others = checkpoint->other_tensors(); !others.empty())
            return Error{ErrorCode::unsupported,
                         "tensor '" + others.front() +
                             "' is neither BF16 nor F16; a run takes checkpoints of 16-bit words",
                         path.string()};
        if (!opened.empty()) {
            const auto difference = first_difference(opened[0]->catalog(), checkpoint->catalog());
            if (difference)
                return Error{ErrorCode::invalid_input,
                             "this version " + *difference + " " + versions[0].string(),
                             path.string()};
        }
        opened.push_back(std::move(checkpoint));
    }
    return std::unique_ptr<StepSource>(std::make_unique<CheckpointTrace>(std::move(opened)));
}

}  // namespace refit
