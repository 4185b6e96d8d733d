// The result of `refit bench codec` as a picture: one SVG file that needs nothing else.
//
// Picture   one panel per group of samples ("adam" at 1, 3 and 5 %; "dense" over 1, 4, 16 steps):
//           a line per codec in the order of the rows, a mark per sample, in bits per parameter,
//           logarithmic. Dotted lines with a hollow mark are the bounds. One more panel: encode and
//           decode over compare, median and range over all samples.
// Emphasis  the first codec; the others are measured by it.
// Left out  rows that are not exact or not positive, samples and codecs without any row.
// Exact     the same rows give the same bytes; host.wall_seconds has no part in it.
// Shapes    1600 units wide; 900 high for ten codecs and up to nine groups.
#pragma once

#include <string>
#include <vector>

#include "app/bench/report.hpp"

namespace refit {

std::string bench_plot(const std::vector<BenchSample>& samples,
                       const std::vector<BenchRow>& rows,
                       const BenchHost& host);

}  // namespace refit
