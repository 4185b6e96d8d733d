// How a pair of checkpoints differs: what `refit profile` measures, and its file, refit.profile/1.
//
// Counts    exact, of the words that were looked at: by tensor kind, by layer, by word type and old
//           exponent, by size of the jump in monotone integer order (1 is one last place). Rates
//           and shares are quotients of them. A layer is the first all-digit component of a name.
// One step  where several optimizer steps lie between the two: one_step.hpp, exponent by exponent.
// File      TOML, schema = "refit.profile/1": the counts, the entropy bound, and what every codec
//           made of these words. results/README.md lists the keys.
// Errors    load_profile() and parse_profile(), which take exactly what profile_toml() writes:
//           not_found; invalid_input with the line: an unknown, missing or repeated key, a value
//           of another type or out of range, counts that do not add up, entries out of order, a
//           codec that does not exist, more than kProfileTextMax bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.hpp"
#include "engine/codec/change_stats.hpp"
#include "engine/coords/tensor_layer.hpp"
#include "kernels/device.hpp"
#include "workloads/profile.hpp"

namespace refit {

inline constexpr std::string_view kProfileSchema = "refit.profile/1";
inline constexpr std::uint64_t kProfileTextMax = std::uint64_t{16} << 20;

/// Words whose old exponent bits are `exponent`.
struct ExponentChange {
    WordType type = WordType::bf16;
    std::uint32_t exponent = 0;  // as stored: 0..255 for BF16, 0..31 for F16
    std::uint64_t words = 0;
    std::uint64_t changed = 0;
};

/// log2 of the smallest weight of an exponent; nothing for 0, which holds zero and subnormals.
std::optional<int> power_of_two(const ExponentChange& exponent);

/// Changed words by size of the jump. A change of sign is counted in its class as well.
struct Jumps {
    std::uint64_t one = 0;
    std::uint64_t two = 0;
    std::uint64_t three_to_eight = 0;
    std::uint64_t more = 0;
    std::uint64_t sign_flips = 0;
};

/// The measured words as one delta, without file headers.
struct CodecPayload {
    std::string name;
    std::uint64_t container_bytes = 0;
};

struct ChangeProfile {
    std::string base;  // names of the checkpoints
    std::string next;
    std::uint32_t steps = 1;             // optimizer steps between the two, as the user says
    std::uint64_t checkpoint_words = 0;  // BF16 and F16 words of one shape on both sides
    std::uint64_t words = 0;             // those that were measured
    std::uint64_t changed = 0;
    double bound_bits_per_parameter = 0;
    Jumps jumps;
    std::map<std::string, KindChange> kinds;
    std::map<std::uint64_t, KindChange> layers;
    KindChange outside_layers;
    std::vector<ExponentChange> exponents;  // by type and exponent; none is empty
    std::vector<CodecPayload> codecs;
    // The rest of a delta of the whole checkpoint.
    std::uint64_t other_bytes = 0;          // tensors that are not coded as words
    std::uint64_t other_coded_bytes = 0;    // those of them that were coded
    std::uint64_t other_payload_bytes = 0;  // of all of them, at the ratio of the coded ones
    std::uint64_t header_bytes = 0;         // file headers and index in a delta

    double sampled_fraction() const {
        return static_cast<double>(words) / static_cast<double>(checkpoint_words);
    }
    /// Was every byte of the checkpoint coded?
    bool whole() const { return words == checkpoint_words && other_coded_bytes == other_bytes; }
};

/// Counts of all words of a pair, which has one at least. `stats` are those of measure_change().
/// Names, steps, codecs and the rest of the delta stay empty.
ChangeProfile measure_profile(Device& device, const WordPair& pair, const ChangeStats& stats);

/// The share of the measured words that one step changes, by the law; of the measured rate itself
/// when steps is 1.
double one_step_changed(const ChangeProfile& profile);

/// The same of one exponent.
double one_step_changed(const ExponentChange& exponent, std::uint32_t steps);

/// The measured rate of each kind, as a weight field takes it.
KindRates kind_rates(const ChangeProfile& profile);

double bits_per_parameter(const ChangeProfile& profile, const CodecPayload& codec);

/// A delta of the whole checkpoint: the words at the ratio of the measured ones, other tensors and
/// headers. Exact to the byte for a checkpoint that is whole() and has no other tensors.
std::uint64_t delta_bytes(const ChangeProfile& profile, const CodecPayload& codec);

std::string profile_toml(const ChangeProfile& profile);
Result<ChangeProfile> parse_profile(std::string_view text);
Result<ChangeProfile> load_profile(const std::filesystem::path& file);

}  // namespace refit
