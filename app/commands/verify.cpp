#include <fmt/format.h>

#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/checkpoints.hpp"
#include "app/commands/commands.hpp"
#include "app/format.hpp"
#include "app/progress.hpp"

namespace refit {
namespace {

struct VerifyFlags {
    std::vector<std::string> pair;
    std::string base;
    std::string delta;
    std::string next;
    unsigned threads = 0;
};

constexpr std::size_t kListed = 20;  // tensors with mismatches named in the text result

/// Counts words that differ, per tensor.
class Comparison {
public:
    explicit Comparison(const Checkpoint& expected)
        : expected_(expected), by_tensor_(expected.catalog().tensors().size()) {}

    void compare(const Tile& tile, std::span<const std::uint16_t> words) {
        std::vector<std::uint16_t> expected(tile.words);
        expected_.read_tile(tile, expected);
        const std::scoped_lock lock(mutex_);
        for (const Piece& piece : tile.pieces) {
            std::uint64_t& mismatches = by_tensor_[piece.tensor];
            for (std::uint64_t i = piece.tile_first; i < piece.tile_first + piece.words; ++i)
                mismatches += words[i] != expected[i] ? 1 : 0;
        }
        checked_ += tile.words;
    }

    std::uint64_t checked() const { return checked_; }
    std::uint64_t mismatches() const {
        std::uint64_t total = 0;
        for (const std::uint64_t count : by_tensor_) total += count;
        return total;
    }
    const std::vector<std::uint64_t>& by_tensor() const { return by_tensor_; }
    const Catalog& catalog() const { return expected_.catalog(); }

private:
    const Checkpoint& expected_;
    std::vector<std::uint64_t> by_tensor_;
    std::uint64_t checked_ = 0;
    std::mutex mutex_;
};

ExitCode report(const Console& console, const Comparison& comparison) {
    const std::uint64_t mismatches = comparison.mismatches();
    nlohmann::ordered_json tensors = nlohmann::ordered_json::array();
    console.say(fmt::format("{}: {} of {} words differ", mismatches == 0 ? "exact" : "MISMATCH",
                            format_count(mismatches), format_count(comparison.checked())));
    const auto& by_tensor = comparison.by_tensor();
    for (std::uint32_t i = 0; i < by_tensor.size(); ++i) {
        if (by_tensor[i] == 0) continue;
        const Tensor& tensor = comparison.catalog().tensor(i);
        tensors.push_back(
            {{"name", tensor.name}, {"words", tensor.words}, {"mismatches", by_tensor[i]}});
        if (tensors.size() <= kListed) {
            console.say(fmt::format("  {}: {} of {}", tensor.name, format_count(by_tensor[i]),
                                    format_count(tensor.words)));
        }
    }
    if (tensors.size() > kListed)
        console.say(fmt::format("  and {} more tensors", tensors.size() - kListed));
    console.document({{"schema", "refit.verify/1"},
                      {"exact", mismatches == 0},
                      {"words_checked", comparison.checked()},
                      {"mismatches", mismatches},
                      {"tensors", tensors}});
    return mismatches == 0 ? ExitCode::success : ExitCode::mismatch;
}

void compare_all(const Console& console,
                 Device& device,
                 const Checkpoint& checkpoint,
                 Comparison& comparison) {
    const Grid grid(checkpoint.catalog());
    const auto tiles = grid.tiles();
    Progress progress(console, "compare", size_of(checkpoint.catalog().words()));
    const std::size_t stride = std::size_t{16} * device.lanes();
    for (std::size_t first = 0; first < tiles.size(); first += stride) {
        const std::size_t count = std::min(stride, tiles.size() - first);
        const std::uint64_t before = comparison.checked();
        device.for_each(count, [&](std::uint64_t i, unsigned) {
            std::vector<std::uint16_t> words(tiles[first + i].words);
            checkpoint.read_tile(tiles[first + i], words);
            comparison.compare(tiles[first + i], words);
        });
        progress.advance(size_of(Words{comparison.checked() - before}));
    }
}

Result<ExitCode> verify_pair(const Console& console, const VerifyFlags& flags) {
    REFIT_TRY(one, open_words(flags.pair[0]));
    REFIT_TRY(other, open_words(flags.pair[1]));
    REFIT_CHECK(check_same_tensors(*one, *other));
    const auto device = make_cpu_device(flags.threads);
    Comparison comparison(*one);
    compare_all(console, *device, *other, comparison);
    return report(console, comparison);
}

Result<ExitCode> verify_delta(const Console& console, const VerifyFlags& flags) {
    REFIT_TRY(base, open_words(flags.base));
    REFIT_TRY(next, open_words(flags.next));
    REFIT_CHECK(check_same_tensors(*base, *next));
    REFIT_TRY(delta, RfdReader::open(flags.delta));
    const auto device = make_cpu_device(flags.threads);
    Comparison comparison(*next);
    REFIT_CHECK(decode_delta(console, *device, delta, *base, flags.delta,
                             [&](const Tile& tile, std::span<const std::uint16_t> words) {
                                 comparison.compare(tile, words);
                             }));
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
    command->add_option("--threads", flags->threads, "0: one per usable core")
        ->check(CLI::Range(0, 1024))
        ->capture_default_str();
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
