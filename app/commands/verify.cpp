#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "app/backend.hpp"
#include "app/checkpoints.hpp"
#include "app/commands/commands.hpp"
#include "app/format.hpp"
#include "workloads/decode_checkpoint.hpp"
#include "workloads/delta_contents.hpp"
#include "workloads/safetensors_json.hpp"

namespace refit {
namespace {

struct VerifyFlags {
    std::vector<std::string> pair;
    std::string base;
    std::string delta;
    std::string next;
    BackendFlags backend;
};

constexpr std::size_t kListed = 20;  // tensors with mismatches named in the text result

struct TensorMismatch {
    std::string name;
    std::uint64_t words = 0;
    std::uint64_t mismatches = 0;
};

/// Counts what differs from an expected checkpoint: words by tensor, other tensors by byte.
class Comparison {
public:
    static Result<Comparison> create(const Checkpoint& expected, const Catalog& catalog) {
        REFIT_TRY(words, SelectedWeights::select(expected, catalog));
        return Comparison(expected, catalog, std::move(words));
    }

    /// From any thread, one tile at a time.
    void compare(const Tile& tile, std::span<const std::uint16_t> words) {
        std::vector<std::uint16_t> expected(tile.words);
        words_.read_tile(tile, expected);
        const std::scoped_lock lock(*mutex_);
        for (const Piece& piece : tile.pieces) {
            std::uint64_t& mismatches = by_tensor_[piece.tensor];
            for (std::uint64_t i = piece.tile_first; i < piece.tile_first + piece.words; ++i)
                mismatches += words[i] != expected[i] ? 1 : 0;
        }
        words_checked_ += tile.words;
    }

    void compare_bytes(const OpaqueItem& item, std::uint64_t first, ByteSpan bytes) {
        ByteVector expected(bytes.size());
        const auto place = find_opaque(expected_, item);
        if (place.has_value()) place->read(first, expected);
        std::uint64_t mismatches = place.has_value() ? 0 : bytes.size();
        for (std::size_t i = 0; place.has_value() && i < bytes.size(); ++i)
            mismatches += bytes[i] != expected[i] ? 1 : 0;
        bytes_checked_ += bytes.size();
        if (mismatches > 0) byte_mismatches_[item.name] += mismatches;
    }

    void header_differs(const std::string& file) { headers_.push_back(file); }

    std::uint64_t words_checked() const { return words_checked_; }
    std::uint64_t bytes_checked() const { return bytes_checked_; }
    const std::map<std::string, std::uint64_t>& byte_mismatches() const { return byte_mismatches_; }
    const std::vector<std::string>& headers() const { return headers_; }

    std::vector<TensorMismatch> word_mismatches() const {
        std::vector<TensorMismatch> list;
        for (std::uint32_t i = 0; i < by_tensor_.size(); ++i) {
            if (by_tensor_[i] == 0) continue;
            list.push_back({catalog_.tensor(i).name, catalog_.tensor(i).words, by_tensor_[i]});
        }
        return list;
    }

private:
    Comparison(const Checkpoint& expected, const Catalog& catalog, SelectedWeights words)
        : expected_(expected),
          catalog_(catalog),
          words_(std::move(words)),
          by_tensor_(catalog.tensors().size()) {}

    const Checkpoint& expected_;
    const Catalog& catalog_;
    SelectedWeights words_;
    std::vector<std::uint64_t> by_tensor_;
    std::map<std::string, std::uint64_t> byte_mismatches_;
    std::vector<std::string> headers_;
    std::uint64_t words_checked_ = 0;
    std::uint64_t bytes_checked_ = 0;
    std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();
};

void say_mismatches(const Console& console, const Comparison& comparison) {
    std::size_t listed = 0;
    const auto words = comparison.word_mismatches();
    for (const TensorMismatch& tensor : words) {
        if (++listed > kListed) break;
        console.say(fmt::format("  {}: {} of {} words", tensor.name,
                                format_count(tensor.mismatches), format_count(tensor.words)));
    }
    for (const auto& [name, bytes] : comparison.byte_mismatches()) {
        if (++listed > kListed) break;
        console.say(fmt::format("  {}: {} bytes", name, format_count(bytes)));
    }
    const std::size_t all = words.size() + comparison.byte_mismatches().size();
    if (all > kListed) console.say(fmt::format("  and {} more tensors", all - kListed));
    for (const std::string& file : comparison.headers())
        console.say(fmt::format("  {}: the header is written in another way", file));
}

ExitCode report(const Console& console, const Comparison& comparison) {
    nlohmann::ordered_json tensors = nlohmann::ordered_json::array();
    std::uint64_t words = 0;
    for (const TensorMismatch& tensor : comparison.word_mismatches()) {
        words += tensor.mismatches;
        tensors.push_back(
            {{"name", tensor.name}, {"words", tensor.words}, {"mismatches", tensor.mismatches}});
    }
    std::uint64_t bytes = 0;
    for (const auto& [name, count] : comparison.byte_mismatches()) {
        bytes += count;
        tensors.push_back({{"name", name}, {"byte_mismatches", count}});
    }
    const bool exact = words == 0 && bytes == 0;
    console.say(fmt::format("{}: {} of {} words differ{}", exact ? "exact" : "MISMATCH",
                            format_count(words), format_count(comparison.words_checked()),
                            comparison.bytes_checked() == 0
                                ? ""
                                : fmt::format(", {} of {} other bytes", format_count(bytes),
                                              format_count(comparison.bytes_checked()))));
    say_mismatches(console, comparison);
    console.document({{"schema", "refit.verify/1"},
                      {"exact", exact},
                      {"words_checked", comparison.words_checked()},
                      {"mismatches", words},
                      {"other_bytes_checked", comparison.bytes_checked()},
                      {"other_byte_mismatches", bytes},
                      {"headers_differ", comparison.headers()},
                      {"tensors", tensors}});
    return exact ? ExitCode::success : ExitCode::mismatch;
}

/// The first tensor that one has and the other lacks, or that differs in type or shape.
Status check_same_tensors(const Checkpoint& one, const Checkpoint& other) {
    const auto differ = [&](const std::string& what) {
        return Error{ErrorCode::invalid_input,
                     what + " (compared with " + one.path().string() + ")", other.path().string()};
    };
    for (const StoredTensor& tensor : one.tensors()) {
        const StoredTensor* mate = other.find(tensor.name);
        if (mate == nullptr) return differ("has no tensor " + shown(tensor.name));
        if (mate->dtype != tensor.dtype || mate->shape != tensor.shape) {
            return differ(fmt::format("tensor {} is {} [{}], not {} [{}]", shown(tensor.name),
                                      mate->dtype, fmt::join(mate->shape, ", "), tensor.dtype,
                                      fmt::join(tensor.shape, ", ")));
        }
    }
    for (const StoredTensor& tensor : other.tensors())
        if (one.find(tensor.name) == nullptr)
            return differ("has a tensor " + shown(tensor.name) + " the other lacks");
    return Done{};
}

void compare_words(const Checkpoint& checkpoint,
                   const CheckpointMatch& match,
                   Device& device,
                   Progress& progress,
                   Comparison& comparison) {
    const Grid grid(match.catalog);
    const auto tiles = grid.tiles();
    const auto words = SelectedWeights::select(checkpoint, match.catalog);
    const std::size_t stride = std::size_t{16} * device.lanes();
    for (std::size_t first = 0; first < tiles.size(); first += stride) {
        const std::size_t count = std::min(stride, tiles.size() - first);
        const std::uint64_t before = comparison.words_checked();
        device.for_each(count, [&](std::uint64_t i, unsigned) {
            std::vector<std::uint16_t> tile_words(tiles[first + i].words);
            words.value().read_tile(tiles[first + i], tile_words);
            comparison.compare(tiles[first + i], tile_words);
        });
        progress.advance(size_of(Words{comparison.words_checked() - before}));
    }
}

Result<ExitCode> verify_pair(const Console& console, const VerifyFlags& flags) {
    REFIT_TRY(one, Checkpoint::open(flags.pair[0]));
    REFIT_TRY(other, Checkpoint::open(flags.pair[1]));
    REFIT_CHECK(check_same_tensors(*one, *other));
    REFIT_TRY(match, match_checkpoints(*one, *other, false));
    const auto device = open_device(flags.backend, console).device;
    REFIT_TRY(comparison, Comparison::create(*one, match.catalog));
    Bytes total = size_of(match.catalog.words());
    for (const OpaqueSource& source : match.opaque) total += Bytes{source.item.bytes};
    Progress progress(console, "compare", total);
    compare_words(*other, match, *device, progress, comparison);
    for (const OpaqueSource& source : match.opaque) {
        for (std::uint64_t tile = 0; tile < source.item.tiles(); ++tile) {
            ByteVector bytes(source.item.tile_bytes(tile));
            source.next.read(tile * kOpaqueTileBytes, bytes);
            comparison.compare_bytes(source.item, tile * kOpaqueTileBytes, bytes);
            progress.advance(Bytes{bytes.size()});
        }
    }
    return report(console, comparison);
}

Result<ExitCode> verify_delta(const Console& console, const VerifyFlags& flags) {
    REFIT_TRY(base, Checkpoint::open(flags.base));
    REFIT_TRY(next, Checkpoint::open(flags.next));
    REFIT_TRY(delta, RfdReader::open(flags.delta));
    auto contents = read_delta_contents(delta);
    if (!contents.has_value()) return in_file(contents.error(), flags.delta);
    const auto device = open_device(flags.backend, console).device;
    REFIT_TRY(decoder, CheckpointDecoder::create(*device, delta, *base, flags.delta));
    REFIT_TRY(comparison, Comparison::create(*next, delta.catalog()));
    for (const CheckpointFile& file : contents.value().contents.files) {
        const bool same = std::ranges::any_of(next->files(), [&](const CheckpointFile& other) {
            return other.header == file.header &&
                   (other.name == file.name || !next->is_directory());
        });
        if (!same) comparison.header_differs(file.name);
    }
    Progress progress(console, "verify", size_of(delta.catalog().words()));
    REFIT_CHECK(decoder.decode(
        [&](const Tile& tile, DecodedTile& decoded) {
            comparison.compare(tile, overwrite_tile(*device, decoder.context(), decoded));
        },
        [&](std::size_t item, std::uint64_t first, ByteSpan bytes, bool) {
            comparison.compare_bytes(delta.opaque()[item], first, bytes);
        },
        report_to(progress)));
    return report(console, comparison);
}

}  // namespace

Command add_verify(CLI::App& program, const Console& console) {
    CLI::App* command =
        program.add_subcommand("verify", "Compare two checkpoints, or base + delta with a third");
    const auto flags = std::make_shared<VerifyFlags>();
    CLI::Option* pair =
        command->add_option("CHECKPOINTS", flags->pair, "Two checkpoints to compare")
            ->expected(2)
            ->type_name("");
    CLI::Option* base = command->add_option("--base", flags->base, "The base of the delta");
    CLI::Option* delta = command->add_option("--delta", flags->delta, "The delta (.rfd)");
    CLI::Option* next = command->add_option("--new", flags->next, "What base + delta shall equal");
    add_backend_flags(*command, flags->backend);
    base->needs(delta)->needs(next)->excludes(pair);
    delta->needs(base);
    next->needs(base);
    command->callback([pair, base] {
        if (pair->count() == 0 && base->count() == 0)
            throw CLI::RequiredError("verify: A B, or --base, --delta and --new");
    });
    return {command, [&console, flags] {
                return flags->pair.empty() ? verify_delta(console, *flags)
                                           : verify_pair(console, *flags);
            }};
}

}  // namespace refit
