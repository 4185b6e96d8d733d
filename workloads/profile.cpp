#include "workloads/profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <string>
#include <utility>

#include "engine/base/rng.hpp"
#include "engine/coords/tensor_layer.hpp"
#include "workloads/field_rate.hpp"

namespace refit {
namespace {

constexpr Profile kProfiles[] = {
    {.name = "uniform",
     .summary = "each word alike, by one step up or down: leaves a coder nothing but the rate"},
    {.name = "adam",
     .summary = "AdamW on FP32 masters, steady state: the law of our RL traces (notes/traces.md)",
     .law = FieldLaw::drift,
     .changed_per_million_max = 950'000},
    {.name = "clustered",
     .summary = "one row in ten has 90 % of the changes, by one step (notes/codec.md, section 1)",
     .hot_rows = true},
    {.name = "moe",
     .summary = "adam with seven experts in eight idle (notes/codec.md, section 1)",
     .law = FieldLaw::drift,
     .idle_experts = true,
     .changed_per_million_max = 250'000},
    {.name = "random-bits",
     .summary = "each word alike, to any other 16 bits: what no trainer does",
     .any_word = true},
    {.name = "constant-density",
     .summary = "as many in each 4096 words, whatever the exponents: what a naive emulator does",
     .law = FieldLaw::even},
    {.name = "real",
     .summary =
         "a fresh start 30 steps ago, at the learning rate of our dense trace (notes/traces.md)",
     .law = FieldLaw::fresh,
     .changed_per_million_max = 950'000},
};

constexpr Preset kPresets[] = {
    {.name = "1%", .profile = "adam", .changed_per_million = 10'000},
    {.name = "1%-fresh", .profile = "real", .changed_per_million = 10'000, .fresh = true},
    {.name = "1%-stochastic",
     .profile = "adam",
     .changed_per_million = 10'000,
     .masters = Masters::stochastic},
    {.name = "3%-higher-lr", .profile = "adam", .changed_per_million = 30'000},
    {.name = "3%-higher-lr-fresh", .profile = "real", .changed_per_million = 30'000, .fresh = true},
    {.name = "3%-multi-step", .profile = "adam", .changed_per_million = 30'000, .steps = 4},
    {.name = "3%-multi-step-fresh",
     .profile = "real",
     .changed_per_million = 30'000,
     .steps = 4,
     .fresh = true},
    {.name = "5%-higher-lr", .profile = "adam", .changed_per_million = 50'000},
    {.name = "5%-higher-lr-fresh", .profile = "real", .changed_per_million = 50'000, .fresh = true},
    {.name = "5%-multi-step", .profile = "adam", .changed_per_million = 50'000, .steps = 9},
    {.name = "5%-multi-step-fresh",
     .profile = "real",
     .changed_per_million = 50'000,
     .steps = 9,
     .fresh = true},
};

/// Of a million words of the dense trace, those that differ 1, 2, .. 16 steps after its version 0.
constexpr std::uint32_t kTraceRates[] = {8402,  14613, 19995, 24803, 29166, 33120, 36837, 40300,
                                         43581, 46661, 49636, 52518, 55212, 57865, 60348, 62708};

constexpr std::uint64_t kWidthMax = 4096;
constexpr std::uint64_t kLayersMin = 4;
constexpr std::uint64_t kExperts = 8;
constexpr std::uint64_t kBlockWords = std::uint64_t{64} << 10;  // made by one lane at a time

/// What the tensors of one kind have in common. Standard deviations are those of the dense trace
/// less 7 %, which gives its share of small weights: a sum of three uniforms has fewer. Spreads are
/// such that the rates of rows and columns vary as much as in that of the three traces where they
/// vary most. A rate varies 0.85 times as much as the activity, because high rates saturate.
struct Kind {
    std::string_view name;
    std::uint32_t sigma;       // in 1/256
    std::uint32_t row_spread;  // in 1/64
    std::uint32_t column_levels;
};

constexpr Kind kKinds[] = {
    {"embed_tokens", 11, 42, 8}, {"lm_head", 13, 30, 4}, {"q_proj", 11, 32, 8},
    {"k_proj", 10, 22, 8},       {"v_proj", 9, 26, 8},   {"o_proj", 8, 23, 8},
    {"gate_proj", 10, 21, 8},    {"up_proj", 9, 18, 8},  {"down_proj", 8, 13, 8},
};
constexpr Kind kOtherKind{"", 9, 18, 4};

const Kind& kind_of(const Tensor& tensor) {
    const std::string kind = tensor_kind(tensor.name);
    const auto* const found = std::ranges::find(kKinds, kind, &Kind::name);
    return found == std::end(kKinds) ? kOtherKind : *found;
}

/// An expert of a layer changes when its number in its group of eight is drawn for the layer.
bool is_idle(const Tensor& tensor, std::uint64_t seed) {
    constexpr std::string_view kMark = ".experts.";
    const std::size_t mark = tensor.name.find(kMark);
    if (mark == std::string::npos) return false;
    std::uint64_t expert = 0;
    const char* const number = tensor.name.data() + mark + kMark.size();
    if (std::from_chars(number, tensor.name.data() + tensor.name.size(), expert).ptr == number)
        return false;
    std::uint64_t group = draw(seed, 3, expert / kExperts);
    for (std::size_t i = 0; i < mark; ++i)
        group = mix64(group + static_cast<unsigned char>(tensor.name[i]));
    return expert % kExperts != group % kExperts;
}

/// In units of 2^-32.
std::uint64_t chance(std::uint64_t per_million) { return (per_million << 32) / 1'000'000; }

void set_chances(FieldTensor& field, bool hot_rows, std::uint32_t per_million) {
    field.chance = field.hot_chance = chance(per_million);
    if (!hot_rows) return;
    const std::uint64_t hot = std::min<std::uint64_t>(std::uint64_t{9} * per_million, 1'000'000);
    field.hot_chance = chance(hot);
    field.chance = (chance(std::uint64_t{10} * per_million) - field.hot_chance) / 9;
}

/// From the highest number.
std::uint64_t count_layers(const Catalog& catalog) {
    std::uint64_t layers = 1;
    for (const Tensor& tensor : catalog.tensors())
        layers = std::max(layers, tensor_layer(tensor.name).value_or(0) + 1);
    return layers;
}

/// What the depth of a layer adds to a standard deviation of about ten: in the mean over the key,
/// -1 in the first layer to +1 in the last.
std::int32_t depth_step(std::uint64_t layer, std::uint64_t layers, std::uint64_t key) {
    const std::uint64_t draw = key >> 40 & 0xFFFF;
    return static_cast<std::int32_t>(((2 * layer + 1) * 0x10000 / layers + draw) >> 16) - 1;
}

/// A vector that multiplies is around one; one that is added is around zero.
bool is_added(const Tensor& tensor) {
    return tensor.name.ends_with("bias") || tensor.name.ends_with(".sinks");
}

FieldTensor field_of(const Tensor& tensor,
                     std::uint64_t id,
                     const FieldSpec& spec,
                     std::uint32_t per_million,
                     std::uint64_t layers) {
    const Kind& kind = kind_of(tensor);
    FieldTensor field;
    field.key = draw(spec.seed, 2, id);
    field.columns = tensor.columns;
    field.sigma = kind.sigma - 1 + static_cast<std::uint32_t>(field.key % 3);
    field.sigma_exponent = -8;
    if (const auto layer = tensor_layer(tensor.name); spec.by_depth && layer)
        field.sigma = static_cast<std::uint32_t>(static_cast<std::int32_t>(field.sigma) +
                                                 depth_step(*layer, layers, field.key));
    field.law = spec.profile.law;
    field.any_word = spec.profile.any_word;
    const bool matrix = tensor.rows > 1;
    if (!matrix && !is_added(tensor)) {
        field.around_one = true;
        field.sigma = 8 + static_cast<std::uint32_t>(field.key % 8);
    }
    if (matrix && (field.law == FieldLaw::drift || field.law == FieldLaw::fresh)) {
        field.row_spread = kind.row_spread;
        field.column_levels = kind.column_levels;
    }
    set_chances(field, spec.profile.hot_rows && matrix, per_million);
    const bool still =
        per_million == 0 || (spec.profile.idle_experts && is_idle(tensor, spec.seed));
    if (still) field.law = FieldLaw::still;
    return field;
}

constexpr std::uint64_t mlp_rows(std::uint64_t width) { return width / 4 * 11; }

/// How wide an expert is: two of eight have what a dense layer has.
constexpr std::uint64_t expert_rows(std::uint64_t width) { return width / 8 * 11; }

constexpr std::uint64_t layer_words(std::uint64_t width, bool experts) {
    const std::uint64_t attention = 2 * width * width + 2 * (width / 4) * width;
    const std::uint64_t mlp =
        experts ? kExperts * (3 * expert_rows(width) * width + width) : 3 * mlp_rows(width) * width;
    return attention + mlp + 2 * width;
}

Catalog model_of(std::uint64_t words, bool experts) {
    // Layers may take seven eighths of the words; embedding and head are the rest.
    const std::uint64_t budget = words / 8 * 7;
    std::uint64_t width = kWidthMax;
    while (kLayersMin * layer_words(width, experts) > budget) width /= 2;
    const std::uint64_t layers = budget / layer_words(width, experts);
    const std::uint64_t rest = words - layers * layer_words(width, experts) - width;

    std::vector<TensorSpec> specs;
    const auto add = [&](const std::string& name, std::vector<std::uint64_t> shape) {
        specs.push_back({name + ".weight", WordType::bf16, std::move(shape)});
    };
    const auto add_mlp = [&](const std::string& prefix, std::uint64_t rows) {
        add(prefix + "gate_proj", {rows, width});
        add(prefix + "up_proj", {rows, width});
        add(prefix + "down_proj", {width, rows});
    };
    const std::uint64_t vocabulary = rest / width;
    add("model.embed_tokens", {vocabulary - vocabulary / 2, width});
    add("lm_head", {vocabulary / 2, width});
    add("model.norm", {width});
    for (std::uint64_t layer = 0; layer < layers; ++layer) {
        const std::string prefix = "model.layers." + std::to_string(layer) + ".";
        add(prefix + "self_attn.q_proj", {width, width});
        add(prefix + "self_attn.k_proj", {width / 4, width});
        add(prefix + "self_attn.v_proj", {width / 4, width});
        add(prefix + "self_attn.o_proj", {width, width});
        add(prefix + "input_layernorm", {width});
        add(prefix + "post_attention_layernorm", {width});
        if (!experts) {
            add_mlp(prefix + "mlp.", mlp_rows(width));
            continue;
        }
        add(prefix + "mlp.gate", {kExperts, width});
        for (std::uint64_t e = 0; e < kExperts; ++e)
            add_mlp(prefix + "mlp.experts." + std::to_string(e) + ".", expert_rows(width));
    }
    auto catalog = Catalog::make(std::move(specs));
    REFIT_ASSERT(catalog.has_value());
    return std::move(catalog).value();
}

/// Tensors that have one rate between them.
struct RateGroup {
    std::uint32_t per_million = 0;
    std::vector<FieldShare> shares;
    std::vector<std::uint32_t> ids;  // in the catalog, of each share
};

/// Steps and activity of all tensors of a group.
Status solve_group(const std::string& kind, const FieldSpec& spec, RateGroup& group) {
    REFIT_CHECK(check_rate(spec.profile, group.per_million));
    const std::uint32_t steps =
        spec.steps > 0 ? spec.steps : own_steps(spec.profile, group.per_million);
    const FieldLaw law = spec.profile.law;
    std::int32_t activity = 0;
    if ((law == FieldLaw::drift || law == FieldLaw::fresh) && group.per_million > 0) {
        const auto found = drift_activity(group.shares, group.per_million, steps);
        if (!found)
            return Error{ErrorCode::invalid_input,
                         fmt::format("profile {} does not change {} % of the {}words of this model",
                                     spec.profile.name, group.per_million / 1e4,
                                     kind.empty() ? "" : kind + " ")};
        activity = *found;
    }
    for (FieldShare& share : group.shares) {
        share.field.activity = activity;
        share.field.steps = steps;
    }
    return Done{};
}

}  // namespace

std::span<const Profile> profiles() { return kProfiles; }

const Profile* find_profile(std::string_view name) {
    const auto* const found = std::ranges::find(kProfiles, name, &Profile::name);
    return found == std::end(kProfiles) ? nullptr : found;
}

std::span<const Preset> presets() { return kPresets; }

const Preset* find_preset(std::string_view name) {
    const auto* const found = std::ranges::find(kPresets, name, &Preset::name);
    return found == std::end(kPresets) ? nullptr : found;
}

std::uint32_t own_steps(const Profile& profile, std::uint32_t changed_per_million) {
    if (profile.law != FieldLaw::fresh) return 1;
    std::uint32_t steps = 1;
    while (steps < std::size(kTraceRates) &&
           2 * changed_per_million > kTraceRates[steps - 1] + kTraceRates[steps])
        ++steps;
    return steps;
}

Status check_rate(const Profile& profile, std::uint32_t changed_per_million) {
    if (changed_per_million <= profile.changed_per_million_max) return Done{};
    return Error{ErrorCode::invalid_input,
                 fmt::format("profile {} changes {} % of the words at most, not {} %", profile.name,
                             profile.changed_per_million_max / 1e4, changed_per_million / 1e4)};
}

Result<std::vector<FieldTensor>> solve_field(const Catalog& catalog, const FieldSpec& spec) {
    REFIT_ASSERT(spec.steps <= kRateStepsMax);
    const std::uint64_t layers = count_layers(catalog);
    std::map<std::string, RateGroup> groups;  // by kind; all that has no rate of its own is ""
    for (std::uint32_t id = 0; id < catalog.tensors().size(); ++id) {
        const Tensor& tensor = catalog.tensor(id);
        const auto own = spec.kinds.find(tensor_kind(tensor.name));
        const bool has_own = own != spec.kinds.end();
        RateGroup& group = groups[has_own ? own->first : ""];
        group.per_million = has_own ? own->second : spec.changed_per_million;
        group.shares.push_back(
            {field_of(tensor, id, spec, group.per_million, layers), tensor.words});
        group.ids.push_back(id);
    }
    std::vector<FieldTensor> fields(catalog.tensors().size());
    for (auto& [kind, group] : groups) {
        const Status solved = solve_group(kind, spec, group);
        if (!solved.has_value()) return solved.error();
        for (std::size_t i = 0; i < group.ids.size(); ++i)
            fields[group.ids[i]] = group.shares[i].field;
    }
    return fields;
}

std::vector<FieldTensor> make_field(const Catalog& catalog,
                                    const Profile& profile,
                                    std::uint32_t changed_per_million,
                                    std::uint64_t seed) {
    auto fields = solve_field(catalog, {profile, changed_per_million, seed});
    REFIT_ASSERT(fields.has_value());
    return std::move(fields).value();
}

void fill_words(FillField fill,
                const FieldTensor& field,
                std::uint64_t first,
                FieldSpan versions,
                std::span<std::uint16_t> base,
                std::span<std::uint16_t> next) {
    REFIT_ASSERT(base.size() == next.size());
    for (std::size_t done = 0; done < base.size();) {
        const std::uint64_t row = (first + done) / field.columns;
        const std::uint64_t column = (first + done) % field.columns;
        const std::size_t count =
            std::min<std::uint64_t>(base.size() - done, field.columns - column);
        fill(field, {row, static_cast<std::uint32_t>(column)}, versions, base.subspan(done, count),
             next.subspan(done, count));
        done += count;
    }
}

WordPair make_pair(Device& device, const PairSpec& spec) {
    REFIT_ASSERT(spec.words >= kPairWordsMin && spec.words <= kPairWordsMax);
    WordPair pair{model_of(spec.words, spec.profile.idle_experts), {}, {}};
    pair.base.resize(pair.catalog.words().count);
    pair.next.resize(pair.base.size());
    const auto solved = solve_field(pair.catalog, {.profile = spec.profile,
                                                   .changed_per_million = spec.changed_per_million,
                                                   .seed = spec.seed,
                                                   .steps = spec.steps});
    REFIT_ASSERT(solved.has_value());
    const std::vector<FieldTensor>& fields = solved.value();

    struct Block {
        std::uint32_t tensor;
        std::uint64_t first;
        std::uint64_t words;
    };
    std::vector<Block> blocks;
    for (std::uint32_t id = 0; id < fields.size(); ++id) {
        const std::uint64_t words = pair.catalog.tensor(id).words;
        for (std::uint64_t at = 0; at < words; at += kBlockWords)
            blocks.push_back({id, at, std::min(kBlockWords, words - at)});
    }
    const FillField fill = field_levels().front().fill;
    device.for_each(blocks.size(), [&](std::uint64_t b, unsigned) {
        const Block& block = blocks[b];
        const std::uint64_t at = pair.catalog.tensor(block.tensor).first_word + block.first;
        fill_words(fill, fields[block.tensor], block.first, spec.versions,
                   std::span(pair.base).subspan(at, block.words),
                   std::span(pair.next).subspan(at, block.words));
    });
    return pair;
}

}  // namespace refit
