// What must hold for change profiles: counts are those of a plain loop, the law inverts itself, one
// step is found from many on the weight field and on real traces, files come back word for word
// and anything else is refused in one line.
#include "workloads/change_profile.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <numbers>

#include "engine/base/rng.hpp"
#include "engine/codec/codec.hpp"
#include "engine/codec/zstd_frame.hpp"
#include "tests/support/files.hpp"
#include "workloads/checkpoint.hpp"
#include "workloads/one_step.hpp"
#include "workloads/trace.hpp"

#ifndef REFIT_SOURCE_DIR
#error "REFIT_SOURCE_DIR names the root of the repository"
#endif

namespace refit {
namespace {

namespace fs = std::filesystem;
using WordVector = std::vector<std::uint16_t>;

const fs::path kSource = REFIT_SOURCE_DIR;
constexpr double kPi = std::numbers::pi;

Catalog catalog_of(std::vector<TensorSpec> specs) {
    auto catalog = Catalog::make(std::move(specs));
    EXPECT_TRUE(catalog.has_value());
    return std::move(catalog).value();
}

ChangeProfile profile_of(Device& device, const WordPair& pair) {
    const Grid grid(pair.catalog);
    const MemoryWeights base(pair.catalog, pair.base);
    const MemoryWeights next(pair.catalog, pair.next);
    return measure_profile(device, pair, measure_change(device, pair.catalog, grid, base, next));
}

double changed_share(const ChangeProfile& profile) {
    return static_cast<double>(profile.changed) / static_cast<double>(profile.words);
}

TEST(NetGrowth, IsTheChordOfTheFieldsOrbits) {
    EXPECT_EQ(net_growth(1), 1.0);
    const auto square = [](double steps) {
        const double slow = std::sin(kPi * steps / 64);
        const double fast = std::sin(5 * kPi * steps / 64);
        return 85 * 4 * slow * slow + 341.25 * 4 / (35.0 * 35) * 2 * fast * fast;
    };
    for (std::uint32_t steps = 1; steps <= kNetStepsMax; ++steps) {
        EXPECT_NEAR(net_growth(steps), std::sqrt(square(steps) / square(1)),
                    0.005 * net_growth(steps))
            << steps;
        EXPECT_LE(net_growth(steps), steps);
        EXPECT_GE(net_growth(steps), std::sqrt(steps));
        if (steps > 1 && steps <= 24) {
            EXPECT_GT(net_growth(steps), net_growth(steps - 1)) << steps;
        }
    }
}

TEST(ShareOfMove, IsTheMeanOfAHalfNormalCutAtOne) {
    EXPECT_EQ(share_of_move(0), 0.0);
    for (const double mean : {1e-6, 0.01, 0.2, 0.5, 1.0, 3.0, 50.0}) {
        const double sigma = mean * std::sqrt(kPi / 2);
        double sum = 0;
        constexpr int kPoints = 200'000;
        constexpr double kWidth = 8.0 / kPoints;
        for (int i = 0; i < kPoints; ++i) {
            const double z = (i + 0.5) * kWidth;
            sum += std::min(1.0, sigma * z) * std::exp(-z * z / 2) * kWidth;
        }
        EXPECT_NEAR(share_of_move(mean), sum * std::sqrt(2 / kPi),
                    1e-6 * std::min(1.0, mean) + 1e-9)
            << mean;
    }
    EXPECT_NEAR(share_of_move(1e9), 1, 1e-8);
}

TEST(OneStep, TheLawComesBack) {
    for (std::uint32_t steps = 1; steps <= kNetStepsMax; ++steps) {
        EXPECT_EQ(one_step_share(0, steps), 0.0);
        for (const double mean : {1e-7, 1e-3, 0.02, 0.3, 1.5}) {
            const double net = share_of_move(mean * net_growth(steps));
            const double one = steps == 1 ? net : share_of_move(mean);
            EXPECT_NEAR(one_step_share(net, steps), one, 1e-9 * one) << steps << " " << mean;
        }
    }
}

TEST(OneStep, AllChangedStandsForAllButHalfAWord) {
    const ExponentChange all{WordType::bf16, 100, 10, 10};
    EXPECT_EQ(one_step_changed(all, 1), 1.0);
    EXPECT_EQ(one_step_changed(all, 8), one_step_share(0.95, 8));
}

TEST(TensorLayer, IsTheFirstNumberOfAName) {
    EXPECT_EQ(tensor_layer("model.layers.12.mlp.experts.7.up_proj.weight"), 12u);
    EXPECT_EQ(tensor_layer("0"), 0u);
    EXPECT_EQ(tensor_layer("h.007.x"), 7u);
    EXPECT_EQ(tensor_layer("a.999999999"), 999'999'999u);
    for (const char* name : {"", ".", "lm_head.weight", "layers.1a.x", "a.1234567890.b", "a.-1"})
        EXPECT_EQ(tensor_layer(name), std::nullopt) << name;
}

TEST(MeasureProfile, CountsKnownWords) {
    // F16: 1, -2 to 2. BF16: -0 to 0, 0, then 1 moved by 1, -2, 3, -8, 9 and 0 places.
    const WordPair pair{
        catalog_of({{"layers.3.b.weight", WordType::bf16, {8}}, {"c", WordType::f16, {2}}}),
        {0x3C00, 0xC000, 0x8000, 0x0000, 0x3F80, 0x3F80, 0x3F80, 0x3F80, 0x3F80, 0x3F80},
        {0x3C00, 0x4000, 0x0000, 0x0000, 0x3F81, 0x3F7E, 0x3F83, 0x3F78, 0x3F89, 0x3F80}};
    const auto device = make_cpu_device(1);
    const ChangeProfile profile = profile_of(*device, pair);
    EXPECT_EQ(profile.words, 10u);
    EXPECT_EQ(profile.changed, 7u);
    EXPECT_EQ(profile.jumps.one, 2u);
    EXPECT_EQ(profile.jumps.two, 1u);
    EXPECT_EQ(profile.jumps.three_to_eight, 2u);
    EXPECT_EQ(profile.jumps.more, 2u);
    EXPECT_EQ(profile.jumps.sign_flips, 2u);
    ASSERT_EQ(profile.exponents.size(), 4u);
    const std::array<std::array<std::uint64_t, 4>, 4> expected{
        {{1, 0, 2, 1}, {1, 127, 6, 5}, {2, 15, 1, 0}, {2, 16, 1, 1}}};
    for (std::size_t i = 0; i < 4; ++i) {
        const ExponentChange& e = profile.exponents[i];
        EXPECT_EQ((std::array<std::uint64_t, 4>{static_cast<std::uint64_t>(e.type), e.exponent,
                                                e.words, e.changed}),
                  expected[i]);
    }
    EXPECT_EQ(power_of_two(profile.exponents[0]), std::nullopt);
    EXPECT_EQ(power_of_two(profile.exponents[1]), 0);
    EXPECT_EQ(power_of_two(profile.exponents[3]), 1);
    ASSERT_EQ(profile.layers.size(), 1u);
    EXPECT_EQ(profile.layers.at(3).changed, 6u);
    EXPECT_EQ(profile.outside_layers.words, 2u);
    EXPECT_EQ(profile.outside_layers.changed, 1u);
    EXPECT_EQ(profile.kinds.at("b").words, 8u);
}

TEST(MeasureProfile, IsTheSameForAnyLanesAndThatOfAPlainLoop) {
    const std::uint64_t seed = 5;
    Rng rng(seed, 1);
    WordPair pair{catalog_of({{"layers.0.up_proj.weight", WordType::bf16, {900, 1000}},
                              {"layers.11.up_proj.weight", WordType::f16, {70'001}},
                              {"embed", WordType::bf16, {3}}}),
                  {},
                  {}};
    for (std::uint64_t i = 0; i < pair.catalog.words().count; ++i) {
        pair.base.push_back(static_cast<std::uint16_t>(rng.next()));
        pair.next.push_back(rng.chance(100'000) ? static_cast<std::uint16_t>(rng.next())
                                                : pair.base.back());
    }
    const ChangeProfile one = profile_of(*make_cpu_device(1), pair);
    EXPECT_EQ(profile_toml(one), profile_toml(profile_of(*make_cpu_device(3), pair)));
    std::uint64_t flips = 0;
    std::map<std::uint32_t, std::uint64_t> f16;
    for (const Tensor& tensor : pair.catalog.tensors()) {
        for (std::uint64_t i = tensor.first_word; i < tensor.first_word + tensor.words; ++i) {
            flips += static_cast<std::uint16_t>(pair.base[i] ^ pair.next[i]) >> 15;
            if (tensor.type == WordType::f16) ++f16[(pair.base[i] & 0x7FFFu) >> 10];
        }
    }
    EXPECT_EQ(one.jumps.sign_flips, flips) << "seed " << seed;
    for (const ExponentChange& e : one.exponents) {
        if (e.type == WordType::f16) {
            EXPECT_EQ(e.words, f16[e.exponent]) << e.exponent;
        }
    }
    EXPECT_EQ(one.layers.at(11).words, 70'001u);
}

/// The estimate from words `steps` apart beside the measured change of the first step.
void expect_one_step(const std::string& name,
                     const Catalog& catalog,
                     const std::vector<WordVector>& versions,
                     std::size_t first,
                     std::uint32_t steps) {
    const auto device = make_cpu_device(0);
    ChangeProfile net = profile_of(*device, {catalog, versions[first], versions[first + steps]});
    net.steps = steps;
    const double one =
        changed_share(profile_of(*device, {catalog, versions[first], versions[first + 1]}));
    const double error = one_step_changed(net) / one - 1;
    std::printf("%-6s v%zu -> v%-2zu net %.3f %%  one step %.4f %%, measured %.4f %%: %+.1f %%\n",
                name.c_str(), first, first + steps, 100 * changed_share(net),
                100 * one_step_changed(net), 100 * one, 100 * error);
    EXPECT_LT(std::abs(error), 0.10) << name << " " << first << " " << steps;
    // What one step changed is not what their number says: the law is needed.
    if (steps >= 4) {
        EXPECT_LT(changed_share(net) / steps / one, 0.75);
    }
}

void expect_one_steps(const std::string& name,
                      const Catalog& catalog,
                      const std::vector<WordVector>& versions) {
    for (const std::uint32_t steps : {2u, 4u, 8u, 16u})
        for (std::size_t first = 0; first + steps < versions.size(); first += 4)
            expect_one_step(name, catalog, versions, first, steps);
}

TEST(OneStep, IsFoundOnTheDenseTrace) {
    const auto device = make_cpu_device(0);
    const auto trace = open_trace(kSource / "workloads/traces/dense/long.toml", *device);
    ASSERT_TRUE(trace.has_value()) << trace.error().what;
    std::vector<WordVector> versions;
    const Catalog& catalog = trace.value()->catalog();
    for (std::uint64_t v = 0; v < trace.value()->versions(); ++v)
        versions.push_back(all_words(catalog, trace.value()->version(v)));
    ASSERT_EQ(versions.size(), 17u);
    expect_one_steps("dense", catalog, versions);
}

TEST(OneStep, IsFoundOnTheMoeTrace) {
    const fs::path folder = kSource / ".." / "shared" / "traces" / "moe";
    if (!fs::exists(folder)) GTEST_SKIP() << folder << " is not here: its rates are not checked";
    const auto first = Checkpoint::open(folder / "v0");
    ASSERT_TRUE(first.has_value()) << first.error().what;
    const Catalog& catalog = first.value()->catalog();
    std::vector<WordVector> versions{all_words(catalog, *first.value())};
    std::ifstream list(folder / "deltas.json");
    const auto tensors = nlohmann::json::parse(list)["tensors"];
    for (unsigned v = 0; v < 8; ++v) {
        const std::string frame =
            read_text_file(folder / fmt::format("delta_{:02}_{:02}.xor.zst", v, v + 1));
        WordVector words = versions.back();
        std::vector<std::uint8_t> planes(2 * words.size());
        ASSERT_TRUE(read_zstd_frame(as_byte_span(frame), std::as_writable_bytes(std::span(planes)),
                                    "a delta")
                        .has_value());
        std::size_t at = 0;
        for (const auto& entry : tensors) {
            const auto id = catalog.find(entry[0].get<std::string>());
            ASSERT_TRUE(id.has_value());
            const Tensor& tensor = catalog.tensor(*id);
            for (std::uint64_t i = 0; i < tensor.words; ++i, ++at) {
                const unsigned mask = planes[at] | unsigned{planes[words.size() + at]} << 8;
                words[tensor.first_word + i] ^= static_cast<std::uint16_t>(mask);
            }
        }
        versions.push_back(std::move(words));
    }
    expect_one_steps("moe", catalog, versions);
}

TEST(OneStep, IsFoundOnTheWeightField) {
    const auto device = make_cpu_device(0);
    for (const std::uint32_t per_million : {3'000u, 10'000u, 50'000u}) {
        PairSpec spec{*find_profile("adam"), std::uint64_t{2} << 20, per_million, 3, {}};
        const double one = changed_share(profile_of(*device, make_pair(*device, spec)));
        for (const std::uint32_t steps : {2u, 8u, 16u, 32u}) {
            spec.versions = {0, steps};
            ChangeProfile net = profile_of(*device, make_pair(*device, spec));
            net.steps = steps;
            EXPECT_NEAR(one_step_changed(net), one, 0.08 * one) << per_million << " " << steps;
        }
    }
}

ChangeProfile small_profile() {
    const auto device = make_cpu_device(1);
    const PairSpec spec{*find_profile("adam"), kPairWordsMin, 50'000, 1, {0, 4}};
    ChangeProfile profile = profile_of(*device, make_pair(*device, spec));
    profile.base = "a \"b\" \\ \x7F \n \xFF \xC3\xA4";
    profile.next = "";
    profile.steps = 4;
    profile.checkpoint_words = 3 * profile.words;
    profile.other_bytes = 9;
    profile.other_coded_bytes = 8;
    profile.other_payload_bytes = 7;
    profile.header_bytes = 6;
    for (const auto& codec : builtin_codecs())
        profile.codecs.push_back({std::string(codec->name()), 100 + profile.codecs.size()});
    return profile;
}

/// Refused with one line that holds `what`.
void expect_refused(const std::string& text, const std::string& what) {
    const auto profile = parse_profile(text);
    ASSERT_FALSE(profile.has_value()) << what;
    EXPECT_EQ(profile.error().code, ErrorCode::invalid_input);
    EXPECT_NE(profile.error().what.find(what), std::string::npos) << profile.error().what;
    EXPECT_EQ(profile.error().what.find('\n'), std::string::npos) << profile.error().what;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    if (at != std::string::npos) text.replace(at, from.size(), to);
    return text;
}

TEST(ProfileFile, ComesBack) {
    const ChangeProfile written = small_profile();
    const std::string text = profile_toml(written);
    const auto read = parse_profile(text);
    ASSERT_TRUE(read.has_value()) << read.error().what;
    const ChangeProfile& profile = read.value();
    EXPECT_EQ(profile.base, "a \"b\" \\ \x7F \n \xEF\xBF\xBD \xC3\xA4");  // a byte that is no UTF-8
    EXPECT_EQ(profile.bound_bits_per_parameter, written.bound_bits_per_parameter);
    EXPECT_EQ(profile.jumps.one, written.jumps.one);
    EXPECT_EQ(profile.exponents.size(), written.exponents.size());
    EXPECT_EQ(one_step_changed(profile), one_step_changed(written));
    EXPECT_EQ(profile.codecs.back().container_bytes, 109u);
    EXPECT_EQ(delta_bytes(profile, profile.codecs.front()), 3 * 100 + 7 + 6u);
    EXPECT_FALSE(profile.whole());
    EXPECT_EQ(profile_toml(profile), text);
    const TestFolder folder;
    write_text_file(folder / "p.toml", text);
    const auto loaded = load_profile(folder / "p.toml");
    ASSERT_TRUE(loaded.has_value());
    EXPECT_EQ(profile_toml(loaded.value()), text);
}

TEST(ProfileFile, NothingChangedComesBack) {
    const WordPair pair{catalog_of({{"a", WordType::bf16, {4}}}), {1, 2, 3, 4}, {1, 2, 3, 4}};
    ChangeProfile profile = profile_of(*make_cpu_device(1), pair);
    profile.steps = 7;
    EXPECT_EQ(one_step_changed(profile), 0.0);
    const std::string text = profile_toml(profile);
    const auto read = parse_profile(text);
    ASSERT_TRUE(read.has_value()) << read.error().what;
    EXPECT_EQ(profile_toml(read.value()), text);
}

TEST(ProfileFile, EveryKeyIsNeededAndNoOtherTaken) {
    const std::string text = profile_toml(small_profile());
    std::size_t keys = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const bool start = at == 0 || text[at - 1] == '\n' || text[at - 1] == '{' ||
                           (text[at - 1] == ' ' && text[at - 2] == ',');
        const std::size_t end = text.find(" = ", at);
        if (!start || end == std::string::npos) continue;
        const std::string key = text.substr(at, end - at);
        if (key.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") != std::string::npos) continue;
        std::string other = text;
        other.insert(end, "x");
        expect_refused(other, key == "schema" ? "schema must be" : "unknown key '" + key + "x'");
        ++keys;
    }
    EXPECT_GT(keys, 100u);
    const std::string without = replaced(text, "header_bytes = 6\n", "");
    expect_refused(without, "header_bytes is missing");
    expect_refused(text + "header_bytes = 6\n", "line ");
    expect_refused(text + "more = 1\n", "unknown key 'more'");
}

TEST(ProfileFile, WrongValuesAreRefusedByName) {
    const std::string text = profile_toml(small_profile());
    const std::string words = fmt::format("\nwords = {}\n", small_profile().words);
    const std::vector<std::array<std::string, 3>> wrong{
        {"refit.profile/1", "refit.profile/2", "schema must be"},
        {"steps = 4", "steps = 0", "above 0"},
        {"steps = 4", "steps = 33", "steps must be a whole number of at most 32"},
        {"steps = 4", "steps = 4.0", "line 5: steps must be"},
        {"steps = 4", "steps = -4", "steps must be"},
        {words, "\nwords = 0\n", "above 0"},
        {words, "\nwords = 281474976710657\n", "words must be"},
        {"checkpoint_words = ", "checkpoint_words = 99999999999", "checkpoint_words must be"},
        {"\nchanged = ", "\nchanged = 1", "do not add up"},
        {"bound_bits_per_parameter = 0", "bound_bits_per_parameter = -0", "from 0 to"},
        {"bound_bits_per_parameter = ", "bound_bits_per_parameter = nan # ", "from 0 to"},
        {"bound_bits_per_parameter = ", "bound_bits_per_parameter = 1 # ", "must be a decimal"},
        {"next = \"\"", "next = 1", "next must be a text"},
        {"other_coded_bytes = 8", "other_coded_bytes = 10", "at most 9"},
        {"{one = ", "{one = 1", "jumps do not add up"},
        {"sign_flips = ", "sign_flips = 99999", "more sign flips"},
        {"codecs = [", "codecs = [ 1,", "must be a list of tables"},
        {"name = \"xc\"", "name = \"xd\"", "unknown codec 'xd'"},
        {"name = \"xc\"", "name = \"cf\"", "comes twice"},
        {"container_bytes = 100", "container_bytes = 72057594037927936", "is too large"},
        {"container_bytes = 100", "container_bytes = true", "whole number"},
        {"{name = \"down_proj\"", "{name = \"zzz\"", "out of order"},
        {"layer = 1", "layer = 0", "out of order"},
        {"layer = 1,", "layer = 1000000000,", "layer must be"},
        {"outside_layers = {words = ", "outside_layers = {words = 1", "more words"},
        {"type = \"bf16\"", "type = \"f32\"", "type must be bf16 or f16, not 'f32'"},
        {"type = \"bf16\", exponent = ", "type = \"bf16\", exponent = 9", "exponent must be"},
        {"type = \"bf16\", exponent = 1", "type = \"f16\", exponent = 1", "exponent must be"},
    };
    for (const auto& [from, to, what] : wrong) {
        SCOPED_TRACE(to);
        expect_refused(replaced(text, from, to), what);
    }
    expect_refused("", "schema");
    expect_refused("schema = ", "line 1");
    expect_refused(std::string(kProfileTextMax + 1, '#'), "the limit is");
}

TEST(ProfileFile, CountsThatDoNotAddUpAreRefused) {
    const auto refused = [](const std::function<void(ChangeProfile&)>& damage, const char* what) {
        ChangeProfile profile = small_profile();
        damage(profile);
        expect_refused(profile_toml(profile), what);
    };
    const auto largest = [](ChangeProfile& p) -> ExponentChange& {
        return *std::ranges::max_element(p.exponents, {}, &ExponentChange::words);
    };
    refused([&](ChangeProfile& p) { --largest(p).words; }, "exponents do not add up");
    refused([&](ChangeProfile& p) { --largest(p).changed; }, "exponents do not add up");
    refused([&](ChangeProfile& p) { ++largest(p).words; }, "more words or changes");
    refused([](ChangeProfile& p) { --p.kinds["up_proj"].words; }, "kinds do not add up");
    refused([](ChangeProfile& p) { --p.kinds["up_proj"].changed; }, "kinds do not add up");
    refused([](ChangeProfile& p) { --p.layers[1].words; }, "layers do not add up");
    refused([](ChangeProfile& p) { ++p.layers[1].changed; }, "more words or changes");
    refused([](ChangeProfile& p) { --p.outside_layers.changed; }, "layers do not add up");
    refused([](ChangeProfile& p) { ++p.jumps.more; }, "jumps do not add up");
    refused([](ChangeProfile& p) { p.exponents.back().words = 0; }, "has no words");
}

TEST(ProfileFile, CutAndDamagedTextIsRefusedOrStillTrue) {
    const std::string text = profile_toml(small_profile());
    for (std::size_t size = 0; size + 1 < text.size(); size += 7)
        EXPECT_FALSE(parse_profile(text.substr(0, size)).has_value()) << size;
    const std::uint64_t seed = 9;
    Rng rng(seed, 1);
    int taken = 0;
    for (int round = 0; round < 3'000; ++round) {
        std::string damaged = text;
        for (std::uint64_t n = 1 + rng.below(3); n > 0; --n)
            damaged[rng.below(damaged.size())] = static_cast<char>(rng.next());
        const auto read = parse_profile(damaged);
        if (!read.has_value()) {
            const std::string& what = read.error().what;
            EXPECT_FALSE(what.empty());
            EXPECT_EQ(what.find_first_of("\n\r"), std::string::npos) << what;
            continue;
        }
        ++taken;
        const ChangeProfile& profile = read.value();
        std::uint64_t words = 0;
        for (const ExponentChange& e : profile.exponents) words += e.words;
        EXPECT_EQ(words, profile.words) << "seed " << seed << " round " << round;
        EXPECT_LE(one_step_changed(profile), 1.0);
        EXPECT_TRUE(parse_profile(profile_toml(profile)).has_value());
    }
    EXPECT_GT(taken, 10);  // names and the comment are free
}

TEST(ProfileFile, OtherThingsThanFilesAreNamed) {
    const TestFolder folder;
    const auto refused = [&](const fs::path& path, ErrorCode code, const std::string& what) {
        const auto profile = load_profile(path);
        ASSERT_FALSE(profile.has_value()) << path;
        EXPECT_EQ(profile.error().code, code);
        EXPECT_EQ(profile.error().where, path.string());
        EXPECT_NE(profile.error().what.find(what), std::string::npos) << profile.error().what;
    };
    refused(folder / "none", ErrorCode::not_found, "no such file");
    refused(folder.path(), ErrorCode::invalid_input, "not a regular file");
    write_text_file(folder / "big", "");
    fs::resize_file(folder / "big", std::uint64_t{1} << 40);
    refused(folder / "big", ErrorCode::invalid_input, "the limit is");
}

}  // namespace
}  // namespace refit
