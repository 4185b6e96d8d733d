// Sites, the links between them, and who runs where: plain data, validated once.
//
// Model    One site holds the trainer (and may hold replicas). Every site with replicas has one or
//          more relays. WAN links carry `rate` in each direction independently. A connection from
//          site A to site B takes the route with the widest narrowest link (ties: least rtt, then
//          fewest links, then names), so it may pass other sites. Inside a site only the NICs
//          count. A site without relays only passes traffic on.
// Errors   invalid_input naming the site or link: duplicate names, no or two trainers, a link to
//          nowhere, listed twice or with rate 0, a NIC or store with rate 0 where one is needed,
//          a negative time, a site no route reaches, a site with replicas and no relay.
// Limits   256 sites, 64 relays a site, 100,000 relays and replicas, 1 Pbit/s, an rtt of one hour.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.hpp"
#include "engine/base/units.hpp"

namespace refit {

struct ReplicaSpec {
    std::string name;        // unique in its site; no '/', no "relay-" in front
    std::string layout;      // serving layout, e.g. "tp:tp4"
    Nanoseconds join_at{0};  // 0: a member from the start; later: joins from anchor + deltas
};

struct Site {
    std::string name;
    bool trainer = false;
    std::uint32_t relays = 1;
    std::vector<ReplicaSpec> replicas;
    BitsPerSecond relay_nic;    // of the source and each relay, per direction
    BitsPerSecond replica_nic;  // of each replica, per direction
    BitsPerSecond store_rate;   // between this site and the object store
    Nanoseconds store_rtt;
    Nanoseconds local_rtt;  // between nodes of this site
};

struct WanLink {
    std::string from;
    std::string to;
    BitsPerSecond rate;  // per direction
    Nanoseconds rtt;
    std::string source;  // where rate and rtt come from
};

struct Topology {
    std::string name;
    std::vector<Site> sites;
    std::vector<WanLink> links;

    std::optional<std::size_t> find_site(std::string_view site) const;
    std::size_t trainer_site() const;  // after validate()
};

Status validate(const Topology& topology);

/// The sites a link joins, as indices.
struct LinkEnds {
    std::size_t from = 0;
    std::size_t to = 0;
};

/// For every link of a topology that passed validate(), in its order.
std::vector<LinkEnds> link_ends(const Topology& topology);

struct Route {
    std::vector<std::size_t> links;  // indices into Topology::links, in travel order
    std::vector<bool> forward;       // true: from -> to
    BitsPerSecond bottleneck;        // of the links alone, NICs come on top; no links, no limit
    Nanoseconds rtt;                 // sum of link rtts, or the site's local_rtt
};

/// Between two sites; nullopt when there is none. Same site: no links, local_rtt.
std::optional<Route> find_route(const Topology& topology, std::size_t from, std::size_t to);

/// Every rate times `factor` (0 < factor <= 1e6), rtts as they are; rounds to whole bit/s, >= 1.
/// A rate of 0 (none is needed there) stays 0.
Topology scaled(const Topology& topology, double factor);

}  // namespace refit
