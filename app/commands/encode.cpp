#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/backend.hpp"
#include "app/checkpoints.hpp"
#include "app/commands/commands.hpp"
#include "app/format.hpp"
#include "app/host.hpp"
#include "app/opaque_text.hpp"
#include "app/output_file.hpp"
#include "app/progress.hpp"
#include "engine/plan.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;

struct EncodeFlags {
    std::string base;
    std::string next;
    std::string output;
    std::string codec = DeltaSpec{}.codec;
    BackendFlags backend;
    bool with_files = false;
    bool dry_run = false;
};

void report(const Console& console,
            const EncodeFlags& flags,
            const EncodeSummary& encoded,
            double seconds) {
    const SealRecord& seal = encoded.seal;
    const OpaqueTotals opaque = add_up(encoded.opaque);
    const double share = encoded.words == 0 ? 0
                                            : static_cast<double>(seal.changed_words) /
                                                  static_cast<double>(encoded.words);
    const Bytes all = size_of(Words{encoded.words}) + opaque.bytes;
    console.say(fmt::format("{}{}: {} of {} words changed ({:.3f} %), {}, payload {}, file {}",
                            flags.output, flags.dry_run ? " (dry run, not written)" : "",
                            format_count(seal.changed_words), format_count(encoded.words),
                            share * 100, encoded.open.codec,
                            format_bytes(Bytes{seal.payload_bytes}), format_bytes(encoded.file)));
    if (const std::string text = opaque_text(opaque); !text.empty()) console.say("  " + text);
    console.say(fmt::format(
        "  {} in {}: reading {}, coding {} on all lanes together, writing {}; {}/s of one "
        "checkpoint",
        format_bytes(all), format_seconds(seconds), format_seconds(to_seconds(encoded.times.read)),
        format_seconds(to_seconds(encoded.times.code)),
        format_seconds(to_seconds(encoded.times.write)),
        format_bytes(Bytes{static_cast<std::uint64_t>(static_cast<double>(all.count) / seconds)})));
    console.document({{"schema", "refit.encode/1"},
                      {"output", flags.output},
                      {"written", !flags.dry_run},
                      {"codec", encoded.open.codec},
                      {"words", encoded.words},
                      {"changed_words", seal.changed_words},
                      {"payload_bytes", seal.payload_bytes},
                      {"file_bytes", encoded.file.count},
                      {"attachment_bytes", encoded.attachments.count},
                      {"opaque", opaque_document(opaque)},
                      {"parts", seal.parts},
                      {"chunks", seal.chunks},
                      {"base_version", to_hex(encoded.open.base_version)},
                      {"next_version", to_hex(seal.next_version)},
                      {"host",
                       {{"seconds", seconds},
                        {"read_seconds", to_seconds(encoded.times.read)},
                        {"code_seconds", to_seconds(encoded.times.code)},
                        {"write_seconds", to_seconds(encoded.times.write)}}}});
}

/// Other files are easily forgotten: say that they stay behind.
void note_others(const Console& console, const EncodeFlags& flags, const Checkpoint& next) {
    std::vector<std::string> left;
    if (!flags.with_files)
        for (const OtherFile& other : next.other_files()) left.push_back(other.name);
    for (const std::string& folder : next.other_folders()) left.push_back(folder + "/");
    if (left.empty()) return;
    constexpr std::size_t kNamed = 5;
    const std::size_t named = std::min(left.size(), kNamed);
    console.note(
        fmt::format("not carried: {}{}{}", fmt::join(std::span(left).first(named), ", "),
                    left.size() > named ? fmt::format(" and {} more", left.size() - named) : "",
                    flags.with_files ? "" : "; --with-files carries files"));
}

Result<ExitCode> encode(const Console& console, const EncodeFlags& flags) {
    REFIT_TRY(codec, find_codec(flags.codec));
    REFIT_TRY(base, Checkpoint::open(flags.base));
    REFIT_TRY(next, Checkpoint::open(flags.next));
    REFIT_TRY(match, match_checkpoints(*base, *next, flags.with_files));
    const fs::path inputs[] = {flags.base, flags.next};
    REFIT_CHECK(check_output_apart(flags.output, inputs));
    const auto device = open_device(flags.backend, console).device;
    std::unique_ptr<OutputFile> output;
    if (!flags.dry_run) {
        REFIT_TRY(created, OutputFile::create(flags.output));
        output = std::move(created);
    }
    const DeltaOutput sink{[&](ByteSpan bytes) {
                               if (output) output->write(bytes);
                           },
                           [&](std::uint64_t offset, ByteSpan bytes) {
                               if (output) output->patch(offset, bytes);
                           }};
    Bytes total = size_of(match.catalog.words());
    for (const OpaqueSource& source : match.opaque) total += Bytes{source.item.bytes};
    Progress progress(console, "encode", total);
    const Nanoseconds start = host_now();
    CheckpointEncoder encoder(*device, *codec, *base, *next, host_now);
    REFIT_TRY(encoded, encoder.encode(match, sink, report_to(progress)));
    if (output) output->commit();
    report(console, flags, encoded, to_seconds(host_now() - start));
    note_others(console, flags, *next);
    return ExitCode::success;
}

}  // namespace

Command add_encode(CLI::App& program, const Console& console) {
    CLI::App* command = program.add_subcommand("encode", "Write the delta between two checkpoints");
    const auto flags = std::make_shared<EncodeFlags>();
    command->add_option("--base", flags->base, "The checkpoint that receivers hold")->required();
    command->add_option("--new", flags->next, "The checkpoint they shall hold")->required();
    command->add_option("-o,--output", flags->output, "The delta to write (.rfd)")->required();
    std::vector<std::string> codecs;
    for (const auto& codec : builtin_codecs()) codecs.emplace_back(codec->name());
    command->add_option("--codec", flags->codec, "One of `refit list codecs`")
        ->check(CLI::IsMember(codecs))
        ->capture_default_str();
    add_backend_flags(*command, flags->backend);
    command->add_flag("--with-files", flags->with_files,
                      "Carry the other files of the new folder as well");
    command->add_flag("--dry-run", flags->dry_run, "Do everything but write");
    return {command, [&console, flags] { return encode(console, *flags); }};
}

}  // namespace refit
