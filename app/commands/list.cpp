#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/commands/commands.hpp"
#include "app/format.hpp"
#include "engine/codec/codec.hpp"
#include "kernels/cuda/cuda_device.hpp"
#include "kernels/cuda/driver.hpp"
#include "kernels/device.hpp"
#include "scenarios/regions.hpp"
#include "scenarios/scenario.hpp"
#include "scenarios/shipped.hpp"
#include "scenarios/toml_document.hpp"
#include "workloads/architecture.hpp"
#include "workloads/layouts.hpp"
#include "workloads/profile.hpp"
#include "workloads/published.hpp"

namespace refit {
namespace {

using Json = nlohmann::ordered_json;

/// One entry of a list: a name and what is worth knowing about it.
struct Entry {
    std::string name;
    std::string summary;
    Json facts = Json::object();  // the summary's numbers, for --json
};

using Entries = Result<std::vector<Entry>>;

Entries list_codecs(const std::filesystem::path&) {
    std::vector<Entry> entries;
    for (const auto& codec : builtin_codecs())
        entries.push_back({std::string(codec->name()), std::string(codec->summary())});
    return entries;
}

Entries list_profiles(const std::filesystem::path&) {
    std::vector<Entry> entries;
    for (const Profile& profile : profiles())
        entries.push_back({std::string(profile.name), std::string(profile.summary)});
    return entries;
}

Entries list_presets(const std::filesystem::path&) {
    std::vector<Entry> entries;
    for (const Preset& preset : presets()) {
        const std::string steps =
            preset.steps == 0 ? "its own number of steps" : fmt::format("{} steps", preset.steps);
        entries.push_back(
            {std::string(preset.name),
             fmt::format("{:g} % of all words, profile {}, {} a refit, {} start, masters {}",
                         preset.changed_per_million / 1e4, preset.profile, steps,
                         preset.fresh ? "fresh" : "steady",
                         preset.masters == Masters::fp32 ? "FP32" : "none, stochastic rounding")});
    }
    return entries;
}

Entries list_scenarios(const std::filesystem::path& root) {
    std::vector<Entry> entries;
    for (const std::string& name : shipped_scenarios(root)) {
        REFIT_TRY(scenario, load_scenario(root / "scenarios" / (name + ".toml"), root, {}));
        entries.push_back({name, scenario.title});
    }
    return entries;
}

Entries list_topologies(const std::filesystem::path& root) {
    std::vector<Entry> entries;
    for (const std::string& name : shipped_topologies(root)) {
        REFIT_TRY(topology, load_topology(root / "scenarios" / "topologies" / (name + ".toml")));
        std::size_t replicas = 0;
        for (const Site& site : topology.sites) replicas += site.replicas.size();
        entries.push_back(
            {name, fmt::format("{} sites, {} replicas, {} WAN links", topology.sites.size(),
                               replicas, topology.links.size())});
    }
    return entries;
}

Entries list_models(const std::filesystem::path& root) {
    std::vector<Entry> entries;
    for (const std::string& name : shipped_architectures(root)) {
        REFIT_TRY(model,
                  load_architecture(root / "workloads" / "architectures" / (name + ".toml")));
        const PartTotals sums = totals(model).all;
        const std::uint64_t bytes = size_of(Words{sums.parameters}).count;
        const std::string_view kind = model.experts ? "moe" : "dense";
        entries.push_back(
            {name,
             fmt::format("{:>7.1f} B parameters, {:>5.1f} B active, {:>5} tensors, {:>6.1f} GB in "
                         "BF16, {}",
                         static_cast<double>(sums.parameters) / 1e9,
                         static_cast<double>(sums.active) / 1e9, sums.tensors,
                         static_cast<double>(bytes) / 1e9, kind),
             {{"parameters", sums.parameters},
              {"active", sums.active},
              {"tensors", sums.tensors},
              {"bf16_bytes", bytes},
              {"kind", kind}}});
    }
    return entries;
}

Entries list_published(const std::filesystem::path& root) {
    std::vector<Entry> entries;
    REFIT_TRY(rows, load_published(published_file(root)));
    for (const PublishedRow& row : rows) {
        entries.push_back(
            {row.id,
             fmt::format("{}, {}: {}; {}", row.system, row.model, claims(row), row.source),
             {{"system", row.system},
              {"model", row.model},
              {"claims", claims(row)},
              {"source", row.source}}});
    }
    return entries;
}

/// Measured between regions, after those of the shipped topologies.
void add_region_links(const Regions& regions, std::vector<Entry>& entries) {
    for (const RegionLink& link : regions.links) {
        const std::string price =
            link.usd_per_gb ? fmt::format(", ${:g} a GB", *link.usd_per_gb) : std::string();
        entries.push_back({fmt::format("{} -> {}", link.from, link.to),
                           fmt::format("{}, rtt {:.1f} ms{}; {}", format_bit_rate(link.rate),
                                       to_seconds(link.rtt) * 1e3, price, regions.link_source)});
    }
}

Entries list_links(const std::filesystem::path& root) {
    std::vector<Entry> entries;
    for (const std::string& name : shipped_topologies(root)) {
        REFIT_TRY(topology, load_topology(root / "scenarios" / "topologies" / (name + ".toml")));
        for (const WanLink& link : topology.links) {
            entries.push_back({fmt::format("{}: {} - {}", name, link.from, link.to),
                               fmt::format("{}, rtt {:.1f} ms; {}", format_bit_rate(link.rate),
                                           to_seconds(link.rtt) * 1e3, link.source)});
        }
    }
    REFIT_TRY(regions, load_regions(regions_file(root)));
    add_region_links(regions, entries);
    return entries;
}

Entries list_regions(const std::filesystem::path& root) {
    REFIT_TRY(regions, load_regions(regions_file(root)));
    std::vector<Entry> entries;
    for (const std::string& name : regions.names) {
        std::size_t links = 0;
        std::uint64_t least = 0;
        std::uint64_t most = 0;
        for (const RegionLink& link : regions.links) {
            if (link.from != name) continue;
            least = links == 0 ? link.rate.count : std::min(least, link.rate.count);
            most = std::max(most, link.rate.count);
            ++links;
        }
        entries.push_back(
            {name,
             fmt::format("{} links out, {} to {} a pair of VMs", links,
                         format_bit_rate(BitsPerSecond{least}),
                         format_bit_rate(BitsPerSecond{most})),
             {{"links", links}, {"least_bits_per_second", least}, {"most_bits_per_second", most}}});
    }
    return entries;
}

Entries list_prices(const std::filesystem::path& root) {
    REFIT_TRY(regions, load_regions(regions_file(root)));
    std::vector<Entry> entries;
    for (const GpuPrice& price : regions.gpu_defaults) {
        entries.push_back({price.gpu,
                           fmt::format("${:g} a GPU-hour; {}", price.usd_per_hour, price.source),
                           {{"usd_per_hour", price.usd_per_hour}, {"source", price.source}}});
    }
    const auto quotes = [&entries](const std::vector<PriceQuote>& list, const char* unit) {
        for (const PriceQuote& quote : list) {
            std::string usd;
            for (const double price : quote.usd)
                usd += fmt::format("{}${:g}", usd.empty() ? "" : ", ", price);
            entries.push_back({quote.name,
                               fmt::format("{} {}; {}, {}", usd, unit, quote.source, quote.date),
                               {{"usd", quote.usd},
                                {"unit", unit},
                                {"date", quote.date},
                                {"source", quote.source}}});
        }
    };
    quotes(regions.gpu_quotes, "a GPU-hour");
    quotes(regions.egress_quotes, "a GB");
    return entries;
}

Entries list_layouts(const std::filesystem::path&) {
    std::vector<Entry> entries;
    for (const LayoutFamily& family : layout_families())
        entries.push_back({family.name + ":" + family.key + "<n>", family.summary});
    return entries;
}

Entries list_backends(const std::filesystem::path&) {
    std::string levels;
    for (const std::string& level : cpu_device_levels())
        levels += (levels.empty() ? "" : ", ") + level;
    const std::string trouble = cuda_trouble(find_cuda_driver(cuda_runtime_version()));
    return std::vector<Entry>{
        {"cpu", "all kernels; levels on this machine: " + levels},
        {"cuda", "the same on GPUs" + (trouble.empty() ? "" : "; not here: " + trouble)},
        {"simt", "the CUDA kernels on a host executor: a proof of their bits, not of their speed"}};
}

struct Topic {
    std::string_view name;
    Entries (*entries)(const std::filesystem::path& data_root);
};

constexpr Topic kTopics[] = {
    {"codecs", list_codecs},       {"scenarios", list_scenarios}, {"topologies", list_topologies},
    {"layouts", list_layouts},     {"backends", list_backends},   {"links", list_links},
    {"models", list_models},       {"profiles", list_profiles},   {"presets", list_presets},
    {"published", list_published}, {"regions", list_regions},     {"prices", list_prices}};

Result<ExitCode> list(const Console& console, const std::string& name) {
    const auto* topic =
        std::ranges::find_if(kTopics, [&](const Topic& known) { return known.name == name; });
    REFIT_ASSERT(topic != std::end(kTopics));
    REFIT_TRY(entries, topic->entries(console.data_root));
    std::size_t width = 0;
    for (const Entry& entry : entries) width = std::max(width, entry.name.size());
    Json rows = Json::array();
    for (const Entry& entry : entries) {
        console.say(fmt::format("{:<{}}  {}", entry.name, width, entry.summary));
        Json row{{"name", entry.name}, {"summary", entry.summary}};
        row.update(entry.facts);
        rows.push_back(std::move(row));
    }
    console.document({{"schema", "refit.list/1"}, {"topic", name}, {"entries", rows}});
    return ExitCode::success;
}

}  // namespace

Command add_list(CLI::App& program, const Console& console) {
    CLI::App* command = program.add_subcommand("list", "List what this program ships and knows");
    const auto topic = std::make_shared<std::string>();
    std::vector<std::string> names;
    for (const Topic& known : kTopics) names.emplace_back(known.name);
    command->add_option("TOPIC", *topic, fmt::format("One of {}", fmt::join(names, ", ")))
        ->required()
        ->type_name("")
        ->check(CLI::IsMember(names));
    return {command, [&console, topic] { return list(console, *topic); }};
}

}  // namespace refit
