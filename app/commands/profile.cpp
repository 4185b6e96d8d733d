#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/bench/codec_pass.hpp"
#include "app/bench/samples.hpp"
#include "app/bench/tile_sample.hpp"
#include "app/checkpoints.hpp"
#include "app/commands/commands.hpp"
#include "app/format.hpp"
#include "app/fraction.hpp"
#include "app/host.hpp"
#include "app/output_file.hpp"
#include "app/profile_report.hpp"
#include "engine/base/rng.hpp"
#include "engine/codec/container.hpp"
#include "scenarios/scenario.hpp"
#include "workloads/one_step.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kDrawStream = 5;  // the draw of tiles of words has another
constexpr std::string_view kPublishedLink = "3.128 Gbit/s";
constexpr const char* kPublishedSource =
    "calibrated to the published 5250 s for 2052.8 GB (arXiv:2610.08430)";

struct ProfileFlags {
    std::vector<std::string> pair;
    std::uint32_t steps = 1;
    std::string output;
    std::string link{kPublishedLink};
    std::optional<double> fraction;
    std::uint64_t seed = 1;
    unsigned threads = 0;
};

std::string check_link(std::string& text) {
    const auto rate = parse_bit_rate(text);
    if (!rate.has_value()) return rate.error().what;
    return rate.value().count > 0 ? "" : "takes a rate above 0, not '" + text + "'";
}

/// What users call a checkpoint, whether or not they end its folder with a slash.
std::string name_of(const fs::path& path) {
    const fs::path plain = (path / "").parent_path();
    return plain.has_filename() && plain.filename() != "." && plain.filename() != ".."
               ? plain.filename().string()
               : path.string();
}

/// What headers and index add to a delta, as encode writes them.
std::uint64_t packed_header_bytes(const Checkpoint& next) {
    std::vector<Attachment> list;
    for (const CheckpointFile& file : next.files())
        list.push_back({std::string(kHeaderPrefix) + file.name, file.header});
    if (!next.index().empty()) list.push_back({std::string(kIndexAttachment), next.index()});
    if (next.is_directory()) list.push_back({std::string(kDirectoryAttachment), {}});
    const auto bytes_with = [](const std::vector<Attachment>& attachments) {
        std::uint64_t bytes = 0;
        RfdWriter writer([&](ByteSpan written) { bytes += written.size(); }, Catalog{}, {});
        writer.finish(attachments, {}, 0, {});
        return bytes;
    };
    return bytes_with(list) - bytes_with({});
}

/// Codes other tensors as encode does: every tile, or a drawn one of each run of tiles where there
/// are more than a sample may have.
void measure_others(const Console& console,
                    const std::vector<OpaqueSource>& sources,
                    const ProfileFlags& flags,
                    ChangeProfile& profile) {
    std::uint64_t tiles = 0;
    for (const OpaqueSource& source : sources) {
        tiles += source.item.tiles();
        profile.other_bytes += source.item.bytes;
    }
    constexpr std::uint64_t kTilesMax = size_of(Words{kSampleWordsMax}).count / kOpaqueTileBytes;
    const auto wanted =
        static_cast<std::uint64_t>(static_cast<double>(tiles) * flags.fraction.value_or(1));
    const std::uint64_t most = std::clamp<std::uint64_t>(wanted, 1, kTilesMax);
    const std::uint64_t stride = (tiles + most - 1) / most;
    Progress progress(console, "others",
                      Bytes{profile.other_bytes / std::max<std::uint64_t>(stride, 1)});
    std::uint64_t number = 0;
    std::uint64_t payload = 0;
    for (std::uint32_t i = 0; i < sources.size(); ++i) {
        const OpaqueSource& source = sources[i];
        for (std::uint32_t tile = 0; tile < source.item.tiles(); ++tile) {
            const std::uint64_t run = number / stride;
            if (number++ % stride != draw(flags.seed, kDrawStream, run) % stride) continue;
            ByteVector next(source.item.tile_bytes(tile));
            source.next.read(tile * kOpaqueTileBytes, next);
            ByteVector base(source.base ? next.size() : 0);
            if (source.base) source.base->read(tile * kOpaqueTileBytes, base);
            payload += encode_opaque_tile(i, tile, base, next).size();
            profile.other_coded_bytes += next.size();
            progress.advance(Bytes{next.size()});
        }
    }
    if (profile.other_coded_bytes == 0) return;
    const double scale =
        static_cast<double>(profile.other_bytes) / static_cast<double>(profile.other_coded_bytes);
    profile.other_payload_bytes = static_cast<std::uint64_t>(static_cast<double>(payload) * scale);
}

/// Sizes of all codecs, each proved by decoding.
void measure_codecs(const Console& console, CodecPass& pass, ProfileReport& report) {
    Progress progress(console, "codecs",
                      size_of(Words{pass.stats().words}) * builtin_codecs().size());
    for (const auto& codec : builtin_codecs()) {
        const CodecCheck check = pass.check(*codec);
        report.profile.codecs.push_back({std::string(codec->name()), check.container_bytes});
        std::string failure = check.failure;
        if (check.mismatches > 0)
            failure = fmt::format("{} words differ", format_count(check.mismatches));
        report.proofs.push_back({check.exact(), std::move(failure)});
        progress.advance(size_of(Words{pass.stats().words}));
    }
}

/// The drawn words of both checkpoints.
Result<std::shared_ptr<const WordPair>> read_pair(const Console& console,
                                                  const ProfileFlags& flags,
                                                  const Checkpoint& base,
                                                  const Checkpoint& next,
                                                  const Catalog& catalog) {
    const std::uint64_t total = catalog.words().count;
    const fs::path& name = next.path();
    if (total == 0) {
        return Error{
            ErrorCode::invalid_input,
            "has no BF16 or F16 tensor of one shape in common with " + base.path().string(),
            name.string()};
    }
    REFIT_TRY(base_words, SelectedWeights::select(base, catalog));
    REFIT_TRY(next_words, SelectedWeights::select(next, catalog));
    const auto wanted =
        static_cast<std::uint64_t>(static_cast<double>(total) * flags.fraction.value_or(1));
    const Grid grid(catalog);
    const auto tiles = draw_tiles(catalog, grid, std::min(wanted, kSampleWordsMax), flags.seed);
    if (tiles.empty()) {
        return Error{ErrorCode::invalid_input,
                     fmt::format("{:.3g} % of its {} words is less than a tile",
                                 100 * flags.fraction.value_or(1), format_count(total)),
                     name.string()};
    }
    return std::make_shared<const WordPair>(
        read_tiles(console, catalog, grid, tiles, {base_words, next_words}));
}

Result<std::unique_ptr<OutputFile>> open_output(const ProfileFlags& flags) {
    if (flags.output.empty()) return std::unique_ptr<OutputFile>();
    const fs::path inputs[] = {flags.pair[0], flags.pair[1]};
    REFIT_CHECK(check_output_apart(flags.output, inputs));
    return OutputFile::create(flags.output);
}

Result<ProfileReport> measure(const Console& console, const ProfileFlags& flags) {
    const auto start = std::chrono::steady_clock::now();
    REFIT_TRY(base, Checkpoint::open(flags.pair[0]));
    REFIT_TRY(next, Checkpoint::open(flags.pair[1]));
    auto match = match_checkpoints(*base, *next, false);
    if (!match.has_value()) return in_file(match.error(), flags.pair[1]);
    const Catalog& catalog = match.value().catalog;
    REFIT_TRY(pair, read_pair(console, flags, *base, *next, catalog));
    const std::shared_ptr<Device> device = make_cpu_device(flags.threads);
    CodecPass pass(*device, pair);
    ProfileReport report;
    report.profile = measure_profile(*device, *pair, pass.stats());
    ChangeProfile& profile = report.profile;
    profile.base = name_of(flags.pair[0]);
    profile.next = name_of(flags.pair[1]);
    profile.steps = flags.steps;
    profile.checkpoint_words = catalog.words().count;
    profile.header_bytes = packed_header_bytes(*next);
    measure_codecs(console, pass, report);
    const double fraction = flags.fraction.value_or(1);
    measure_others(console, match.value().opaque, flags, profile);
    report.link = parse_bit_rate(flags.link).value();
    report.link_source = flags.link == kPublishedLink ? kPublishedSource : "as given with --link";
    report.other_tensors = match.value().opaque.size();
    report.seed = flags.seed;
    report.limited = static_cast<double>(profile.checkpoint_words) * fraction >
                     static_cast<double>(kSampleWordsMax);
    report.cpu = cpu_name();
    report.device = device->detail();
    report.wall_seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return report;
}

Result<ExitCode> profile(const Console& console, const ProfileFlags& flags) {
    REFIT_TRY(output, open_output(flags));
    REFIT_TRY(report, measure(console, flags));
    if (output && report.exact()) {
        const std::string text = profile_toml(report.profile);
        if (text.size() > kProfileTextMax) {
            return Error{ErrorCode::unsupported,
                         fmt::format("the profile has {} bytes, the limit is {}", text.size(),
                                     kProfileTextMax),
                         flags.output};
        }
        output->write(as_byte_span(text));
        output->commit();
    }
    for (const std::string& line : profile_lines(report)) console.say(line);
    console.document(profile_document(report));
    return report.exact() ? ExitCode::success : ExitCode::mismatch;
}

}  // namespace

Command add_profile(CLI::App& program, const Console& console) {
    CLI::App* command = program.add_subcommand(
        "profile", "How two of your checkpoints differ, and what a delta of them costs");
    const auto flags = std::make_shared<ProfileFlags>();
    command->add_option("CHECKPOINTS", flags->pair, "The older and the newer checkpoint")
        ->expected(2)
        ->required()
        ->type_name("");
    command
        ->add_option("--steps", flags->steps,
                     "Optimizer steps between the two; with more than one, the change of one step "
                     "is estimated")
        ->check(CLI::Range(std::uint32_t{1}, kNetStepsMax))
        ->capture_default_str();
    command->add_option("-o,--output", flags->output, "The profile to write (.toml)")
        ->type_name("FILE");
    command->add_option("--link", flags->link, "Rate of the link, such as 3Gbit/s")
        ->transform(CLI::Validator(check_link, "RATE"))
        ->type_name("")
        ->capture_default_str();
    command
        ->add_option("--sample", flags->fraction,
                     "At most this fraction of the pair, in whole tiles by kind and layer; 64 Mi "
                     "words at most, which is the default")
        ->transform(CLI::Validator(check_fraction, "FRACTION"))
        ->type_name("");
    command->add_option("--seed", flags->seed, "Of the draw")->capture_default_str();
    command->add_option("--threads", flags->threads, "0: one per usable core")
        ->check(CLI::Range(0, 1024))
        ->capture_default_str();
    return {command, [&console, flags] { return profile(console, *flags); }};
}

}  // namespace refit
