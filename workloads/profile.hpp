// Change profiles on the weight field: which words of a made-up model change, and how far.
//
// Model     a profile is a plain value in one list. With a catalog, a rate and a seed it gives each
//           tensor its field (kernels/weight_field.hpp), from which any word of any version
//           follows. make_pair() builds two versions of a model of its own in memory.
// Catalog   decoder layers in Hugging Face names (attention, gated MLP, norms; moe: a router and 8
//           experts); embedding and head take up what is left: at least four layers, as wide as
//           fits. Standard deviations and activities by kind of tensor as in the shared traces.
// Changed   changed_per_million of all words from one version to the next, net and in expectation;
//           of `moe`, too, although its idle experts have their part in "all". The base follows it
//           in profile `real` alone, whose masters have moved before.
// Steps     optimizer steps between two versions: of adam, they make no difference at one rate; of
//           real, more of them change fewer words further. A profile's own are one; of real, as
//           many as its trace took to the rate.
// Scales    standard deviation and activity by kind of tensor, as in the shared traces. by_depth
//           lets the standard deviation rise by a fifth from the first layer to the last: a choice
//           of the model; the MLPs of the dense trace rise by an eighth from layer 1 to 4.
// Exact     one seed gives the same bytes everywhere and for any device.
// Limit     kPairWordsMin <= words <= kPairWordsMax, rounded down to a multiple of the model's
//           width; 4 bytes per word. changed_per_million <= the profile's most: drifting weights
//           leave ever fewer words unchanged, but never none.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.hpp"
#include "engine/coords/catalog.hpp"
#include "kernels/device.hpp"
#include "kernels/weight_field.hpp"

namespace refit {

struct Profile {
    std::string_view name;
    std::string_view summary;  // one line, with its source
    FieldLaw law = FieldLaw::spread;
    bool any_word = false;      // a change leads to any other word, not one step away
    bool hot_rows = false;      // one row in ten has nine changes in ten
    bool idle_experts = false;  // seven experts in eight do not change
    std::uint32_t changed_per_million_max = 1'000'000;
};

/// All there are: uniform, adam, clustered, moe, random-bits, constant-density, real.
std::span<const Profile> profiles();

/// Null: no such name.
const Profile* find_profile(std::string_view name);

/// What training makes of the weights it trains.
enum class Masters : std::uint8_t {
    fp32,       // they keep what a cast loses
    stochastic  // none: casts round up or down by chance. One step changes as many, as far
};

/// How a rate comes about: sizes of deltas differ at one rate.
struct Preset {
    std::string_view name;
    std::string_view profile;
    std::uint32_t changed_per_million = 0;
    std::uint32_t steps = 1;  // between two versions
    Masters masters = Masters::fp32;
    bool fresh = false;  // masters began as BF16 words; else each has its place in its cell
};

std::span<const Preset> presets();

/// Null: no such name.
const Preset* find_preset(std::string_view name);

/// Rates of their own, by tensor_kind(), in changed words per million.
using KindRates = std::map<std::string, std::uint32_t>;

struct FieldSpec {
    Profile profile;
    std::uint32_t changed_per_million = 30'000;  // of all words that no kind has a rate for
    std::uint64_t seed = 1;
    std::uint32_t steps = 0;  // 1..kRateStepsMax; 0: the profile's own. Laws drift and fresh only
    bool by_depth = false;
    KindRates kinds = {};
};

/// A profile's own steps at a rate.
std::uint32_t own_steps(const Profile& profile, std::uint32_t changed_per_million);

/// Whether a profile can have this rate at all; invalid_input names both.
Status check_rate(const Profile& profile, std::uint32_t changed_per_million);

/// The field of every tensor, by canonical id; invalid_input for a rate that the profile does not
/// reach on these tensors.
Result<std::vector<FieldTensor>> solve_field(const Catalog& catalog, const FieldSpec& spec);

/// The same with the profile's own steps, for a rate that is known to be reached.
std::vector<FieldTensor> make_field(const Catalog& catalog,
                                    const Profile& profile,
                                    std::uint32_t changed_per_million,
                                    std::uint64_t seed);

/// Fills both versions of the words of one tensor from its word `first` on; equal lengths.
void fill_words(FillField fill,
                const FieldTensor& field,
                std::uint64_t first,
                FieldSpan versions,
                std::span<std::uint16_t> base,
                std::span<std::uint16_t> next);

inline constexpr std::uint64_t kPairWordsMin = std::uint64_t{16} << 10;
inline constexpr std::uint64_t kPairWordsMax = std::uint64_t{1} << 30;

struct PairSpec {
    Profile profile;
    std::uint64_t words = std::uint64_t{16} << 20;
    std::uint32_t changed_per_million = 30'000;
    std::uint64_t seed = 1;
    FieldSpan versions;
    std::uint32_t steps = 0;  // as FieldSpec has them
};

/// All words of two versions of one catalog, in canonical order.
struct WordPair {
    Catalog catalog;
    std::vector<std::uint16_t> base;
    std::vector<std::uint16_t> next;
};

WordPair make_pair(Device& device, const PairSpec& spec);

}  // namespace refit
