#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/commands/commands.hpp"
#include "app/kept_run.hpp"
#include "app/output_file.hpp"
#include "viz/exports/tables.hpp"
#include "viz/exports/trace.hpp"
#include "viz/report/report.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;

struct Format {
    std::string name;
    const char* file;  // where it goes without -o, in the folder of the run
    std::function<Status(const Console&, const SavedRun&, std::ostream&)> write;
};

Status write_report(const Console& console, const SavedRun& run, std::ostream& out) {
    REFIT_TRY(published, load_published(console.data_root / "workloads" / "published.csv"));
    write_html(run, comparable(published, run.record), out);
    return Done{};
}

std::vector<Format> formats() {
    const auto plain = [](void (*write)(const SavedRun&, std::ostream&)) {
        return [write](const Console&, const SavedRun& run, std::ostream& out) -> Status {
            write(run, out);
            return Done{};
        };
    };
    return {{"html", "report.html", write_report},
            {"trace", "trace.json", plain(write_trace)},
            {"csv", "record.csv", plain(write_csv)},
            {"prom", "refit.prom", plain(write_prometheus)},
            {"md", "report.md", plain(write_markdown)}};
}

struct Flags {
    std::string run;
    std::string format = "html";
    std::string out;
};

Result<ExitCode> report(const Console& console, const Flags& flags) {
    REFIT_TRY(kept, open_kept_run(console, flags.run));
    const auto& [folder, run] = kept;
    const std::vector<Format> known = formats();
    const Format& format = *std::ranges::find(known, flags.format, &Format::name);
    std::ostringstream text;
    REFIT_CHECK(format.write(console, run, text));
    const fs::path target = flags.out.empty() ? folder / format.file : fs::path(flags.out);
    REFIT_TRY(file, OutputFile::create(target));
    file->write(as_byte_span(text.view()));
    file->commit();
    console.document({{"schema", "refit.report/1"},
                      {"run", folder.string()},
                      {"format", format.name},
                      {"output", target.string()},
                      {"bytes", text.view().size()},
                      {"events", run.recording.timeline.events().size()},
                      {"missing", run.missing}});
    console.say("wrote " + target.string());
    return ExitCode::success;
}

}  // namespace

Command add_report(CLI::App& program, const Console& console) {
    CLI::App* command = program.add_subcommand("report",
                                               "A kept run as a file to pass on: a page that plays "
                                               "it, a trace for Perfetto, tables, metrics");
    const auto flags = std::make_shared<Flags>();
    command->add_option("RUN_DIR", flags->run, "A run's folder; the newest kept run by default")
        ->type_name("");
    std::vector<std::string> names;
    for (const Format& format : formats()) names.push_back(format.name);
    command
        ->add_option(
            "--format", flags->format,
            "html (a page that plays the run), trace (Perfetto), csv, md, prom (Prometheus)")
        ->check(CLI::IsMember(names))
        ->capture_default_str();
    command->add_option("-o", flags->out, "Where to; into the run's folder by default")
        ->type_name("FILE");
    return {command, [&console, flags] { return report(console, *flags); }};
}

}  // namespace refit
