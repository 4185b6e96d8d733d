// The tables of the report: everything the record has, for people.
#pragma once

#include <iosfwd>

#include "viz/saved_run.hpp"

namespace refit::report {

/// The figures a reader looks for first, as cards.
void write_cards(const nlohmann::ordered_json& record, std::ostream& out);
void write_tables(const SavedRun& run, std::ostream& out);

}  // namespace refit::report
