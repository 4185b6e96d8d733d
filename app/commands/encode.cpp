#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/checkpoints.hpp"
#include "app/commands/commands.hpp"
#include "app/format.hpp"
#include "app/output_file.hpp"
#include "app/progress.hpp"
#include "engine/plan.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;

/// Salt of the digests in files. Fixed, so that the same pair always yields the same file.
constexpr std::uint64_t kFileSalt = 0x5246445F66696C65;  // "RFD_file"
constexpr std::uint32_t kChunkBytes = 1u << 20;
constexpr std::uint32_t kChunksPerPart = 64;
constexpr std::uint64_t kUnitWords = std::uint64_t{16} << 20;

struct EncodeFlags {
    std::string base;
    std::string next;
    std::string output;
    std::string codec = DeltaSpec{}.codec;
    unsigned threads = 0;
    bool dry_run = false;
};

struct Encoded {
    SealRecord seal;
    Bytes file_bytes;
    Bytes attachment_bytes;
    std::string codec;
    std::uint64_t words = 0;
};

std::vector<Attachment> attachments_of(const Checkpoint& checkpoint) {
    std::vector<Attachment> attachments;
    for (const CheckpointFile& file : checkpoint.files())
        attachments.push_back({"file/" + file.name, file.header});
    if (!checkpoint.index().empty()) attachments.push_back({"index", checkpoint.index()});
    return attachments;
}

/// Encodes unit by unit into `sink`.
Encoded encode_into(const Console& console,
                    Device& device,
                    const Codec& codec,
                    const Checkpoint& base,
                    const Checkpoint& next,
                    const ByteSink& sink) {
    const Catalog& catalog = base.catalog();
    const Grid grid(catalog);
    const DeltaContext context{catalog, grid, kFileSalt};
    OpenRecord open;
    open.catalog = catalog.id();
    open.grid = grid.id();
    open.codec = codec.name();
    open.salt = kFileSalt;
    open.number = 1;
    open.base_version = read_version(console, device, context, base, "read the base");
    open.unit_words = kUnitWords;
    open.chunk_bytes = kChunkBytes;

    Encoded result;
    RfdWriter writer(
        [&](ByteSpan bytes) {
            result.file_bytes += Bytes{bytes.size()};
            sink(bytes);
        },
        catalog, open);
    PartBuilder builder(open, kChunksPerPart);
    std::vector<std::uint64_t> next_digests;
    std::uint64_t changed = 0;
    Progress progress(console, "encode", size_of(catalog.words()));
    for (const UnitRange range : make_units(grid, kUnitWords)) {
        const EncodedUnit unit = encode_unit(device, codec, context, range, base, next);
        next_digests.insert(next_digests.end(), unit.next_digests.begin(), unit.next_digests.end());
        changed += unit.changed_words;
        if (const auto part = builder.add(unit.bytes)) writer.write(*part);
        std::uint64_t words = 0;
        for (std::uint32_t i = 0; i < range.tile_count; ++i)
            words += grid.tile(range.first_tile + i).words;
        progress.advance(size_of(Words{words}));
    }
    if (const auto part = builder.flush()) writer.write(*part);
    const Bytes before = result.file_bytes;
    result.seal = writer.finish(attachments_of(next), builder.parts(), changed,
                                version_id(catalog.id(), kFileSalt, next_digests));
    result.attachment_bytes = result.file_bytes - before;
    result.codec = open.codec;
    result.words = catalog.words().count;
    return result;
}

void report(const Console& console, const EncodeFlags& flags, const Encoded& encoded) {
    const auto words = static_cast<double>(encoded.words);
    const double share =
        encoded.words == 0 ? 0 : static_cast<double>(encoded.seal.changed_words) / words;
    const Bytes payload{encoded.seal.payload_bytes};
    console.say(fmt::format(
        "{}{}: {} of {} words changed ({:.3f} %), {}, payload {}, file {}{}", flags.output,
        flags.dry_run ? " (dry run, not written)" : "", format_count(encoded.seal.changed_words),
        format_count(encoded.words), share * 100, encoded.codec, format_bytes(payload),
        format_bytes(encoded.file_bytes),
        encoded.words == 0
            ? ""
            : fmt::format(", {:.1f}x less than the words",
                          words * 2 / static_cast<double>(encoded.file_bytes.count))));
    console.document({{"schema", "refit.encode/1"},
                      {"output", flags.output},
                      {"written", !flags.dry_run},
                      {"codec", encoded.codec},
                      {"words", encoded.words},
                      {"changed_words", encoded.seal.changed_words},
                      {"payload_bytes", encoded.seal.payload_bytes},
                      {"file_bytes", encoded.file_bytes.count},
                      {"attachment_bytes", encoded.attachment_bytes.count},
                      {"parts", encoded.seal.parts},
                      {"chunks", encoded.seal.chunks},
                      {"next_version", to_hex(encoded.seal.next_version)}});
}

Result<ExitCode> encode(const Console& console, const EncodeFlags& flags) {
    REFIT_TRY(codec, find_codec(flags.codec));
    REFIT_TRY(base, open_words(flags.base));
    REFIT_TRY(next, open_words(flags.next));
    REFIT_CHECK(check_same_tensors(*base, *next));
    const fs::path inputs[] = {flags.base, flags.next};
    REFIT_CHECK(check_output_apart(flags.output, inputs));
    const auto device = make_cpu_device(flags.threads);
    if (flags.dry_run) {
        report(console, flags,
               encode_into(console, *device, *codec, *base, *next, [](ByteSpan) {}));
        return ExitCode::success;
    }
    REFIT_TRY(output, OutputFile::create(flags.output));
    const Encoded encoded = encode_into(console, *device, *codec, *base, *next,
                                        [&](ByteSpan bytes) { output->write(bytes); });
    output->commit();
    report(console, flags, encoded);
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
    command->add_option("--threads", flags->threads, "0: one per usable core")
        ->check(CLI::Range(0, 1024))
        ->capture_default_str();
    command->add_flag("--dry-run", flags->dry_run, "Do everything but write");
    return {command, [&console, flags] { return encode(console, *flags); }};
}

}  // namespace refit
