#include "app/reproduce/tables.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/format.hpp"
#include "app/run_plan.hpp"
#include "engine/closed_form.hpp"

namespace refit {

namespace {

constexpr std::uint64_t kGigabit = 1'000'000'000;
constexpr std::uint64_t kLinkGigabits[] = {1, 3, 10, 25, 100, 400};
constexpr const char* kOurs = "xc";
constexpr const char* kPublishedStyle = "gap-xor-zstd";
constexpr const char* kPlainDelta = "index-value";

Result<CodecTime> timed(Study& study,
                        const std::string& model,
                        const ChangeSpec& change,
                        const std::string& codec) {
    REFIT_TRY(delta, study.bits(model, change, codec));
    return study.time(*delta);
}

std::string line_of(const CodecTime& row) {
    return fmt::format("{} {} {:g} % {}: {:.4f} bits per parameter, {:.1f} s", row.model,
                       row.profile, 100 * row.asked, row.codec, row.bits_per_parameter(),
                       row.seconds.value);
}

Status make_headline(Study& study,
                     const ReproduceSpec& spec,
                     const OnRow& on_row,
                     ReproduceTables& tables) {
    for (const std::string& profile : spec.profiles) {
        for (const std::string& codec : spec.codecs) {
            // A full checkpoint is as large whatever changed.
            if (profile != spec.profiles.front() && codec.starts_with("full")) continue;
            REFIT_TRY(row, timed(study, spec.headline_model,
                                 {profile, spec.headline_changed, spec.seed}, codec));
            on_row(line_of(row));
            tables.headline.push_back(std::move(row));
        }
    }
    return Done{};
}

Status make_grid(Study& study,
                 const ReproduceSpec& spec,
                 const OnRow& on_row,
                 ReproduceTables& tables) {
    std::vector<std::pair<std::string, double>> cells;
    for (const std::string& profile : spec.grid_profiles)
        for (const double changed : spec.grid_changed) cells.emplace_back(profile, changed);
    for (const std::string& model : spec.grid_models) {
        std::optional<CodecTime> full;
        for (const auto& [profile, changed] : cells) {
            const ChangeSpec change{profile, changed, spec.seed};
            if (!full) {
                REFIT_TRY(row, timed(study, model, change, "full"));
                full = std::move(row);
            }
            REFIT_TRY(style, timed(study, model, change, kPublishedStyle));
            REFIT_TRY(ours, timed(study, model, change, kOurs));
            on_row(line_of(style));
            on_row(line_of(ours));
            tables.grid.push_back({*full, std::move(style), std::move(ours), spec.fixed});
        }
    }
    return Done{};
}

/// Nothing but the link limits: NICs and the store are four times as fast, and twice what a round
/// trip holds may be in flight.
WorldPlan with_rate(WorldPlan plan, BitsPerSecond rate) {
    for (WanLink& link : plan.topology.links) {
        link.rate = rate;
        const double flight = to_seconds(link.rtt) * static_cast<double>(rate.count) / 8;
        const auto chunks =
            static_cast<std::uint32_t>(2 * flight / static_cast<double>(plan.delta.chunk.count));
        plan.transport.window = std::max(plan.transport.window, chunks);
    }
    for (Site& site : plan.topology.sites) {
        site.relay_nic = site.replica_nic = site.store_rate = BitsPerSecond{4 * rate.count};
        site.store_rtt = Nanoseconds{0};  // a full checkpoint has thousands of parts
    }
    return plan;
}

double form_seconds(const WorldPlan& plan, const DeltaSize& size) {
    return closed_form(plan.topology, plan.delta, plan.transport, plan.fleet, size).seconds();
}

/// At which link rate sending everything, without a codec's time, is as fast as the delta.
double break_even(const Study& study, const CodecTime& full, const CodecTime& ours) {
    const Bytes weights = size_of(Words{full.parameters});
    const auto size = [&](const CodecTime& row) {
        const double changed = row.changed * static_cast<double>(row.parameters);
        return DeltaSize{Bytes{static_cast<std::uint64_t>(row.payload.value)}, weights,
                         Bytes{static_cast<std::uint64_t>(4 * changed)}};
    };
    const auto gain = [&](std::uint64_t gigabits) {
        const WorldPlan plan = with_rate(
            study.plan(), BitsPerSecond{std::min<std::uint64_t>(gigabits, 200'000) * kGigabit});
        WorldPlan plain = plan;
        plain.fleet.encode.value = plain.fleet.decode.value =
            BytesPerSecond{std::uint64_t{1} << 60};
        return form_seconds(plain, size(full)) - form_seconds(plan, size(ours));
    };
    std::uint64_t low = 1;
    std::uint64_t high = 200'000;
    if (gain(low) <= 0 || gain(high) > 0) return 0;
    while (high - low > 1) {
        const std::uint64_t middle = low + (high - low) / 2;
        (gain(middle) > 0 ? low : high) = middle;
    }
    return static_cast<double>(high) * static_cast<double>(kGigabit);
}

Status make_links(Study& study,
                  const ReproduceSpec& spec,
                  const OnRow& on_row,
                  ReproduceTables& tables) {
    const ChangeSpec change{spec.grid_profiles.front(), spec.headline_changed, spec.seed};
    REFIT_TRY(full, study.bits(spec.headline_model, change, "full"));
    REFIT_TRY(ours, study.bits(spec.headline_model, change, kOurs));
    for (const std::uint64_t gigabits : kLinkGigabits) {
        const BitsPerSecond rate{gigabits * kGigabit};
        const WorldPlan plan = with_rate(study.plan(), rate);
        REFIT_TRY(full_seconds, study.seconds(*full, plan));
        REFIT_TRY(our_seconds, study.seconds(*ours, plan));
        on_row(fmt::format("{} Gbit/s: full {:.1f} s, {} {:.2f} s", gigabits, full_seconds, kOurs,
                           our_seconds));
        tables.links.push_back({rate, full_seconds, our_seconds});
    }
    tables.break_even_bits_per_second = break_even(study, full->row, ours->row);
    return Done{};
}

/// Every replica fetches a copy of its own over the WAN: links carry one for each behind them.
Topology without_tree(Topology topology) {
    std::vector<std::uint64_t> copies(topology.links.size(), 0);
    const std::size_t home = topology.trainer_site();
    for (std::size_t s = 0; s < topology.sites.size(); ++s) {
        if (s == home) continue;
        const auto route = find_route(topology, home, s);
        for (const std::size_t link : route->links)
            copies[link] += topology.sites[s].replicas.size();
    }
    for (std::size_t l = 0; l < copies.size(); ++l)
        if (copies[l] > 1) topology.links[l].rate.count /= copies[l];
    return topology;
}

/// The same delta, every unit of it in one part: durable, sent and staged only as a whole.
StudyDelta in_one_part(const StudyDelta& delta, DeltaSpec& spec) {
    spec.chunks_per_part = std::uint32_t{1} << 18;
    StudyDelta whole = delta;
    close_phantom_parts(whole.delta.units, spec, 1);
    return whole;
}

Status make_attribution(Study& study,
                        const ReproduceSpec& spec,
                        const Scenario& scenario,
                        ReproduceTables& tables) {
    WorldPlan plan = make_plan(scenario, 1, 1);
    plan.faults.clear();
    for (Site& site : plan.topology.sites)
        std::erase_if(site.replicas, [](const ReplicaSpec& r) { return r.join_at.count > 0; });
    tables.attribution_topology = plan.topology.name;
    const ChangeSpec change{spec.grid_profiles.front(), spec.headline_changed, spec.seed};
    const auto add = [&](const std::string& codec, bool tree, bool overlap, std::string switched,
                         std::string how) -> Status {
        REFIT_TRY(delta, study.bits(spec.headline_model, change, codec));
        WorldPlan own = plan;
        if (!tree) own.topology = without_tree(own.topology);
        double seconds = 0;
        if (overlap) {
            REFIT_TRY(run, study.seconds(*delta, own));
            seconds = run;
        } else {
            const StudyDelta whole = in_one_part(*delta, own.delta);
            REFIT_TRY(run, study.seconds(whole, own));
            seconds = run;
        }
        tables.attribution.push_back({std::move(switched), std::move(how), seconds});
        return Done{};
    };
    REFIT_CHECK(add("full", false, false, "nothing",
                    "the full checkpoint, one copy per replica over the WAN, each stage after "
                    "the one before"));
    REFIT_CHECK(
        add(kPlainDelta, false, false, "change rate", "only changed words: 32-bit index and word"));
    REFIT_CHECK(add(kOurs, false, false, "codec", "coded with xc"));
    REFIT_CHECK(add(kOurs, true, false, "tree", "one copy per site, relayed inside it"));
    return add(kOurs, true, true, "overlap", "part by part: encode, send and stage at once");
}

}  // namespace

Result<ReproduceTables> make_tables(Study& study,
                                    const ReproduceSpec& spec,
                                    const Scenario& attribution,
                                    const OnRow& on_row) {
    ReproduceTables tables;
    REFIT_CHECK(make_headline(study, spec, on_row, tables));
    REFIT_CHECK(make_links(study, spec, on_row, tables));
    REFIT_CHECK(make_attribution(study, spec, attribution, tables));
    REFIT_CHECK(make_grid(study, spec, on_row, tables));
    return tables;
}

}  // namespace refit
