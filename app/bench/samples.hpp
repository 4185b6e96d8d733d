// What `refit bench codec` runs over: pairs of versions, made when their first row is measured.
//
// Without files   every profile at 1, 3 and 5 % changed, and the shipped trace over 1, 4 and 16
//                 steps.
// With files      the tensors that are BF16 or F16 with one shape on both sides; whole tiles of
//                 them, drawn by kind and layer (tile_sample.hpp), up to a fraction.
// Memory          at most kSampleWordsMax words a sample; with the copy that the bench makes and
//                 what it encodes, 512 MiB of words.
// Errors          as checkpoint.hpp and trace.hpp; invalid_input: two checkpoints have no such
//                 tensor in common, or a fraction so small that no tile fits.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/console.hpp"
#include "engine/base/result.hpp"
#include "kernels/device.hpp"
#include "workloads/profile.hpp"

namespace refit {

inline constexpr std::uint64_t kSampleWordsMax = std::uint64_t{64} << 20;

struct BenchSample {
    std::string name;                // "uniform-3%", part of a row's name
    std::string profile;             // "uniform", "trace", "files"
    std::vector<std::string> title;  // lines for people: where the words come from
    std::uint64_t words = 0;
    double sampled_fraction = 1;
    std::function<std::shared_ptr<const WordPair>()> make;
};

Result<std::vector<BenchSample>> built_in_samples(const Console& console,
                                                  const std::shared_ptr<Device>& device,
                                                  std::uint64_t profile_words,
                                                  std::uint64_t seed);

struct FilePair {
    std::filesystem::path base;
    std::filesystem::path next;
    std::optional<double> fraction;  // 0 < fraction <= 1; absent: as much as memory allows
    std::uint64_t seed = 1;
};

Result<BenchSample> file_sample(const Console& console, const FilePair& files);

}  // namespace refit
