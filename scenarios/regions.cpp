#include "scenarios/regions.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "scenarios/nearest.hpp"
#include "workloads/text_file.hpp"

namespace refit {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kRegionsMax = 256;
constexpr double kGbpsMax = 10'000;
constexpr double kRttMsMax = 10'000;
constexpr double kUsdMax = 1'000;

Error invalid(std::string what) { return Error{ErrorCode::invalid_input, std::move(what)}; }

/// The fields of one object, each asked for once; the first failure of all objects is kept.
class Fields {
public:
    Fields(const Json& json, std::string path, std::string& failure)
        : json_(json), path_(std::move(path)), failure_(failure) {
        if (!json_.is_object()) fail("", "must be an object");
    }

    std::string text(const char* key) {
        const Json* value = find(key);
        if (value == nullptr) return {};
        if (!value->is_string() || value->get_ref<const std::string&>().empty()) {
            fail(key, "must be text");
            return {};
        }
        return value->get<std::string>();
    }
    /// Over 0 unless `zero` is allowed.
    double number(const char* key, double most, bool zero = false) {
        const Json* value = find(key);
        return value == nullptr ? 0 : checked(key, *value, most, zero);
    }
    std::optional<double> number_or_null(const char* key, double most) {
        const Json* value = find(key);
        if (value == nullptr || value->is_null()) return std::nullopt;
        return checked(key, *value, most, true);
    }
    std::vector<double> numbers(const char* key, double most) {
        std::vector<double> values;
        for (const Json& value : list(key)) values.push_back(checked(key, value, most, false));
        return values;
    }
    /// Never empty, unless something failed.
    const Json& list(const char* key) {
        static const Json kNone = Json::array();
        const Json* value = find(key);
        if (value == nullptr) return kNone;
        if (value->is_array() && !value->empty()) return *value;
        fail(key, "must be a list that is not empty");
        return kNone;
    }
    Fields object(const char* key) {
        static const Json kNone = Json::object();
        const Json* value = find(key);
        return Fields(value == nullptr ? kNone : *value, path_ + key + ".", failure_);
    }
    template <class Read>
    void each(const char* key, Read read) {
        std::size_t index = 0;
        for (const Json& value : list(key)) {
            Fields fields(value, fmt::format("{}{}[{}].", path_, key, index++), failure_);
            read(fields);
            fields.finish();
        }
    }
    void fail(const std::string& key, const std::string& what) {
        if (failure_.empty()) failure_ = fmt::format("{}{}: {}", path_, key, what);
    }
    void finish() {
        if (!json_.is_object()) return;
        for (const auto& [key, value] : json_.items())
            if (!asked_.contains(key)) fail(key.substr(0, 40), "is unknown");
    }

private:
    const Json* find(const char* key) {
        asked_.insert(key);
        if (!json_.is_object()) return nullptr;
        const auto found = json_.find(key);
        if (found != json_.end()) return &*found;
        fail(key, "is missing");
        return nullptr;
    }
    double checked(const char* key, const Json& value, double most, bool zero) {
        const double number = value.is_number() ? value.get<double>() : -1;
        if (number <= most && (number > 0 || (zero && number == 0))) return number;
        fail(key, fmt::format("must be a number over 0{}, at most {}", zero ? " or 0" : "", most));
        return 0;
    }

    const Json& json_;
    std::string path_;
    std::string& failure_;
    std::set<std::string> asked_;
};

RegionLink read_link(Fields& fields, const std::vector<std::string>& names) {
    RegionLink link;
    link.from = fields.text("from");
    link.to = fields.text("to");
    link.rate = BitsPerSecond{
        static_cast<std::uint64_t>(std::llround(fields.number("gbps_64conn", kGbpsMax) * 1e9))};
    link.rtt = Nanoseconds{std::llround(fields.number("rtt_ms", kRttMsMax, true) * 1e6)};
    link.usd_per_gb = fields.number_or_null("usd_per_gb", kUsdMax);
    for (const char* end : {"from", "to"}) {
        const std::string& name = *end == 'f' ? link.from : link.to;
        if (std::ranges::find(names, name) == names.end())
            fields.fail(end, "is not among the regions");
    }
    if (link.from == link.to) fields.fail("to", "is where the link begins");
    return link;
}

PriceQuote read_quote(Fields& fields, const char* name, const char* detail, const char* usd) {
    PriceQuote quote;
    quote.name = fields.text(name) + ", " + fields.text(detail);
    quote.usd = fields.numbers(usd, kUsdMax);
    quote.date = fields.text("date");
    quote.source = fields.text("source");
    return quote;
}

void read_names(Fields& root, Regions& regions) {
    for (const Json& name : root.list("regions")) {
        const std::string text = name.is_string() ? name.get<std::string>() : "";
        if (text.empty() || text.find(',') != std::string::npos) {
            root.fail("regions", "must be names without a comma");
        } else if (std::ranges::find(regions.names, text) != regions.names.end()) {
            root.fail("regions", fmt::format("{} is there twice", text));
        } else if (regions.names.size() == kRegionsMax) {
            root.fail("regions", fmt::format("there are more than {}", kRegionsMax));
        } else {
            regions.names.push_back(text);
        }
    }
}

void read_links(Fields& root, Regions& regions) {
    std::set<std::pair<std::string, std::string>> seen;
    root.each("links", [&](Fields& fields) {
        RegionLink link = read_link(fields, regions.names);
        if (!seen.emplace(link.from, link.to).second) fields.fail("to", "the link is there twice");
        regions.links.push_back(std::move(link));
    });
}

void read_prices(Fields& root, Regions& regions) {
    root.each("egress", [&](Fields& fields) {
        regions.egress_quotes.push_back(read_quote(fields, "provider", "what", "usd_per_gb"));
    });
    root.each("gpu_hour", [&](Fields& fields) {
        regions.gpu_quotes.push_back(read_quote(fields, "gpu", "tier", "usd_per_hour"));
    });
    root.each("gpu_defaults", [&](Fields& fields) {
        GpuPrice price{fields.text("gpu"), fields.number("usd_per_hour", kUsdMax),
                       fields.text("source")};
        if (regions.find_gpu(price.gpu) != nullptr) fields.fail("gpu", "is there twice");
        regions.gpu_defaults.push_back(std::move(price));
    });
}

// --- topologies ------------------------------------------------------------------------------

std::string with_nearest(std::string what,
                         const std::string& name,
                         const std::vector<std::string>& known) {
    const std::string nearest = nearest_name(name, known);
    if (!nearest.empty()) return fmt::format("{}; did you mean {}?", what, nearest);
    return fmt::format("{}; known are {}", what, fmt::join(known, ", "));
}

Status check_region(const Regions& regions, const std::string& name) {
    if (std::ranges::find(regions.names, name) != regions.names.end()) return Done{};
    return invalid(with_nearest(fmt::format("there is no region {}", name.substr(0, 60)), name,
                                regions.names));
}

Site make_site(const std::string& name, const Topology& defaults) {
    Site site = defaults.sites[defaults.trainer_site()];
    site.name = name;
    site.trainer = false;
    site.replicas.clear();
    return site;
}

void add_replicas(Site& site, std::uint32_t count, const Topology& defaults) {
    std::string layout;
    for (const Site& known : defaults.sites)
        if (layout.empty() && !known.replicas.empty()) layout = known.replicas.front().layout;
    for (std::uint32_t i = 1; i <= count; ++i)
        site.replicas.push_back({fmt::format("replica-{}", i), layout, Nanoseconds{0}});
}

/// Measured from the trainer, or the worse of two directions; nothing when one was not measured.
std::optional<WanLink> make_link(const Regions& regions,
                                 const std::string& from,
                                 const std::string& to,
                                 bool both) {
    const RegionLink* forward = regions.find_link(from, to);
    const RegionLink* back = both ? regions.find_link(to, from) : forward;
    if (forward == nullptr || back == nullptr) return std::nullopt;
    return WanLink{from, to, std::min(forward->rate, back->rate), std::max(forward->rtt, back->rtt),
                   regions.link_source};
}

std::vector<std::string> reached_from(const Regions& regions, const std::string& from) {
    std::vector<std::string> names;
    for (const RegionLink& link : regions.links)
        if (link.from == from) names.push_back(link.to);
    return names;
}

Status add_links(Topology& topology, const Regions& regions, std::uint32_t pairs) {
    const auto& sites = topology.sites;
    for (std::size_t a = 0; a < sites.size(); ++a) {
        for (std::size_t b = a + 1; b < sites.size(); ++b) {
            auto link = make_link(regions, sites[a].name, sites[b].name, a > 0);
            if (!link && a == 0) {
                return invalid(fmt::format("no link was measured from {} to {}; from there to {}",
                                           sites[a].name, sites[b].name,
                                           fmt::join(reached_from(regions, sites[a].name), ", ")));
            }
            if (!link) continue;
            link->rate.count *= pairs;
            topology.links.push_back(std::move(*link));
        }
    }
    return Done{};
}

Result<std::uint32_t> whole_number(std::string_view key, std::string_view text, unsigned most) {
    std::uint32_t value = 0;
    const char* const end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, value);
    if (parsed.ec != std::errc() || parsed.ptr != end || value == 0 || value > most)
        return invalid(fmt::format("{} must be a whole number from 1 to {}", key, most));
    return value;
}

}  // namespace

const RegionLink* Regions::find_link(std::string_view from, std::string_view to) const {
    const auto found = std::ranges::find_if(
        links, [&](const RegionLink& link) { return link.from == from && link.to == to; });
    return found == links.end() ? nullptr : &*found;
}

const GpuPrice* Regions::find_gpu(std::string_view gpu) const {
    const auto found = std::ranges::find(gpu_defaults, gpu, &GpuPrice::gpu);
    return found == gpu_defaults.end() ? nullptr : &*found;
}

Result<Regions> parse_regions(std::string_view text) {
    const Json json = Json::parse(text, nullptr, false);
    if (json.is_discarded()) return invalid("is not JSON");
    std::string failure;
    Fields root(json, "", failure);
    if (root.text("schema") != "refit.regions/1")
        root.fail("schema", "must be \"refit.regions/1\"");
    root.text("read_on");
    Fields sources = root.object("sources");
    sources.text("grid");
    Regions regions;
    regions.link_source = sources.text("link");
    sources.finish();
    read_names(root, regions);
    read_links(root, regions);
    read_prices(root, regions);
    root.finish();
    if (!failure.empty()) return invalid(failure);
    return regions;
}

Result<Regions> load_regions(const std::filesystem::path& file) {
    auto text = load_text_file(file);
    if (!text.has_value()) return in_file(text.error(), file.string());
    auto regions = parse_regions(text.value());
    if (!regions.has_value()) return in_file(regions.error(), file.string());
    return regions;
}

std::filesystem::path regions_file(const std::filesystem::path& data_root) {
    return data_root / "scenarios" / "regions.json";
}

Result<RegionTarget> parse_region_target(std::string_view text) {
    RegionTarget target;
    const std::size_t comma = text.find(',');
    target.name = text.substr(0, comma);
    if (target.name.empty()) return invalid("names no region");
    std::string_view rest = comma == std::string_view::npos ? "" : text.substr(comma);
    bool gpus = false;
    bool replicas = false;
    while (!rest.empty()) {
        rest.remove_prefix(1);
        const std::string_view setting = rest.substr(0, rest.find(','));
        rest.remove_prefix(setting.size());
        const std::size_t equals = std::min(setting.find('='), setting.size());
        const std::string_view key = setting.substr(0, equals);
        const std::string_view value = setting.substr(std::min(equals + 1, setting.size()));
        if (key == "gpus" && !gpus) {
            REFIT_TRY(count, whole_number(key, value, 1'000'000));
            target.gpus = count;
            gpus = true;
        } else if (key == "replicas" && !replicas) {
            REFIT_TRY(count, whole_number(key, value, 1'000));
            target.replicas = count;
            replicas = true;
        } else {
            return invalid(fmt::format("takes gpus=N and replicas=K behind the region, not '{}'",
                                       setting.substr(0, 40)));
        }
    }
    return target;
}

Result<Topology> region_topology(const Regions& regions,
                                 const std::string& from,
                                 const std::vector<RegionTarget>& targets,
                                 std::uint32_t pairs,
                                 const Topology& defaults) {
    REFIT_CHECK(check_region(regions, from));
    Topology topology;
    topology.name = "regions";
    topology.sites.push_back(make_site(from, defaults));
    topology.sites.front().trainer = true;
    for (const RegionTarget& target : targets) {
        REFIT_CHECK(check_region(regions, target.name));
        auto known = topology.find_site(target.name);
        if (!known) {
            known = topology.sites.size();
            topology.sites.push_back(make_site(target.name, defaults));
        } else if (!topology.sites[*known].replicas.empty()) {
            return invalid(fmt::format("the region {} is there twice", target.name));
        }
        add_replicas(topology.sites[*known], target.replicas, defaults);
    }
    REFIT_CHECK(add_links(topology, regions, pairs));
    REFIT_CHECK(validate(topology));
    return topology;
}

}  // namespace refit
