#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/commands/commands.hpp"
#include "app/format.hpp"
#include "scenarios/scenario.hpp"
#include "workloads/checkpoint.hpp"
#include "workloads/layouts.hpp"

namespace refit {
namespace {

using Json = nlohmann::ordered_json;

struct MapFlags {
    std::string model;
    std::string train;
    std::string serve;
};

struct ProvedMap {
    ShardMap map;
    Coverage coverage;
};

/// `flag` is where a bad layout was written.
Result<ProvedMap> prove(const Catalog& catalog, const std::string& layout, const char* flag) {
    auto map = make_layout(catalog, layout);
    if (!map.has_value()) return in_file(map.error(), flag);
    auto coverage = map.value().prove(catalog);
    if (!coverage.has_value()) return in_file(coverage.error(), flag);
    return ProvedMap{std::move(map).value(), coverage.value()};
}

Json describe(const Console& console, const char* role, const ProvedMap& proved) {
    const Coverage& coverage = proved.coverage;
    console.say(fmt::format(
        "{:<6} {:<14} {:>5} ranks {:>7} boxes {:>15} words held, each {} to {} times, {} padding",
        role, proved.map.layout(), proved.map.ranks().size(), format_count(coverage.boxes),
        format_count(coverage.held_words), coverage.copies_min, coverage.copies_max,
        format_count(coverage.padding_words)));
    return {{"layout", proved.map.layout()},
            {"ranks", proved.map.ranks().size()},
            {"boxes", coverage.boxes},
            {"held_words", coverage.held_words},
            {"padding_words", coverage.padding_words},
            {"copies_min", coverage.copies_min},
            {"copies_max", coverage.copies_max}};
}

Result<ExitCode> map(const Console& console, const MapFlags& flags) {
    REFIT_TRY(checkpoint, Checkpoint::open(flags.model));
    const Catalog& catalog = checkpoint->catalog();
    REFIT_TRY(train, prove(catalog, flags.train, "--train"));
    REFIT_TRY(serve, prove(catalog, flags.serve, "--serve"));
    auto transfers = compose(catalog, train.map, serve.map);
    if (!transfers.has_value()) return in_file(transfers.error(), flags.model);
    std::uint64_t moved = 0;
    for (const Transfer& transfer : transfers.value()) moved += transfer.target.words();
    if (moved != serve.coverage.held_words) {
        return Error{
            ErrorCode::mismatch,
            fmt::format("the transfers fill {} of {} words", moved, serve.coverage.held_words),
            flags.model};
    }
    console.say(fmt::format("{}: {} tensors, {} words", flags.model, catalog.tensors().size(),
                            format_count(catalog.words().count)));
    const Json train_json = describe(console, "train", train);
    const Json serve_json = describe(console, "serve", serve);
    console.say(
        fmt::format("proved: every word is held, no two share a place; {} affine transfers "
                    "fill every served word from one trainer rank",
                    format_count(transfers.value().size())));
    console.document({{"schema", "refit.map/1"},
                      {"model", flags.model},
                      {"words", catalog.words().count},
                      {"train", train_json},
                      {"serve", serve_json},
                      {"transfers", transfers.value().size()},
                      {"transfer_words", moved}});
    return ExitCode::success;
}

}  // namespace

Command add_map(CLI::App& program, const Console& console) {
    CLI::App* command = program.add_subcommand(
        "map", "Prove that two layouts cover a model's words, and count what moves");
    const auto flags = std::make_shared<MapFlags>();
    const auto known_layout = [](const std::string& layout) {
        const Status status = check_layout_name(layout);
        return status.has_value() ? std::string() : status.error().what;
    };
    command->add_option("MODEL", flags->model, "A checkpoint")->required()->type_name("");
    command->add_option("--train", flags->train, "The trainer's layout, such as fsdp:dp4")
        ->required()
        ->check(known_layout);
    command->add_option("--serve", flags->serve, "The serving layout, such as tp:tp4")
        ->required()
        ->check(known_layout);
    return {command, [&console, flags] { return map(console, *flags); }};
}

}  // namespace refit
