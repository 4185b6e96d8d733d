#include "workloads/change_profile.hpp"

#include <algorithm>
#include <array>

#include "engine/codec/xc_tables.hpp"
#include "workloads/one_step.hpp"

namespace refit {
namespace {

constexpr std::uint64_t kBlockWords = kTileWordsMax;
constexpr std::size_t kTypes = 2;
constexpr std::size_t kExponents = 256;

constexpr std::size_t type_index(WordType type) { return type == WordType::f16 ? 1 : 0; }

/// A run of one tensor that one lane counts.
struct Block {
    std::uint32_t tensor;
    std::uint64_t first;  // of the pair's words
    std::uint64_t words;
    std::uint64_t changed = 0;
};

struct LaneCounts {
    std::array<std::array<KindChange, kExponents>, kTypes> exponents{};
    Jumps jumps;
};

void add_jump(std::uint16_t base, std::uint16_t next, Jumps& jumps) {
    const std::uint16_t size = xc_step_size(xc_step(base, next));
    ++(size == 1   ? jumps.one
       : size == 2 ? jumps.two
       : size <= 8 ? jumps.three_to_eight
                   : jumps.more);
    jumps.sign_flips += (base ^ next) >> 15;
}

void count_block(const WordPair& pair, Block& block, LaneCounts& counts) {
    const WordType type = pair.catalog.tensor(block.tensor).type;
    const XcContext context{xc_mantissa_bits(type), 0};
    auto& exponents = counts.exponents[type_index(type)];
    for (std::uint64_t i = block.first; i < block.first + block.words; ++i) {
        const std::uint16_t base = pair.base[i];
        const std::uint16_t next = pair.next[i];
        KindChange& exponent = exponents[context.exponent(base)];
        ++exponent.words;
        if (base == next) continue;
        ++exponent.changed;
        ++block.changed;
        add_jump(base, next, counts.jumps);
    }
}

std::vector<Block> blocks_of(const Catalog& catalog) {
    std::vector<Block> blocks;
    for (std::uint32_t id = 0; id < catalog.tensors().size(); ++id) {
        const Tensor& tensor = catalog.tensor(id);
        for (std::uint64_t at = 0; at < tensor.words; at += kBlockWords)
            blocks.push_back(
                {id, tensor.first_word + at, std::min(kBlockWords, tensor.words - at)});
    }
    return blocks;
}

void add(KindChange& total, std::uint64_t words, std::uint64_t changed) {
    total.words += words;
    total.changed += changed;
}

void add_lanes(const std::vector<LaneCounts>& lanes, ChangeProfile& profile) {
    for (const WordType type : {WordType::bf16, WordType::f16}) {
        for (std::uint32_t e = 0; e < kExponents; ++e) {
            ExponentChange sum{type, e, 0, 0};
            for (const LaneCounts& lane : lanes) {
                sum.words += lane.exponents[type_index(type)][e].words;
                sum.changed += lane.exponents[type_index(type)][e].changed;
            }
            if (sum.words > 0) profile.exponents.push_back(sum);
        }
    }
    for (const LaneCounts& lane : lanes) {
        profile.jumps.one += lane.jumps.one;
        profile.jumps.two += lane.jumps.two;
        profile.jumps.three_to_eight += lane.jumps.three_to_eight;
        profile.jumps.more += lane.jumps.more;
        profile.jumps.sign_flips += lane.jumps.sign_flips;
    }
}

}  // namespace

std::optional<int> power_of_two(const ExponentChange& exponent) {
    if (exponent.exponent == 0) return std::nullopt;
    return static_cast<int>(exponent.exponent) - (exponent.type == WordType::f16 ? 15 : 127);
}

ChangeProfile measure_profile(Device& device, const WordPair& pair, const ChangeStats& stats) {
    REFIT_ASSERT(!pair.base.empty() && stats.words == pair.base.size());
    std::vector<Block> blocks = blocks_of(pair.catalog);
    std::vector<LaneCounts> lanes(device.lanes());
    device.for_each(blocks.size(), [&](std::uint64_t i, unsigned lane) {
        count_block(pair, blocks[i], lanes[lane]);
    });
    ChangeProfile profile;
    profile.words = profile.checkpoint_words = stats.words;
    profile.bound_bits_per_parameter = stats.bound_bits / static_cast<double>(stats.words);
    profile.kinds = stats.kinds;
    std::erase_if(profile.kinds, [](const auto& kind) { return kind.second.words == 0; });
    for (const Block& block : blocks) {
        const auto layer = tensor_layer(pair.catalog.tensor(block.tensor).name);
        add(layer ? profile.layers[*layer] : profile.outside_layers, block.words, block.changed);
        profile.changed += block.changed;
    }
    REFIT_ASSERT(profile.changed == stats.changed);
    add_lanes(lanes, profile);
    return profile;
}

double one_step_changed(const ExponentChange& exponent, std::uint32_t steps) {
    const auto words = static_cast<double>(exponent.words);
    const auto changed = static_cast<double>(exponent.changed);
    if (steps == 1) return changed / words;
    // Where all have changed, half a word may not have: how far they went is not known.
    return one_step_share(std::min(changed, words - 0.5) / words, steps);
}

KindRates kind_rates(const ChangeProfile& profile) {
    KindRates rates;
    for (const auto& [name, kind] : profile.kinds) {
        rates[name] = static_cast<std::uint32_t>(
            1e6 * static_cast<double>(kind.changed) / static_cast<double>(kind.words) + 0.5);
    }
    return rates;
}

double one_step_changed(const ChangeProfile& profile) {
    double changed = 0;
    for (const ExponentChange& exponent : profile.exponents)
        changed += static_cast<double>(exponent.words) * one_step_changed(exponent, profile.steps);
    return changed / static_cast<double>(profile.words);
}

double bits_per_parameter(const ChangeProfile& profile, const CodecPayload& codec) {
    return static_cast<double>(codec.container_bytes) * 8 / static_cast<double>(profile.words);
}

std::uint64_t delta_bytes(const ChangeProfile& profile, const CodecPayload& codec) {
    __extension__ using Wide = unsigned __int128;
    const Wide scaled = Wide{codec.container_bytes} * profile.checkpoint_words / profile.words;
    return static_cast<std::uint64_t>(scaled) + profile.other_payload_bytes + profile.header_bytes;
}

}  // namespace refit
