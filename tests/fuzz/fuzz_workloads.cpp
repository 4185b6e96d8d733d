#include <algorithm>

#include "tests/fuzz/targets.hpp"
#include "workloads/architecture.hpp"
#include "workloads/change_profile.hpp"
#include "workloads/checkpoint_layout.hpp"
#include "workloads/safetensors.hpp"
#include "workloads/verdicts.hpp"

namespace refit::fuzz {

namespace {

/// An error is one line that says something.
void check_error(const Error& error) {
    REFIT_ASSERT(!error.what.empty());
    REFIT_ASSERT(error.what.find_first_of(std::string_view("\n\r\0", 3)) == error.what.npos);
}

template <class T>
bool accepted(const Result<T>& result) {
    if (!result.has_value()) check_error(result.error());
    return result.has_value();
}

}  // namespace

int fuzz_safetensors_header(ByteSpan bytes) {
    ByteWriter header;
    header.write(std::uint64_t{bytes.size()});
    header.append(bytes);
    const auto file = make_checkpoint_file("model.safetensors", header.bytes());
    if (!accepted(file)) return 0;
    std::uint64_t end = 0;
    for (const FileTensor& tensor : file.value().tensors) {
        REFIT_ASSERT(tensor.begin == end && tensor.end >= tensor.begin);
        REFIT_ASSERT(dtype_bits(tensor.dtype) != 0);
        end = tensor.end;
    }
    REFIT_ASSERT(file.value().data_bytes == end);
    const std::vector<CheckpointFile> files{file.value()};
    const auto layout = lay_out(files);
    if (!accepted(layout)) return 0;
    REFIT_ASSERT(layout.value().tensors.size() == files[0].tensors.size());
    REFIT_ASSERT(layout.value().word_tensors.size() == layout.value().catalog.tensors().size());
    return 0;
}

int fuzz_safetensors_index(ByteSpan bytes) {
    const auto map = parse_safetensors_index(bytes);
    if (!accepted(map)) return 0;
    REFIT_ASSERT(std::ranges::is_sorted(map.value()));
    for (const auto& [tensor, file] : map.value()) {
        const bool stays = file.find_first_of("/\\") == file.npos && !file.starts_with(".");
        REFIT_ASSERT(stays && file.ends_with(".safetensors"));
    }
    return 0;
}

namespace {

/// Numbers that were accepted go together and stay countable.
void check_accepted(const Result<Architecture>& architecture) {
    if (!accepted(architecture)) return;
    REFIT_ASSERT(check_architecture(architecture.value()).has_value());
    const ArchitectureTotals sums = totals(architecture.value());
    REFIT_ASSERT(sums.all.parameters > 0 && sums.all.parameters < std::uint64_t{1} << 48);
    REFIT_ASSERT(sums.all.active <= sums.all.parameters);
}

}  // namespace

int fuzz_architecture(ByteSpan bytes) {
    check_accepted(parse_architecture(as_text(bytes)));
    return 0;
}

int fuzz_model_config(ByteSpan bytes) {
    check_accepted(parse_architecture_config(as_text(bytes)));
    return 0;
}

int fuzz_change_profile(ByteSpan bytes) {
    const auto profile = parse_profile(as_text(bytes));
    if (!accepted(profile)) return 0;
    REFIT_ASSERT(profile.value().changed <= profile.value().words);
    // What was accepted is written again in a form that is accepted.
    REFIT_ASSERT(parse_profile(profile_toml(profile.value())).has_value());
    return 0;
}

int fuzz_published(ByteSpan bytes) {
    const auto rows = parse_published(as_text(bytes), "p.csv");
    if (!accepted(rows)) return 0;
    OurFigures ours;
    ours.bits_per_parameter = [](const NeededFigure& figure) { return 8 * figure.changed + 1e-3; };
    std::size_t judged = 0;
    for (const PublishedRow& row : rows.value()) {
        REFIT_ASSERT(!row.id.empty());
        ++judged;
    }
    REFIT_ASSERT(verdicts(rows.value(), ours).size() >= judged);
    return 0;
}

std::vector<Target> workloads_targets() {
    return {{"safetensors-header", 112, fuzz_safetensors_header},
            {"safetensors-index", 80, fuzz_safetensors_index},
            {"architecture", 1024, fuzz_architecture},
            {"model-config", 512, fuzz_model_config},
            {"change-profile", 2048, fuzz_change_profile},
            {"published", 1024, fuzz_published}};
}

}  // namespace refit::fuzz
