#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "app/commands/commands.hpp"
#include "app/run_folder.hpp"
#include "viz/comparison.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct Flags {
    std::string a;
    std::string b;
    bool all = false;
};

/// Of a document that --json printed, or of a run's folder.
Result<Json> load_document(const fs::path& path) {
    std::error_code absent;
    const fs::path file = fs::is_directory(path, absent) ? path / kRecordFile : path;
    if (!fs::is_regular_file(file, absent))
        return Error{ErrorCode::not_found, "no such document", file.string()};
    std::ifstream stream(file, std::ios::binary);
    Json document = Json::parse(stream, nullptr, false);
    if (!document.is_object() || !document.contains("schema") || !document["schema"].is_string())
        return Error{ErrorCode::corrupt, "is no document of refit --json", file.string()};
    return document;
}

std::string number(double value) { return fmt::format("{:.6g}", value); }

Json document_of(const Flags& flags, const Comparison& comparison, const std::string& schema) {
    Json values = Json::array();
    for (const ComparedValue& value : comparison.values) {
        Json row = {{"key", value.key}, {"a", value.a}, {"b", value.b}};
        row["ratio"] = value.ratio ? Json(*value.ratio) : Json();
        if (!value.provenance.empty()) {
            row["unit"] = value.unit;
            row["provenance"] = value.provenance;
        }
        if (value.ratio_ci95)
            row["ratio_ci95"] = {value.ratio_ci95->first, value.ratio_ci95->second};
        row["differs"] = value.differs;
        values.push_back(std::move(row));
    }
    Json texts = Json::array();
    for (const ComparedText& text : comparison.texts)
        texts.push_back({{"key", text.key}, {"a", text.a}, {"b", text.b}});
    return {{"schema", "refit.compare/1"},
            {"of", schema},
            {"a", flags.a},
            {"b", flags.b},
            {"values", values},
            {"texts", texts}};
}

/// Figures, and of the plain numbers those that differ; with --all every number.
bool worth_a_line(const ComparedValue& value, bool all) {
    return all || !value.provenance.empty() || value.differs;
}

void say_comparison(const Console& console, const Flags& flags, const Comparison& comparison) {
    constexpr std::string_view kRow = "{:<44} {:>14} {:>14} {:>10}  {}";
    for (const ComparedText& text : comparison.texts)
        console.say(fmt::format("{:<44} {} | {}", text.key, text.a, text.b));
    console.say(fmt::format(kRow, "", "a", "b", "b / a", "95 %, provenance"));
    for (const ComparedValue& value : comparison.values) {
        if (!worth_a_line(value, flags.all)) continue;
        std::string more;
        if (value.ratio_ci95)
            more = fmt::format("{} .. {}, ", number(value.ratio_ci95->first),
                               number(value.ratio_ci95->second));
        more += value.provenance;
        const std::string name = value.unit.empty() || value.unit == "1"
                                     ? value.key
                                     : fmt::format("{} [{}]", value.key, value.unit);
        const std::string ratio = !value.differs ? "=" : value.ratio ? number(*value.ratio) : "-";
        console.say(fmt::format(kRow, name, number(value.a), number(value.b), ratio, more));
    }
}

Result<ExitCode> compare(const Console& console, const Flags& flags) {
    REFIT_TRY(a, load_document(flags.a));
    REFIT_TRY(b, load_document(flags.b));
    auto comparison = compare_records(a, b);
    if (!comparison.has_value()) {
        Error error = comparison.error();
        error.where = flags.a + ", " + flags.b;
        return error;
    }
    console.document(document_of(flags, comparison.value(), a["schema"]));
    say_comparison(console, flags, comparison.value());
    return ExitCode::success;
}

}  // namespace

Command add_compare(CLI::App& program, const Console& console) {
    CLI::App* command = program.add_subcommand(
        "compare", "Two runs, or two documents of --json: every figure of both and the ratio");
    const auto flags = std::make_shared<Flags>();
    command->add_option("A", flags->a, "A run's folder, or a file that --json printed")
        ->required()
        ->type_name("");
    command->add_option("B", flags->b, "Another of the same kind")->required()->type_name("");
    command->add_flag("--all", flags->all, "Plain numbers too that are the same in both");
    return {command, [&console, flags] { return compare(console, *flags); }};
}

}  // namespace refit
