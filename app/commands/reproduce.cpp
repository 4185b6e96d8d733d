#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "app/commands/commands.hpp"
#include "app/host.hpp"
#include "app/output_file.hpp"
#include "app/reproduce/report.hpp"
#include "app/run_plan.hpp"
#include "scenarios/shipped.hpp"
#include "workloads/verdict_rules.hpp"

namespace refit {
namespace {

constexpr std::uint64_t kQuickWords = std::uint64_t{16} << 20;  // two tiles a stratum are more
constexpr std::uint64_t kAllWords = std::uint64_t{256} << 20;
constexpr const char* kFiguresModel = "qwen3-30b-a3b";  // whose bits verdicts rest on
constexpr const char* kFixedCost = "nemorl-zmq";

struct ReproduceFlags {
    std::vector<std::string> names;
    bool all = false;
    bool quick = false;
    std::string out;
    std::string markdown;
    std::string commit;
    std::uint64_t seed = 1;
    unsigned threads = 0;
};

ReproduceSpec spec_of(const ReproduceFlags& flags) {
    ReproduceSpec spec;
    spec.profiles = {"adam", "real", "uniform", "constant-density", "clustered", "moe"};
    spec.codecs = {"full",     "full-zstd",    "index-value", "coo-zstd",
                   "xor-zstd", "gap-xor-zstd", "cf",          "xc"};
    spec.seed = flags.seed;
    return spec;
}

Result<std::vector<PublishedRow>> rows_of(const ReproduceFlags& flags, const Console& console) {
    REFIT_TRY(rows, load_published(console.data_root / "workloads" / "published.csv"));
    if (flags.names.empty()) return rows;
    for (const std::string& name : flags.names) {
        const bool known =
            std::ranges::any_of(rows, [&](const PublishedRow& row) { return row.id == name; });
        if (!known)
            return Error{ErrorCode::invalid_input,
                         "no published figure has this name: see refit list published", name};
    }
    return rows;
}

Result<FixedCost> fixed_cost(const std::vector<PublishedRow>& rows) {
    const auto fit = fit_time(rows, kFixedCost);
    if (!fit)
        return Error{ErrorCode::invalid_input,
                     "has no points of the time fit " + std::string(kFixedCost)};
    return FixedCost{
        fit->fixed_seconds,
        fmt::format("declared: the line through the {} points of {}", fit->points, kFixedCost)};
}

/// The measurements verdicts ask for, then the verdicts.
Result<std::vector<Verdict>> judge(Study& study,
                                   const std::vector<PublishedRow>& rows,
                                   const ReproduceFlags& flags) {
    std::vector<std::pair<NeededFigure, double>> known;
    for (const NeededFigure& figure : needed(rows)) {
        REFIT_TRY(delta, study.bits(kFiguresModel, {figure.profile, figure.changed, flags.seed},
                                    figure.codec));
        known.emplace_back(figure, delta->row.bits_per_parameter());
    }
    OurFigures ours;
    ours.bits_per_parameter = [&known](const NeededFigure& figure) {
        const auto found =
            std::ranges::find(known, figure, &std::pair<NeededFigure, double>::first);
        REFIT_ASSERT(found != known.end());
        return found->second;
    };
    std::vector<Verdict> all = verdicts(rows, ours);
    if (!flags.names.empty()) {
        std::erase_if(all, [&](const Verdict& verdict) {
            return std::ranges::find(flags.names, verdict.id) == flags.names.end();
        });
    }
    return all;
}

Status write_folder(const std::filesystem::path& folder, const ReproduceResult& result) {
    std::filesystem::create_directories(folder);
    const auto write = [&folder](const std::string& name, const std::string& text) -> Status {
        std::ofstream file(folder / name, std::ios::binary);
        file << text;
        file.flush();
        if (!file) throw MachineError((folder / name).string() + ": cannot be written");
        return Done{};
    };
    const nlohmann::ordered_json document = reproduce_json(result);
    REFIT_CHECK(write("reproduce.json", document.dump(2) + "\n"));
    REFIT_CHECK(write("README.md", reproduce_page(document)));
    REFIT_CHECK(write("reproduce.svg", reproduce_picture(document)));
    for (const NamedText& csv : reproduce_csv(result)) REFIT_CHECK(write(csv.name, csv.text));
    return Done{};
}

/// The tables of a document that was written before.
Result<ExitCode> print_markdown(const Console& console, const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    const auto document = nlohmann::ordered_json::parse(stream, nullptr, false);
    if (!document.is_object() || document.value("schema", "") != "refit.reproduce/1")
        return Error{ErrorCode::invalid_input, "is no document of refit reproduce", file.string()};
    try {
        console.say(reproduce_summary(document));
    } catch (const nlohmann::json::exception&) {
        return Error{ErrorCode::corrupt, "lacks a key of refit.reproduce/1", file.string()};
    }
    return ExitCode::success;
}

Result<ExitCode> reproduce(const Console& console, const ReproduceFlags& flags) {
    if (!flags.markdown.empty()) return print_markdown(console, flags.markdown);
    const Nanoseconds start = host_now();
    REFIT_TRY(rows, rows_of(flags, console));
    REFIT_TRY(file, find_scenario("model", console.data_root));
    REFIT_TRY(scenario, load_scenario(file, console.data_root, {}));
    REFIT_TRY(regions_file, find_scenario("first", console.data_root));
    REFIT_TRY(regions, load_scenario(regions_file, console.data_root,
                                     {{"delta.chunk", "8 MiB"}, {"stands_for_parameters", "0"}}));
    const auto device = make_cpu_device(flags.threads);
    Study study(console, *device, scenario, Words{flags.all ? kAllWords : kQuickWords});

    ReproduceResult result;
    result.spec = spec_of(flags);
    REFIT_TRY(fixed, fixed_cost(rows));
    result.spec.fixed = fixed;
    REFIT_TRY(tables, make_tables(study, result.spec, regions,
                                  [&console](const std::string& line) { console.note(line); }));
    result.tables = std::move(tables);
    REFIT_TRY(verdicts, judge(study, rows, flags));
    result.verdicts = std::move(verdicts);
    result.link_bits_per_second = scenario.topology.links.front().rate.count;
    result.link_source = scenario.topology.links.front().source;
    result.declared_rates = declared_rates(scenario.fleet);
    result.words_sampled = study.words_sampled();
    result.host.cpu = cpu_name();
    result.host.device = device->detail();
    result.host.version = REFIT_VERSION;
    result.commit = flags.commit;
    result.host.wall_seconds = to_seconds(host_now() - start);
    if (!flags.out.empty()) REFIT_CHECK(write_folder(flags.out, result));
    console.document(reproduce_json(result));
    for (const std::string& line : reproduce_text(result)) console.say(line);
    return ExitCode::success;
}

}  // namespace

Command add_reproduce(CLI::App& program, const Console& console) {
    CLI::App* command = program.add_subcommand(
        "reproduce", "Published refit figures beside ours: what is true, and what it is made of");
    const auto flags = std::make_shared<ReproduceFlags>();
    command->add_option("NAME", flags->names, "Only verdicts on these: refit list published")
        ->type_name("");
    CLI::Option* quick = command->add_flag("--quick", flags->quick, "Small samples: the default");
    command->add_flag("--all", flags->all, "Large samples: narrower intervals")->excludes(quick);
    command->add_option("--out", flags->out, "Write the document and its tables into this folder");
    command->add_option("--markdown", flags->markdown,
                        "Print what README.md shows of a document, and measure nothing");
    command->add_option("--commit", flags->commit, "Of the program: noted in the document");
    command->add_option("--seed", flags->seed, "Of made-up words and of the draw")
        ->capture_default_str();
    command->add_option("--threads", flags->threads, "0: one per usable core")
        ->check(CLI::Range(0, 1024))
        ->capture_default_str();
    return {command, [&console, flags] { return reproduce(console, *flags); }};
}

}  // namespace refit
