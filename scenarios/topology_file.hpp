// A topology as TOML tables: the same keys in a file of its own and inline in a scenario.
#pragma once

#include "engine/net/topology.hpp"
#include "scenarios/toml_document.hpp"

namespace refit {

/// Reads the keys of one topology; failures are recorded in the table. Does not validate.
Topology read_topology(TomlTable table);

}  // namespace refit
