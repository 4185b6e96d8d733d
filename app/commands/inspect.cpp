#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "app/commands/commands.hpp"
#include "app/format.hpp"
#include "app/opaque_text.hpp"
#include "app/run_folder.hpp"
#include "app/run_inspect.hpp"
#include "engine/codec/container.hpp"
#include "workloads/checkpoint.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view kRfdStart = "REFITRFD";

bool starts_as_rfd(const fs::path& path) {
    std::error_code failure;
    if (!fs::is_regular_file(path, failure)) return false;
    std::array<char, kRfdStart.size()> start{};
    std::ifstream file(path, std::ios::binary);
    file.read(start.data(), start.size());
    return file && std::string_view(start.data(), start.size()) == kRfdStart;
}

/// A row of the text result.
void row(const Console& console, std::string_view name, const std::string& value) {
    console.say(fmt::format("{:<18} {}", name, value));
}

Bytes attachment_bytes(const RfdReader& delta) {
    Bytes total;
    for (const Attachment& attachment : delta.attachments())
        total += Bytes{attachment.bytes.size()};
    return total;
}

Status inspect_delta(const Console& console, const fs::path& path) {
    REFIT_TRY(delta, RfdReader::open(path));
    const OpenRecord& open = delta.manifest().open;
    const SealRecord& seal = delta.manifest().seal;
    const std::uint64_t words = delta.catalog().words().count;
    const double per_word = words == 0 ? 0 : 1 / static_cast<double>(words);
    const double changed = static_cast<double>(seal.changed_words) * per_word;
    const OpaqueTotals opaque = add_up(delta.opaque());
    const Bytes coded{seal.payload_bytes - std::min(seal.payload_bytes, opaque.payload.count)};
    const double bits = static_cast<double>(coded.count) * 8 * per_word;
    const bool anchor = open.base_version.is_zero();

    row(console, "delta", path.string() + (anchor ? " (an anchor)" : ""));
    row(console, "codec", open.codec);
    row(console, "tensors", format_count(delta.catalog().tensors().size()));
    row(console, "words", format_count(words));
    row(console, "changed",
        fmt::format("{} ({:.4f} %)", format_count(seal.changed_words), changed * 100));
    row(console, "payload",
        fmt::format("{}, {:.4f} bits per parameter", format_bytes(coded), bits));
    if (!delta.opaque().empty()) row(console, "as bytes", opaque_text(opaque));
    row(console, "file", format_bytes(delta.file_bytes()));
    row(console, "parts", fmt::format("{}, of {} units", seal.parts, seal.units));
    row(console, "chunks",
        fmt::format("{} of at most {}", seal.chunks, format_bytes(Bytes{open.chunk_bytes})));
    row(console, "attachments",
        fmt::format("{}, {} unpacked", delta.attachments().size(),
                    format_bytes(attachment_bytes(delta))));
    row(console, "base version", to_hex(open.base_version));
    row(console, "next version", to_hex(seal.next_version));
    row(console, "sealed id", to_hex(delta.manifest().sealed_id()));

    Json names = Json::array();
    for (const Attachment& attachment : delta.attachments()) names.push_back(attachment.name);
    console.document({{"schema", "refit.inspect/1"},
                      {"kind", "delta"},
                      {"file", path.string()},
                      {"anchor", anchor},
                      {"codec", open.codec},
                      {"tensors", delta.catalog().tensors().size()},
                      {"words", words},
                      {"changed_words", seal.changed_words},
                      {"changed", changed},
                      {"payload_bytes", seal.payload_bytes},
                      {"bits_per_parameter", bits},
                      {"opaque", opaque_document(opaque)},
                      {"file_bytes", delta.file_bytes().count},
                      {"parts", seal.parts},
                      {"units", seal.units},
                      {"chunks", seal.chunks},
                      {"chunk_bytes", open.chunk_bytes},
                      {"attachments", names},
                      {"base_version", to_hex(open.base_version)},
                      {"next_version", to_hex(seal.next_version)},
                      {"sealed_id", to_hex(delta.manifest().sealed_id())}});
    return Done{};
}

struct TypeTotals {
    std::uint64_t tensors = 0;
    std::uint64_t bytes = 0;
};

Status inspect_checkpoint(const Console& console, const fs::path& path) {
    REFIT_TRY(checkpoint, Checkpoint::open(path));
    std::map<std::string, TypeTotals> types;
    std::uint64_t tensors = 0;
    Json files = Json::array();
    for (const CheckpointFile& file : checkpoint->files()) {
        tensors += file.tensors.size();
        for (const FileTensor& tensor : file.tensors) {
            ++types[tensor.dtype].tensors;
            types[tensor.dtype].bytes += tensor.end - tensor.begin;
        }
        files.push_back({{"name", file.name},
                         {"tensors", file.tensors.size()},
                         {"header_bytes", file.header.size()},
                         {"data_bytes", file.data_bytes}});
    }
    row(console, "checkpoint", path.string());
    row(console, "files", format_count(checkpoint->files().size()));
    row(console, "tensors", format_count(tensors));
    Json by_type = Json::object();
    for (const auto& [type, totals] : types) {
        row(console, type,
            fmt::format("{} tensors, {}", format_count(totals.tensors),
                        format_bytes(Bytes{totals.bytes})));
        by_type[type] = {{"tensors", totals.tensors}, {"bytes", totals.bytes}};
    }
    const std::uint64_t words = checkpoint->catalog().words().count;
    row(console, "16-bit words", format_count(words));
    Json others = Json::array();
    std::uint64_t other_bytes = 0;
    for (const OtherFile& other : checkpoint->other_files()) {
        others.push_back({{"name", other.name}, {"bytes", other.bytes}});
        other_bytes += other.bytes;
    }
    if (checkpoint->is_directory()) {
        row(console, "other files",
            fmt::format("{}, {}; {} folders", format_count(others.size()),
                        format_bytes(Bytes{other_bytes}),
                        format_count(checkpoint->other_folders().size())));
    }
    row(console, "catalog", to_hex(checkpoint->catalog().id()));
    console.document({{"schema", "refit.inspect/1"},
                      {"kind", checkpoint->is_directory() ? "directory" : "safetensors"},
                      {"file", path.string()},
                      {"tensors", tensors},
                      {"words", words},
                      {"types", by_type},
                      {"files", files},
                      {"other_files", others},
                      {"other_folders", checkpoint->other_folders()},
                      {"catalog", to_hex(checkpoint->catalog().id())}});
    return Done{};
}

}  // namespace

Command add_inspect(CLI::App& program, const Console& console) {
    CLI::App* command =
        program.add_subcommand("inspect", "Say what a delta, a checkpoint or a run holds");
    const auto file = std::make_shared<std::string>();
    command
        ->add_option("FILE", *file,
                     "A .rfd, a .safetensors, a checkpoint or run folder, a recording; none: the "
                     "newest run")
        ->type_name("");
    return {command, [&console, file]() -> Result<ExitCode> {
                if (file->empty()) {
                    REFIT_TRY(newest, newest_run());
                    *file = newest.string();
                }
                if (starts_as_rfd(*file)) {
                    REFIT_CHECK(inspect_delta(console, *file));
                } else if (is_run(*file)) {
                    REFIT_CHECK(inspect_run(console, *file));
                } else {
                    REFIT_CHECK(inspect_checkpoint(console, *file));
                }
                return ExitCode::success;
            }};
}

}  // namespace refit
