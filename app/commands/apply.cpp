#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/checkpoints.hpp"
#include "app/commands/commands.hpp"
#include "app/format.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;

struct ApplyFlags {
    std::string base;
    std::string delta;
    std::string output;
    unsigned threads = 0;
    bool dry_run = false;
};

struct OutputFiles {
    std::vector<std::pair<std::string, ByteVector>> headers;
    ByteVector index;
};

constexpr std::string_view kFilePrefix = "file/";

/// The files of the new checkpoint, as the delta carries them.
Result<OutputFiles> output_files(const RfdReader& delta, const std::string& delta_name) {
    OutputFiles files;
    for (const Attachment& attachment : delta.attachments()) {
        if (attachment.name == "index") files.index = attachment.bytes;
        if (!attachment.name.starts_with(kFilePrefix)) continue;
        files.headers.emplace_back(attachment.name.substr(kFilePrefix.size()), attachment.bytes);
    }
    if (files.headers.empty())
        return Error{ErrorCode::corrupt, "carries no file header to write", delta_name};
    return files;
}

/// Headers and index come from the delta, so what is wrong with them is its fault.
Error about_delta(Error error, const ApplyFlags& flags) {
    const bool from_delta =
        error.code == ErrorCode::corrupt || error.code == ErrorCode::unsupported;
    error.where = from_delta ? flags.delta : flags.output;
    return error;
}

void report(const Console& console, const ApplyFlags& flags, const RfdReader& delta) {
    const Manifest& manifest = delta.manifest();
    const std::uint64_t words = delta.catalog().words().count;
    console.say(fmt::format("{}{}: {} of {} words overwritten, version {}, as the seal says",
                            flags.output, flags.dry_run ? " (dry run, not written)" : "",
                            format_count(manifest.seal.changed_words), format_count(words),
                            short_hex(manifest.seal.next_version)));
    console.document({{"schema", "refit.apply/1"},
                      {"output", flags.output},
                      {"written", !flags.dry_run},
                      {"codec", manifest.open.codec},
                      {"words", words},
                      {"changed_words", manifest.seal.changed_words},
                      {"version", to_hex(manifest.seal.next_version)}});
}

Result<ExitCode> apply(const Console& console, const ApplyFlags& flags) {
    REFIT_TRY(base, open_words(flags.base));
    REFIT_TRY(delta, RfdReader::open(flags.delta));
    REFIT_TRY(files, output_files(delta, flags.delta));
    const fs::path inputs[] = {flags.delta};
    REFIT_CHECK(check_output_apart(flags.output, inputs));
    const auto device = make_cpu_device(flags.threads);
    std::unique_ptr<CheckpointWriter> writer;
    const auto sink = [&](const Tile& tile, std::span<const std::uint16_t> next) {
        if (!writer) return;
        for (const Piece& piece : tile.pieces)
            writer->write(piece.tensor, piece.tensor_first,
                          next.subspan(piece.tile_first, piece.words));
    };
    if (!flags.dry_run) {
        auto created =
            CheckpointWriter::create(flags.output, delta.catalog(), files.headers, files.index);
        if (!created.has_value()) return about_delta(created.error(), flags);
        writer = std::move(created).value();
    }
    REFIT_CHECK(decode_delta(console, *device, delta, *base, flags.delta, sink));
    if (writer) writer->commit();
    report(console, flags, delta);
    return ExitCode::success;
}

}  // namespace

Command add_apply(CLI::App& program, const Console& console) {
    CLI::App* command = program.add_subcommand("apply", "Rebuild a checkpoint from base and delta");
    const auto flags = std::make_shared<ApplyFlags>();
    command->add_option("--base", flags->base, "The checkpoint the delta was made from")
        ->required();
    command->add_option("--delta", flags->delta, "The delta (.rfd)")->required();
    command->add_option("-o,--output", flags->output, "The checkpoint to write")->required();
    command->add_option("--threads", flags->threads, "0: one per usable core")
        ->check(CLI::Range(0, 1024))
        ->capture_default_str();
    command->add_flag("--dry-run", flags->dry_run, "Do everything but write");
    return {command, [&console, flags] { return apply(console, *flags); }};
}

}  // namespace refit
