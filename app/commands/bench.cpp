#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/backend.hpp"
#include "app/bench/codec_rows.hpp"
#include "app/bench/compute_report.hpp"
#include "app/bench/kernel_report.hpp"
#include "app/bench/net_bench.hpp"
#include "app/bench/plot.hpp"
#include "app/bench/report.hpp"
#include "app/checkpoints.hpp"
#include "app/commands/commands.hpp"
#include "app/fraction.hpp"
#include "app/host.hpp"
#include "app/output_file.hpp"
#include "scenarios/scenario.hpp"
#include "scenarios/shipped.hpp"

namespace refit {
namespace {

constexpr std::uint64_t kCodecWords = std::uint64_t{16} << 20;

struct BenchFlags {
    std::string what = "codec";
    std::vector<std::string> library;  // flags for Google Benchmark
    std::string base;
    std::string next;
    std::optional<double> fraction;
    std::vector<std::string> codecs;
    std::string model = "qwen3-30b-a3b";
    std::string time = "16s";
    std::optional<std::string> plot;
    std::uint64_t words = 0;  // 0: as many as the kind of bench usually takes
    std::string backend = "auto";
    std::string devices;
    NetFlags net;
    std::uint64_t seed = PairSpec{}.seed;
    unsigned threads = 0;
};

/// "16Mi", "64Ki" or plain digits become plain digits within the limits.
std::string check_words(std::string& text) {
    std::uint64_t count = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, failure] = std::from_chars(text.data(), end, count);
    const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
    const unsigned shift = unit == "Ki" ? 10 : unit == "Mi" ? 20 : 0;
    const bool number = failure == std::errc{} && (unit.empty() || shift > 0);
    if (number && count <= kSampleWordsMax >> shift && count << shift >= kPairWordsMin) {
        text = std::to_string(count << shift);
        return {};
    }
    return fmt::format("takes {}Ki to {}Mi words, not '{}'", kPairWordsMin >> 10,
                       kSampleWordsMax >> 20, text);
}

/// Flags of one kind of bench that were given to the other.
void check_kind(const CLI::App& command, const BenchFlags& flags) {
    static constexpr std::pair<const char*, std::string_view> kKinds[] = {
        {"FLAGS", "codec"},           {"--base", "codec"},      {"--new", "codec"},
        {"--sample", "codec"},        {"--plot", "codec"},      {"--threads", "codec"},
        {"--codec", "codec compute"}, {"--model", "compute"},   {"--time", "compute"},
        {"--words", "codec kernels"}, {"--backend", "kernels"}, {"--devices", "kernels"},
        {"--ranks", "net"},           {"--max", "net"},         {"--nccl", "net"},
        {"--cuda-libs", "net"},       {"--share-gpu", "net"}};
    for (const auto& [name, kinds] : kKinds)
        if (command.count(name) > 0 && kinds.find(flags.what) == std::string_view::npos)
            throw CLI::ValidationError(fmt::format("{} is not for bench {}", name, flags.what));
}

/// Without a name the first flag behind -- stands in its place.
void check_positionals(BenchFlags& flags) {
    if (flags.what.starts_with('-'))
        flags.library.insert(flags.library.begin(), std::exchange(flags.what, "codec"));
    static constexpr std::string_view kKnown[] = {"codec", "compute", "kernels", "net"};
    if (std::ranges::find(kKnown, flags.what) == std::end(kKnown))
        throw CLI::ValidationError("knows codec, compute, kernels and net, not " + flags.what);
    if (flags.net.share_gpu && !flags.net.nccl)
        throw CLI::ValidationError("--share-gpu needs --nccl");
    for (const std::string& flag : flags.library)
        if (!flag.starts_with("--benchmark_"))
            throw CLI::ValidationError("after -- come flags --benchmark_..., not " + flag);
}

Result<std::vector<BenchSample>> choose_samples(const Console& console,
                                                const std::shared_ptr<Device>& device,
                                                const BenchFlags& flags) {
    if (flags.base.empty())
        return built_in_samples(console, device, flags.words > 0 ? flags.words : kCodecWords,
                                flags.seed);
    REFIT_TRY(sample, file_sample(console, {flags.base, flags.next, flags.fraction, flags.seed}));
    return std::vector<BenchSample>{sample};
}

/// Before anything is measured, so that a name that cannot be written costs no time.
Result<std::unique_ptr<OutputFile>> open_plot(const BenchFlags& flags) {
    if (!flags.plot.has_value()) return std::unique_ptr<OutputFile>();
    const std::filesystem::path inputs[] = {flags.base, flags.next};
    REFIT_CHECK(check_output_apart(*flags.plot, inputs));
    return OutputFile::create(*flags.plot);
}

Result<ExitCode> bench(const Console& console, const BenchFlags& flags) {
    const auto start = std::chrono::steady_clock::now();
    std::vector<const Codec*> codecs;
    for (const auto& codec : builtin_codecs()) {
        const auto& names = flags.codecs;
        if (names.empty() || std::ranges::find(names, codec->name()) != names.end())
            codecs.push_back(codec.get());
    }
    REFIT_TRY(plot, open_plot(flags));
    const std::shared_ptr<Device> device = make_cpu_device(flags.threads);
    REFIT_TRY(samples, choose_samples(console, device, flags));
    const std::vector<BenchRow> rows =
        measure_codecs(console, *device, samples, codecs, flags.library);
    BenchHost host{cpu_name(), device->detail(), device->lanes(), 0};
    host.wall_seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    for (const std::string& line : bench_table(samples, rows, host)) console.say(line);
    console.document(bench_document(samples, rows, host));
    const bool exact = std::ranges::all_of(rows, &BenchRow::exact);
    if (plot && exact) {
        plot->write(as_byte_span(bench_plot(samples, rows, host)));
        plot->commit();
    }
    return exact ? ExitCode::success : ExitCode::mismatch;
}

Result<ExitCode> bench_compute(const Console& console, const BenchFlags& flags) {
    const Nanoseconds start = host_now();
    REFIT_TRY(time, parse_duration(flags.time));
    if (time.count == 0 || time > 600_s)
        return Error{ErrorCode::invalid_input, "takes a time over 0 and up to 10 min", "--time"};
    REFIT_TRY(file, find_architecture(flags.model, {}, console.data_root));
    REFIT_TRY(architecture, load_architecture(file));
    REFIT_TRY(codec, find_codec(flags.codecs.empty() ? "xc" : flags.codecs.front()));
    PairSpec pair;
    pair.profile = *find_profile("adam");
    pair.words = kUnitWords;
    pair.seed = flags.seed;
    const ComputeModel model{architecture, {}, kLoadTokens};
    ComputeBench bench;
    bench.model = architecture.name;
    bench.tokens = model.tokens;
    bench.codec = codec->name();
    bench.change =
        fmt::format("{}, {:g} % of words", pair.profile.name, pair.changed_per_million / 1e4);
    // Half of it for the products, a quarter for what is stolen of each of two loads.
    bench.products = measure_products(console, model, Nanoseconds{time.count / 2});
    const auto builtin = make_cpu_gemm();
    const auto onednn = make_onednn_gemm();
    for (Gemm* gemm : {builtin.get(), onednn.get()})
        if (gemm != nullptr)
            bench.stolen.push_back(measure_compute(console, *gemm, model, {*codec, pair},
                                                   Nanoseconds{time.count / 4}));
    bench.gpu = measure_gpu(console, model, {*codec, pair}, Nanoseconds{time.count / 4});
    const BenchHost host{cpu_name(), gemm_text(*builtin), bench.stolen.front().cores,
                         to_seconds(host_now() - start)};
    for (const std::string& line : compute_table(bench, host)) console.say(line);
    console.document(compute_document(bench, host));
    return bench.exact() ? ExitCode::success : ExitCode::mismatch;
}

Result<ExitCode> bench_kernels(const Console& console, const BenchFlags& flags) {
    const Nanoseconds start = host_now();
    if (!flags.devices.empty()) {
        const auto devices = parse_device_list(flags.devices);
        if (!devices.has_value()) return devices.error();
    }
    const std::vector<KernelTable> tables =
        measure_kernels(console, {flags.backend, flags.devices, flags.words, flags.seed});
    const BenchHost host{cpu_name(), tables.front().detail, 1, to_seconds(host_now() - start)};
    for (const std::string& line : kernel_lines(tables, host)) console.say(line);
    console.document(kernel_document(tables, host));
    return std::ranges::all_of(tables, &KernelTable::exact) ? ExitCode::success
                                                            : ExitCode::mismatch;
}

void add_kernel_flags(CLI::App& command, BenchFlags& flags) {
    command
        .add_option("--backend", flags.backend,
                    "Of kernels: auto, cpu, cuda, or simt, which proves bits and has no speed")
        ->check(CLI::IsMember({"auto", "cpu", "cuda", "simt"}))
        ->capture_default_str();
    command
        .add_option("--devices", flags.devices,
                    "Of kernels: GPUs by number, 0-7 or 0,2,5 (default: the first)")
        ->type_name("LIST");
}

}  // namespace

Command add_bench(CLI::App& program, const Console& console) {
    CLI::App* command = program.add_subcommand(
        "bench",
        "Size and speed of every codec beside this machine's compare and copy; or the "
        "speed of a model's matrix products, and what codec work beside them takes; or every "
        "kernel beside what it must move and a copy; or gather and fan-out between ranks");
    const auto flags = std::make_shared<BenchFlags>();
    command->add_option("WHAT", flags->what, "codec, compute, kernels or net")
        ->capture_default_str()
        ->type_name("");
    command->add_option("FLAGS", flags->library, "Behind --: flags for Google Benchmark")
        ->type_name("");
    CLI::Option* base =
        command->add_option("--base", flags->base, "Your own checkpoint pair: before");
    CLI::Option* next = command->add_option("--new", flags->next, "and after");
    CLI::Option* fraction =
        command
            ->add_option("--sample", flags->fraction,
                         "At most this fraction of the pair, in whole tiles by kind and layer; "
                         "64 Mi words at most, which is the default")
            ->transform(CLI::Validator(check_fraction, "FRACTION"))
            ->type_name("");
    CLI::Option* words = command
                             ->add_option("--words", flags->words,
                                          "Without files: words of the made-up model, 16Ki to 64Mi "
                                          "(default 16Mi; of kernels 1Mi and 16Mi, 256Mi on a "
                                          "GPU)")
                             ->transform(CLI::Validator(check_words, "WORDS"))
                             ->type_name("");
    std::vector<std::string> codecs;
    for (const auto& codec : builtin_codecs()) codecs.emplace_back(codec->name());
    command->add_option("--codec", flags->codecs, "Only this one; repeatable")
        ->expected(1)
        ->allow_extra_args(false)  // or it would swallow the --
        ->take_all()
        ->check(CLI::IsMember(codecs));
    command->add_option("--plot", flags->plot, "Draw the rows into this SVG file, if all are exact")
        ->type_name("FILE");
    command
        ->add_option("--model", flags->model,
                     "Of compute: an architecture (refit list models) or a config.json")
        ->capture_default_str();
    command->add_option("--time", flags->time, "Of compute: about so long for all rows")
        ->capture_default_str();
    add_kernel_flags(*command, *flags);
    command->add_option("--seed", flags->seed, "Of made-up words and of the draw")
        ->capture_default_str();
    command->add_option("--threads", flags->threads, "0: one per usable core")
        ->check(CLI::Range(0, 1024))
        ->capture_default_str();
    add_net_flags(*command, flags->net);
    base->needs(next);
    next->needs(base);
    fraction->needs(base);
    words->excludes(base);
    command->callback([command, flags] {
        check_positionals(*flags);
        check_kind(*command, *flags);
    });
    return {command, [&console, flags] {
                if (flags->what == "kernels") return bench_kernels(console, *flags);
                if (flags->what == "net") return bench_net(console, flags->net, flags->seed);
                return flags->what == "compute" ? bench_compute(console, *flags)
                                                : bench(console, *flags);
            }};
}

}  // namespace refit
