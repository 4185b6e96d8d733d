#include "app/checkpoints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "app/progress.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;

const FileTensor* find_file_tensor(const Checkpoint& checkpoint, const std::string& name) {
    for (const CheckpointFile& file : checkpoint.files()) {
        for (const FileTensor& tensor : file.tensors) {
            if (tensor.name == name) return &tensor;
        }
    }
    return nullptr;
}

std::string shape_text(const std::vector<std::uint64_t>& shape) {
    return fmt::format("[{}]", fmt::join(shape, ", "));
}

std::string type_text(WordType type) { return type == WordType::bf16 ? "BF16" : "F16"; }

/// How two tensors of the same place in canonical order differ; empty if they do not.
std::string difference(const Tensor& one, const Tensor& other) {
    if (one.name < other.name) return "has no tensor " + one.name;
    if (other.name < one.name) return "has a tensor " + other.name + " the other lacks";
    if (one.type != other.type) {
        return fmt::format("tensor {} is {}, not {}", other.name, type_text(other.type),
                           type_text(one.type));
    }
    if (one.shape != other.shape) {
        return fmt::format("tensor {} is {}, not {}", other.name, shape_text(other.shape),
                           shape_text(one.shape));
    }
    return "";
}

/// The tiles of a delta as they are decoded, part by part.
class Decoding {
public:
    Decoding(Device& device, const RfdReader& delta, const Checkpoint& base, const Codec& codec)
        : device_(device),
          delta_(delta),
          base_(base),
          codec_(codec),
          grid_(base.catalog()),
          units_(make_units(grid_, delta.manifest().open.unit_words)) {}

    DeltaContext context() const { return {base_.catalog(), grid_, delta_.manifest().open.salt}; }

    Status decode_part(std::size_t index, Progress& progress, const TileSink& sink) {
        REFIT_TRY(payload, delta_.read_payload(index));
        const PartRecord& part = delta_.manifest().parts[index];
        ByteSpan rest = payload;
        for (std::uint32_t i = 0; i < part.unit_count; ++i) {
            if (part.first_unit + i >= units_.size())
                return Error{ErrorCode::corrupt, "holds more units than the model has"};
            REFIT_CHECK(decode_next_unit(units_[part.first_unit + i], rest, sink));
            progress.advance(Bytes{unit_bytes_});
        }
        if (!rest.empty()) return Error{ErrorCode::corrupt, "a part holds bytes no unit uses"};
        return Done{};
    }

    /// After all parts: is the result what the seal promised?
    Status check_version() const {
        const Manifest& manifest = delta_.manifest();
        if (next_digests_.size() != grid_.tiles().size())
            return Error{ErrorCode::corrupt, "does not cover the whole model"};
        const Hash256 version = version_id(base_.catalog().id(), manifest.open.salt, next_digests_);
        if (version == manifest.seal.next_version) return Done{};
        return Error{ErrorCode::mismatch, "yields version " + short_hex(version) +
                                              ", but its seal says " +
                                              short_hex(manifest.seal.next_version)};
    }

private:
    Status decode_next_unit(UnitRange range, ByteSpan& rest, const TileSink& sink) {
        const auto read_base = [&](std::uint32_t tile, std::span<std::uint16_t> out) {
            base_.read_tile(grid_.tile(tile), out);
        };
        REFIT_TRY(unit, decode_unit(device_, codec_, context(), range, rest, read_base));
        rest = rest.subspan(unit.bytes);
        unit_bytes_ = 0;
        for (DecodedTile& decoded : unit.tiles) {
            const Tile& tile = grid_.tile(decoded.tile);
            const auto places = identity_placements(base_.catalog(), tile);
            device_.overwrite(decoded.base, decoded.changes, places);
            sink(tile, decoded.base);
            next_digests_.push_back(decoded.next_digest);
            unit_bytes_ += tile.words * 2;
        }
        return Done{};
    }

    Device& device_;
    const RfdReader& delta_;
    const Checkpoint& base_;
    const Codec& codec_;
    Grid grid_;
    std::vector<UnitRange> units_;
    std::vector<std::uint64_t> next_digests_;
    std::uint64_t unit_bytes_ = 0;
};

}  // namespace

Result<std::unique_ptr<Checkpoint>> open_words(const fs::path& path) {
    REFIT_TRY(checkpoint, Checkpoint::open(path));
    const std::vector<std::string> others = checkpoint->other_tensors();
    if (others.empty()) return std::move(checkpoint);
    const FileTensor* tensor = find_file_tensor(*checkpoint, others.front());
    const std::string type = tensor == nullptr ? "no 16-bit type" : tensor->dtype;
    return Error{ErrorCode::unsupported,
                 "tensor " + others.front() + " is " + type + "; only BF16 and F16 are handled",
                 path.string()};
}

Status check_same_tensors(const Checkpoint& one, const Checkpoint& other) {
    if (one.catalog().id() == other.catalog().id()) return Done{};
    const auto mine = one.catalog().tensors();
    const auto theirs = other.catalog().tensors();
    std::string what;
    for (std::size_t i = 0; i < std::min(mine.size(), theirs.size()) && what.empty(); ++i)
        what = difference(mine[i], theirs[i]);
    if (what.empty() && mine.size() > theirs.size())
        what = "has no tensor " + mine[theirs.size()].name;
    if (what.empty() && theirs.size() > mine.size())
        what = "has a tensor " + theirs[mine.size()].name + " the other lacks";
    return Error{ErrorCode::invalid_input, what + " (compared with " + one.path().string() + ")",
                 other.path().string()};
}

Status check_output_apart(const fs::path& output, std::span<const fs::path> inputs) {
    std::error_code failure;
    for (const fs::path& input : inputs) {
        if (fs::equivalent(output, input, failure) && !failure)
            return Error{ErrorCode::invalid_input, "is an input as well", output.string()};
    }
    return Done{};
}

Hash256 read_version(const Console& console,
                     Device& device,
                     const DeltaContext& context,
                     const Weights& weights,
                     const std::string& what) {
    const auto tiles = context.grid.tiles();
    std::vector<std::uint64_t> digests(tiles.size());
    Progress progress(console, what, size_of(context.catalog.words()));
    // In strides, so that progress and Ctrl-C are seen to on this thread.
    const std::size_t stride = std::size_t{16} * device.lanes();
    for (std::size_t first = 0; first < tiles.size(); first += stride) {
        const std::size_t count = std::min(stride, tiles.size() - first);
        device.for_each(count, [&](std::uint64_t i, unsigned) {
            const Tile& tile = tiles[first + i];
            std::vector<std::uint16_t> words(tile.words);
            weights.read_tile(tile, words);
            digests[first + i] =
                device.digest(words, identity_placements(context.catalog, tile), context.salt);
        });
        std::uint64_t words = 0;
        for (std::size_t i = first; i < first + count; ++i) words += tiles[i].words;
        progress.advance(size_of(Words{words}));
    }
    return version_id(context.catalog.id(), context.salt, digests);
}

Status decode_delta(const Console& console,
                    Device& device,
                    const RfdReader& delta,
                    const Checkpoint& base,
                    const fs::path& delta_path,
                    const TileSink& sink) {
    const OpenRecord& open = delta.manifest().open;
    const std::string base_name = base.path().string();
    const std::string delta_name = delta_path.string();
    if (open.catalog != base.catalog().id()) {
        return Error{ErrorCode::wrong_base,
                     "has other tensors than the base that " + delta_name + " was made from",
                     base_name};
    }
    auto codec = find_codec(open.codec);
    if (!codec.has_value()) return in_file(codec.error(), delta_name);
    Decoding decoding(device, delta, base, *codec.value());
    const Hash256 version =
        read_version(console, device, decoding.context(), base, "check the base");
    if (version != open.base_version) {
        return Error{ErrorCode::wrong_base,
                     "is version " + short_hex(version) + ", but " + delta_name +
                         " was made from version " + short_hex(open.base_version),
                     base_name};
    }
    Progress progress(console, "decode", size_of(base.catalog().words()));
    for (std::size_t i = 0; i < delta.manifest().parts.size(); ++i) {
        Status status = decoding.decode_part(i, progress, sink);
        if (!status.has_value()) return in_file(status.error(), delta_name);
    }
    Status status = decoding.check_version();
    if (!status.has_value()) return in_file(status.error(), delta_name);
    return Done{};
}

}  // namespace refit
