// A run as text for other programs: CSV, Markdown, Prometheus.
//
// CSV       one row a figure of the record: `figure` (dotted key), `value`, `unit`, `provenance`,
//           `ci95_low`, `ci95_high`; keys as viz/record_values.hpp makes them. Numbers as the
//           record has them.
// Markdown  the headline, the refits, idle by cause, edges, faults, each a table.
// Prometheus  text format 0.0.4, for a node exporter's textfile folder: base units, totals end in
//           _total.
// Source    https://prometheus.io/docs/instrumenting/exposition_formats/
#pragma once

#include <iosfwd>

#include "viz/saved_run.hpp"

namespace refit {

void write_csv(const SavedRun& run, std::ostream& out);
void write_markdown(const SavedRun& run, std::ostream& out);
void write_prometheus(const SavedRun& run, std::ostream& out);

}  // namespace refit
