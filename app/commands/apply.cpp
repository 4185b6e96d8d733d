#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/backend.hpp"
#include "app/checkpoints.hpp"
#include "app/commands/commands.hpp"
#include "app/format.hpp"
#include "workloads/apply_in_place.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;

struct ApplyFlags {
    std::string base;
    std::string delta;
    std::string output;
    BackendFlags backend;
    bool in_place = false;
    bool allow_linked = false;
    bool dry_run = false;
};

enum class Outcome : std::uint8_t { written, dry_run, overwritten, completed, unchanged };

std::string outcome_text(Outcome outcome) {
    switch (outcome) {
        case Outcome::written:
            return "";
        case Outcome::dry_run:
            return " (dry run, not written)";
        case Outcome::overwritten:
            return " (in place)";
        case Outcome::completed:
            return " (in place; an interrupted update was completed)";
        case Outcome::unchanged:
            return " (in place; was at this version already)";
    }
    return "";
}

void report(const Console& console,
            const ApplyFlags& flags,
            const RfdReader& delta,
            Outcome outcome) {
    const Manifest& manifest = delta.manifest();
    const std::uint64_t words = delta.catalog().words().count;
    const std::string& target = flags.in_place ? flags.base : flags.output;
    console.say(fmt::format("{}{}: {} of {} words overwritten, version {}, as the seal says",
                            target, outcome_text(outcome),
                            format_count(manifest.seal.changed_words), format_count(words),
                            short_hex(manifest.seal.next_version)));
    console.document({{"schema", "refit.apply/1"},
                      {"output", target},
                      {"written", outcome != Outcome::dry_run && outcome != Outcome::unchanged},
                      {"in_place", flags.in_place},
                      {"completed", outcome == Outcome::completed},
                      {"codec", manifest.open.codec},
                      {"words", words},
                      {"changed_words", manifest.seal.changed_words},
                      {"version", to_hex(manifest.seal.next_version)}});
}

/// Bytes that progress will count: the words and what travels as bytes.
Bytes total_of(const RfdReader& delta) {
    Bytes total = size_of(delta.catalog().words());
    for (const OpaqueItem& item : delta.opaque()) total += Bytes{item.bytes};
    return total;
}

/// The new checkpoint beside the old one, or nowhere in a dry run.
Result<ExitCode> apply_to_output(const Console& console,
                                 const ApplyFlags& flags,
                                 const RfdReader& delta) {
    REFIT_TRY(base, Checkpoint::open(flags.base));
    auto contents = read_delta_contents(delta);
    if (!contents.has_value()) return in_file(contents.error(), flags.delta);
    const DeltaContents& to = contents.value();
    const fs::path inputs[] = {flags.delta};
    REFIT_CHECK(check_output_apart(flags.output, inputs));
    const auto device = open_device(flags.backend, console).device;
    REFIT_TRY(decoder, CheckpointDecoder::create(*device, delta, *base, flags.delta));
    std::unique_ptr<CheckpointWriter> writer;
    if (!flags.dry_run) {
        REFIT_TRY(created, CheckpointWriter::create(flags.output, to.contents));
        writer = std::move(created);
    }
    const TileSink tiles = [&](const Tile& tile, DecodedTile& decoded) {
        if (!writer) return;
        const auto next = overwrite_tile(*device, decoder.context(), decoded);
        for (const Piece& piece : tile.pieces) {
            writer->write(to.words[piece.tensor], 2 * piece.tensor_first, piece_bytes(next, piece));
        }
    };
    const OpaqueSink opaque = [&](std::size_t item, std::uint64_t first, ByteSpan next, bool) {
        if (!writer) return;
        if (to.is_other(item)) {
            writer->write_other(to.other(item), first, next);
        } else {
            writer->write(to.opaque[item], first, next);
        }
    };
    Progress progress(console, "apply", total_of(delta));
    REFIT_CHECK(decoder.decode(tiles, opaque, report_to(progress)));
    if (writer) writer->commit();
    report(console, flags, delta, flags.dry_run ? Outcome::dry_run : Outcome::written);
    return ExitCode::success;
}

Result<ExitCode> apply_in_place(const Console& console,
                                const ApplyFlags& flags,
                                const RfdReader& delta) {
    const auto device = open_device(flags.backend, console).device;
    const auto disk = make_posix_disk();
    InPlaceApply apply(*device, *disk, flags.base, flags.allow_linked);
    Progress progress(console, "apply", total_of(delta) * 2);  // decoded, then read back
    REFIT_TRY(result, apply.apply(delta, flags.delta, report_to(progress)));
    const Outcome done = !result.applied    ? Outcome::unchanged
                         : result.recovered ? Outcome::completed
                                            : Outcome::overwritten;
    report(console, flags, delta, done);
    return ExitCode::success;
}

Result<ExitCode> apply(const Console& console, const ApplyFlags& flags) {
    REFIT_TRY(delta, RfdReader::open(flags.delta));
    return flags.in_place ? apply_in_place(console, flags, delta)
                          : apply_to_output(console, flags, delta);
}

}  // namespace

Command add_apply(CLI::App& program, const Console& console) {
    CLI::App* command = program.add_subcommand("apply", "Rebuild a checkpoint from base and delta");
    const auto flags = std::make_shared<ApplyFlags>();
    command->add_option("--base", flags->base, "The checkpoint the delta was made from")
        ->required();
    command->add_option("--delta", flags->delta, "The delta (.rfd)")->required();
    CLI::Option* output =
        command->add_option("-o,--output", flags->output, "The checkpoint to write");
    CLI::Option* in_place = command->add_flag("--in-place", flags->in_place,
                                              "Overwrite the base; safe against crashes, and run "
                                              "again it completes what was interrupted");
    CLI::Option* allow_linked =
        command->add_flag("--allow-linked", flags->allow_linked,
                          "In place also through symbolic and hard links, for all their names");
    add_backend_flags(*command, flags->backend);
    CLI::Option* dry_run =
        command->add_flag("--dry-run", flags->dry_run, "Do everything but write");
    output->excludes(in_place);
    in_place->excludes(dry_run);
    allow_linked->needs(in_place);
    command->callback([output, in_place] {
        if (output->count() == 0 && in_place->count() == 0)
            throw CLI::RequiredError("apply: -o OUT, or --in-place");
    });
    return {command, [&console, flags] { return apply(console, *flags); }};
}

}  // namespace refit
