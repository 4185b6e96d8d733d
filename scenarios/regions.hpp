// Cloud regions, what was measured between them, and what sending and idle GPUs cost there.
//
// Model    A link carries what one pair of VMs moved over 64 connections, in its direction alone;
//          more pairs in parallel carry that many times as much. $/GB is what the sender pays.
// File     JSON, schema "refit.regions/1": read_on, sources {grid, link}, regions, links {from, to,
//          gbps_64conn, rtt_ms, usd_per_gb (or null)}, egress and gpu_hour (prices as quoted, one
//          or more a row), gpu_defaults (one price a GPU, for plans). Unknown keys are errors.
// Limits   1 MiB; 256 regions; rates to 10,000 Gbit/s, round trips to 10 s, $1,000 a GB or hour.
// Errors   load_regions(): not_found; invalid_input: "links[3].rtt_ms: reason" with the file in
//          `where`. region_topology(): invalid_input, with the nearest names in `what`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.hpp"
#include "engine/base/units.hpp"
#include "engine/net/topology.hpp"

namespace refit {

struct RegionLink {
    std::string from;
    std::string to;
    BitsPerSecond rate;  // of one pair of VMs
    Nanoseconds rtt;
    std::optional<double> usd_per_gb;
};

/// A price as somebody quotes it: one number, a range, or one for each of several cases.
struct PriceQuote {
    std::string name;  // a provider and what is sent; a GPU and the tier of its seller
    std::vector<double> usd;
    std::string date;
    std::string source;
};

struct GpuPrice {
    std::string gpu;
    double usd_per_hour = 0;
    std::string source;
};

struct Regions {
    std::vector<std::string> names;
    std::vector<RegionLink> links;
    std::string link_source;
    std::vector<PriceQuote> egress_quotes;  // $ per GB
    std::vector<PriceQuote> gpu_quotes;     // $ per GPU-hour
    std::vector<GpuPrice> gpu_defaults;

    /// Null: not measured in this direction.
    const RegionLink* find_link(std::string_view from, std::string_view to) const;
    /// Null: no price of such a GPU.
    const GpuPrice* find_gpu(std::string_view gpu) const;
};

Result<Regions> parse_regions(std::string_view text);
Result<Regions> load_regions(const std::filesystem::path& file);

/// Where the shipped file is.
std::filesystem::path regions_file(const std::filesystem::path& data_root);

/// Rollouts in one region.
struct RegionTarget {
    std::string name;
    std::uint32_t gpus = 0;  // all replicas together; 0: not said
    std::uint32_t replicas = 1;
};

/// "REGION[,gpus=N[,replicas=K]]", keys in any order: 1 to 1,000,000 GPUs, 1 to 1,000 replicas.
Result<RegionTarget> parse_region_target(std::string_view text);

/// A trainer's site in `from`, one site a target, links between all of them that were measured.
/// The site of defaults that holds its trainer gives NICs, store and local round trip; a replica
/// of it gives the layout. A link from the trainer has the rate and round trip measured from it,
/// one between targets the worse of the two directions. `pairs`: VM pairs in parallel on every
/// link.
Result<Topology> region_topology(const Regions& regions,
                                 const std::string& from,
                                 const std::vector<RegionTarget>& targets,
                                 std::uint32_t pairs,
                                 const Topology& defaults);

}  // namespace refit
