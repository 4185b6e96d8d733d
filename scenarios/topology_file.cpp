#include "scenarios/topology_file.hpp"

#include "scenarios/shipped.hpp"

namespace refit {
namespace {

constexpr std::string_view kSchema = "refit.topology/1";

ReplicaSpec read_replica(TomlTable& table, std::size_t number) {
    ReplicaSpec replica;
    replica.name = "replica-" + std::to_string(number);
    table.optional("name", replica.name);
    table.required("layout", replica.layout);
    table.optional("join_at", replica.join_at);
    table.finish();
    return replica;
}

Site read_site(TomlTable& table) {
    Site site;
    table.required("name", site.name);
    table.optional("trainer", site.trainer);
    table.optional("relays", site.relays);
    table.required("relay_nic", site.relay_nic);
    table.required("replica_nic", site.replica_nic);
    table.required("store_rate", site.store_rate);
    table.required("store_rtt", site.store_rtt);
    table.required("local_rtt", site.local_rtt);
    for (TomlTable& replica : table.tables("replica"))
        site.replicas.push_back(read_replica(replica, site.replicas.size() + 1));
    table.finish();
    return site;
}

WanLink read_link(TomlTable& table) {
    WanLink link;
    table.required("from", link.from);
    table.required("to", link.to);
    table.required("rate", link.rate);
    table.required("rtt", link.rtt);
    table.required("source", link.source);
    table.finish();
    return link;
}

}  // namespace

Topology read_topology(TomlTable table) {
    Topology topology;
    std::string schema;
    table.required("schema", schema);
    if (!schema.empty() && schema != kSchema)
        table.fail("schema", "must be \"" + std::string(kSchema) + "\"");
    table.required("name", topology.name);
    for (TomlTable& site : table.tables("site")) topology.sites.push_back(read_site(site));
    for (TomlTable& link : table.tables("link")) topology.links.push_back(read_link(link));
    table.finish();
    return topology;
}

Result<Topology> load_topology(const std::filesystem::path& file) {
    REFIT_TRY(document, TomlDocument::parse_file(file));
    Topology topology = read_topology(document.root());
    REFIT_CHECK(document.status());
    Status valid = validate(topology);
    if (!valid.has_value()) return in_file(valid.error(), file.string());
    return topology;
}

}  // namespace refit
