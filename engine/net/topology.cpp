#include "engine/net/topology.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "engine/base/assert.hpp"

namespace refit {

namespace {

constexpr std::size_t kSitesMax = 256;
constexpr std::uint32_t kRelaysMax = 64;
constexpr std::uint64_t kNodesMax = 100'000;
constexpr BitsPerSecond kRateMax{1'000'000'000'000'000};
constexpr Nanoseconds kRttMax = 3600_s;
constexpr double kFactorMax = 1e6;

using SiteIndex = std::map<std::string_view, std::size_t>;

Error site_error(const Site& site, const std::string& what) {
    return Error{ErrorCode::invalid_input, "site \"" + site.name + "\": " + what};
}

Error link_error(const WanLink& link, const std::string& what) {
    return Error{ErrorCode::invalid_input,
                 "link \"" + link.from + "\" - \"" + link.to + "\": " + what};
}

bool usable_name(std::string_view name) {
    return !name.empty() && name.find('/') == std::string_view::npos;
}

/// Empty when fine, else what is wrong.
std::string rate_fault(std::string_view what, BitsPerSecond rate, bool needed) {
    if (needed && rate.count == 0) return std::string{what} + " is 0";
    if (rate > kRateMax) return std::string{what} + " is above 1 Pbit/s";
    return {};
}

std::string rtt_fault(std::string_view what, Nanoseconds rtt) {
    if (rtt.count < 0) return std::string{what} + " is negative";
    if (rtt > kRttMax) return std::string{what} + " is above one hour";
    return {};
}

Status check_replicas(const Site& site) {
    std::set<std::string_view> names;
    for (const ReplicaSpec& replica : site.replicas) {
        if (!usable_name(replica.name) || replica.name.starts_with("relay-")) {
            return site_error(site, "\"" + replica.name + "\" cannot be the name of a replica");
        }
        if (!names.insert(replica.name).second) {
            return site_error(site, "replica \"" + replica.name + "\" is listed twice");
        }
        if (replica.join_at.count < 0) {
            return site_error(site, "replica \"" + replica.name + "\" joins at a negative time");
        }
    }
    return Done{};
}

Status check_site(const Site& site) {
    if (!usable_name(site.name)) {
        return site_error(site, "a site needs a name without '/'");
    }
    const bool has_replicas = !site.replicas.empty();
    if (has_replicas && site.relays == 0) return site_error(site, "has replicas but no relay");
    if (site.relays > kRelaysMax) {
        return site_error(site, "has more than " + std::to_string(kRelaysMax) + " relays");
    }
    const bool sends = site.trainer || site.relays > 0;
    for (const std::string& fault :
         {rate_fault("relay_nic", site.relay_nic, sends),
          rate_fault("replica_nic", site.replica_nic, has_replicas),
          rate_fault("store_rate", site.store_rate, site.trainer || has_replicas),
          rtt_fault("store_rtt", site.store_rtt), rtt_fault("local_rtt", site.local_rtt)}) {
        if (!fault.empty()) return site_error(site, fault);
    }
    return check_replicas(site);
}

Status check_sites(const Topology& topology) {
    if (topology.sites.size() > kSitesMax) {
        return Error{ErrorCode::invalid_input, std::to_string(topology.sites.size()) +
                                                   " sites are more than " +
                                                   std::to_string(kSitesMax)};
    }
    std::set<std::string_view> names;
    const Site* trainer = nullptr;
    std::uint64_t nodes = 0;
    for (const Site& site : topology.sites) {
        REFIT_CHECK(check_site(site));
        if (!names.insert(site.name).second) return site_error(site, "is listed twice");
        if (site.trainer && trainer != nullptr) {
            return site_error(site, "a second trainer; \"" + trainer->name + "\" has one");
        }
        if (site.trainer) trainer = &site;
        nodes += site.relays + site.replicas.size();
        if (nodes > kNodesMax) {
            return site_error(site,
                              "brings the relays and replicas above " + std::to_string(kNodesMax));
        }
    }
    if (trainer == nullptr) return Error{ErrorCode::invalid_input, "no site has the trainer"};
    return Done{};
}

SiteIndex index_sites(const Topology& topology) {
    SiteIndex index;
    for (std::size_t i = 0; i < topology.sites.size(); ++i) index[topology.sites[i].name] = i;
    return index;
}

Status check_links(const Topology& topology) {
    const SiteIndex sites = index_sites(topology);
    std::set<std::pair<std::string_view, std::string_view>> seen;
    for (const WanLink& link : topology.links) {
        for (const std::string& end : {link.from, link.to}) {
            if (!sites.contains(end)) return link_error(link, "no site \"" + end + "\"");
        }
        if (link.from == link.to) return link_error(link, "joins a site to itself");
        if (!seen.insert(std::minmax({std::string_view{link.from}, std::string_view{link.to}}))
                 .second) {
            return link_error(link, "is listed twice; a link carries both directions");
        }
        for (const std::string& fault :
             {rate_fault("rate", link.rate, true), rtt_fault("rtt", link.rtt)}) {
            if (!fault.empty()) return link_error(link, fault);
        }
    }
    return Done{};
}

/// Sites joined into groups; group_of() names a group by one of its members.
class Groups {
public:
    explicit Groups(std::size_t sites) : parent_(sites) {
        std::iota(parent_.begin(), parent_.end(), std::size_t{0});
    }

    std::size_t group_of(std::size_t site) {
        while (parent_[site] != site) site = parent_[site] = parent_[parent_[site]];
        return site;
    }

    void join(LinkEnds ends) { parent_[group_of(ends.from)] = group_of(ends.to); }

private:
    std::vector<std::size_t> parent_;
};

/// The largest W such that links of at least W join the two sites; 0 when nothing does.
BitsPerSecond widest_bottleneck(const Topology& topology,
                                const std::vector<LinkEnds>& ends,
                                std::size_t from,
                                std::size_t to) {
    std::vector<std::size_t> order(ends.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return topology.links[a].rate > topology.links[b].rate;
    });
    Groups groups{topology.sites.size()};
    for (const std::size_t link : order) {
        groups.join(ends[link]);
        if (groups.group_of(from) == groups.group_of(to)) return topology.links[link].rate;
    }
    return BitsPerSecond{0};
}

struct Hop {
    std::size_t link = 0;
    std::size_t to = 0;
};

/// Least rtt first, then fewest links.
using Distance = std::pair<std::int64_t, std::size_t>;

constexpr Distance kUnreached{std::numeric_limits<std::int64_t>::max(), 0};

/// Dijkstra from `start` over the given hops.
std::vector<Distance> distances(const Topology& topology,
                                const std::vector<std::vector<Hop>>& hops,
                                std::size_t start) {
    std::vector<Distance> best(hops.size(), kUnreached);
    std::set<std::pair<Distance, std::size_t>> open;
    best[start] = {0, 0};
    open.insert({best[start], start});
    while (!open.empty()) {
        const auto [distance, site] = *open.begin();
        open.erase(open.begin());
        for (const Hop& hop : hops[site]) {
            const Distance next{distance.first + topology.links[hop.link].rtt.count,
                                distance.second + 1};
            if (next >= best[hop.to]) continue;
            open.erase({best[hop.to], hop.to});
            best[hop.to] = next;
            open.insert({next, hop.to});
        }
    }
    return best;
}

}  // namespace

std::optional<std::size_t> Topology::find_site(std::string_view site) const {
    for (std::size_t i = 0; i < sites.size(); ++i) {
        if (sites[i].name == site) return i;
    }
    return std::nullopt;
}

std::size_t Topology::trainer_site() const {
    const auto found =
        std::find_if(sites.begin(), sites.end(), [](const Site& site) { return site.trainer; });
    REFIT_ASSERT(found != sites.end());
    return static_cast<std::size_t>(found - sites.begin());
}

std::vector<LinkEnds> link_ends(const Topology& topology) {
    const SiteIndex sites = index_sites(topology);
    std::vector<LinkEnds> ends;
    ends.reserve(topology.links.size());
    for (const WanLink& link : topology.links) {
        const auto from = sites.find(link.from);
        const auto to = sites.find(link.to);
        REFIT_ASSERT(from != sites.end() && to != sites.end());
        ends.push_back({from->second, to->second});
    }
    return ends;
}

Status validate(const Topology& topology) {
    REFIT_CHECK(check_sites(topology));
    REFIT_CHECK(check_links(topology));
    Groups groups{topology.sites.size()};
    for (const LinkEnds& ends : link_ends(topology)) groups.join(ends);
    const std::size_t trainer = topology.trainer_site();
    for (std::size_t i = 0; i < topology.sites.size(); ++i) {
        if (groups.group_of(i) == groups.group_of(trainer)) continue;
        return site_error(topology.sites[i],
                          "no route from the trainer at \"" + topology.sites[trainer].name + "\"");
    }
    return Done{};
}

std::optional<Route> find_route(const Topology& topology, std::size_t from, std::size_t to) {
    REFIT_ASSERT(from < topology.sites.size() && to < topology.sites.size());
    Route route;
    if (from == to) {
        route.bottleneck = BitsPerSecond{std::numeric_limits<std::uint64_t>::max()};
        route.rtt = topology.sites[from].local_rtt;
        return route;
    }
    const std::vector<LinkEnds> ends = link_ends(topology);
    route.bottleneck = widest_bottleneck(topology, ends, from, to);
    if (route.bottleneck.count == 0) return std::nullopt;

    // Every route over links this wide is a widest one, so what remains is the shortest of them.
    std::vector<std::vector<Hop>> hops(topology.sites.size());
    for (std::size_t link = 0; link < ends.size(); ++link) {
        if (topology.links[link].rate < route.bottleneck) continue;
        hops[ends[link].from].push_back({link, ends[link].to});
        hops[ends[link].to].push_back({link, ends[link].from});
    }
    const std::vector<Distance> ahead = distances(topology, hops, to);
    route.rtt = Nanoseconds{ahead[from].first};
    for (std::size_t site = from; site != to;) {
        const Hop* next = nullptr;
        for (const Hop& hop : hops[site]) {
            const Distance via{ahead[hop.to].first + topology.links[hop.link].rtt.count,
                               ahead[hop.to].second + 1};
            if (via != ahead[site]) continue;
            if (next == nullptr || topology.sites[hop.to].name < topology.sites[next->to].name) {
                next = &hop;
            }
        }
        REFIT_ASSERT(next != nullptr);
        route.links.push_back(next->link);
        route.forward.push_back(ends[next->link].from == site);
        site = next->to;
    }
    return route;
}

Topology scaled(const Topology& topology, double factor) {
    REFIT_ASSERT(factor > 0 && factor <= kFactorMax);
    const auto scale = [factor](BitsPerSecond& rate) {
        if (rate.count == 0) return;
        const double product = static_cast<double>(rate.count) * factor + 0.5;
        const double largest = static_cast<double>(kRateMax.count);
        rate.count =
            std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::min(product, largest)));
    };
    Topology result = topology;
    for (WanLink& link : result.links) scale(link.rate);
    for (Site& site : result.sites) {
        scale(site.relay_nic);
        scale(site.replica_nic);
        scale(site.store_rate);
    }
    return result;
}

}  // namespace refit
