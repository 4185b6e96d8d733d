#include "app/bench/kernel_floors.hpp"

namespace refit {
namespace {

/// Bytes of a staging list, read or written: 20 a segment, 2 a position, 2 a word.
constexpr FloorBytes with_list(FloorBytes bytes) {
    bytes.segment += 20;
    bytes.position += 2;
    bytes.stored += 2;
    return bytes;
}

constexpr KernelFloor kFloors[] = {
    {BatchOperation::copy, "copy", "read and write 2 B a word", {.word = 4}, {}},
    {BatchOperation::compare, "compare", "read base and next", {.word = 4}, {"compare_words"}},
    {BatchOperation::diff,
     "diff",
     "read base and next, write the list",
     with_list({.word = 4}),
     {"diff_mark", "scan_staged", "diff_emit"}},
    {BatchOperation::stage,
     "stage",
     "read 6 B a mask and the base's sectors with one, write the list",
     with_list({.changed = 6, .sector = 32}),
     {"stage_count", "scan_staged", "stage_emit"}},
    {BatchOperation::overwrite,
     "overwrite",
     "read the list, read and write the sectors with a change",
     with_list({.sector = 64}),
     {"overwrite_staged"}},
    {BatchOperation::gather, "gather", "read and write 2 B a word", {.word = 4}, {"gather_boxes"}},
    {BatchOperation::scatter,
     "scatter",
     "read and write 2 B a word",
     {.word = 4},
     {"scatter_boxes"}},
    {BatchOperation::digest, "digest", "read 2 B a word", {.word = 2}, {"digest_boxes"}},
    {BatchOperation::digest_change,
     "digest_change",
     "read the list and the base's sectors with a change",
     with_list({.sector = 32}),
     {"digest_staged"}},
    {BatchOperation::xc_sample,
     "xc_sample",
     "read 256 words of every fourth segment",
     {.segment = 128},
     {"xc_sample"}},
    {BatchOperation::xc_scan,
     "xc_scan",
     "read base and next, write a bit a word, 4 B a change, 132 B a segment",
     {.word = 4.125, .changed = 4, .segment = 132},
     {"diff_mark", "scan_clear", "scan_counts", "xc_list"}},
    {BatchOperation::xc_encode,
     "xc_encode",
     "read segments with a change, a bit a word of them, 4 B a change; write the payload",
     {.changing_word = 2.125, .changed = 4, .segment = 1, .payload = 1},
     {"xc_encode", "scan_counts", "xc_gather"}},
    {BatchOperation::xc_decode,
     "xc_decode",
     "read payload and segments with a change, write the list",
     with_list({.changing_word = 2, .payload = 1}),
     {"xc_decode", "scan_staged", "xc_emit"}},
    {BatchOperation::field, "field", "write base and next", {.word = 4}, {"fill_field"}},
};

constexpr std::string_view kSassCompiler =
#define REFIT_SASS_COMPILER(text) text
#define REFIT_SASS_COUNT(...)
#include "kernels/cuda/sass_counts.inl"
#undef REFIT_SASS_COMPILER
#undef REFIT_SASS_COUNT
    ;

constexpr SassCount kSassCounts[] = {
#define REFIT_SASS_COMPILER(text)
#define REFIT_SASS_COUNT(...) {__VA_ARGS__},
#include "kernels/cuda/sass_counts.inl"
#undef REFIT_SASS_COMPILER
#undef REFIT_SASS_COUNT
};

}  // namespace

std::span<const KernelFloor> kernel_floors() { return kFloors; }

double floor_bytes(const KernelFloor& floor, const KernelCounts& counts) {
    const FloorBytes& b = floor.bytes;
    const auto of = [](double bytes, std::uint64_t count) {
        return bytes * static_cast<double>(count);
    };
    return of(b.word, counts.words) + of(b.changing_word, counts.changing_words) +
           of(b.changed, counts.changed) + of(b.segment, counts.segments) +
           of(b.sector, counts.sectors) + of(b.position, counts.positions) +
           of(b.stored, counts.stored) + of(b.payload, counts.payload_bytes);
}

std::span<const SassCount> sass_counts() { return kSassCounts; }
std::string_view sass_compiler() { return kSassCompiler; }

OperationSass operation_sass(const KernelFloor& floor, int architecture) {
    OperationSass sum;
    for (const std::string_view kernel : floor.kernels) {
        for (const SassCount& count : kSassCounts) {
            if (count.kernel != kernel || count.architecture != architecture) continue;
            sum.instructions += count.instructions;
            sum.per_word += count.loop_per_word;
        }
    }
    return sum;
}

}  // namespace refit
