#include "workloads/compute_load.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <stdexcept>
#include <thread>

#include "tests/workloads/architecture_fixture.hpp"
#include "workloads/compute_stolen.hpp"
#include "workloads/compute_unit.hpp"

namespace refit {
namespace {

using test::catalog_of;
using test::shipped;
using test::shipped_folder;

/// Small enough to count by hand.
Architecture tiny() {
    Architecture a;
    a.name = "tiny";
    a.hidden = 8;
    a.layers = 3;
    a.heads = 4;
    a.kv_heads = 2;
    a.head_dim = 2;
    a.intermediate = 16;
    a.vocabulary = 32;
    a.experts = Experts{.count = 4, .per_token = 2, .intermediate = 6, .dense_layers = 1};
    return a;
}

std::uint64_t flop_of(const std::vector<StepProduct>& products) {
    std::uint64_t flop = 0;
    for (const StepProduct& product : products) flop += product.count * product.size.flop();
    return flop;
}

std::vector<std::string> shipped_names() {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(shipped_folder()))
        names.push_back(entry.path().stem().string());
    std::ranges::sort(names);
    return names;
}

TEST(StepFlop, AreThoseCountedByHand) {
    // Weights a token passes. Attention of a layer: q 8x8, k and v 4x8, o 8x8. The dense MLP of one
    // layer: three of 16x8. Two layers: a router of 4x8, two experts of three 6x8. Head: 32x8.
    constexpr std::uint64_t kAttention = 64 + 32 + 32 + 64;
    constexpr std::uint64_t kWeights = 3 * kAttention + 3 * 128 + 2 * (32 + 2 * 3 * 48) + 256;
    EXPECT_EQ(forward_flop(tiny()), 2 * kWeights);
    EXPECT_EQ(training_flop(tiny()), 6 * kWeights);
}

TEST(StepFlop, AreSixTimesTheActiveParametersButForWhatIsNoProduct) {
    for (const std::string& name : shipped_names()) {
        const Architecture architecture = shipped(name);
        const ArchitectureTotals all = totals(architecture);
        std::uint64_t no_product = 0;
        const Catalog catalog = catalog_of(architecture);
        for (const Tensor& tensor : catalog.tensors()) {
            const bool looked_up =
                tensor.name == "model.embed_tokens.weight" && !architecture.tied_embeddings;
            const bool bias = tensor.name.ends_with("bias");
            if (!looked_up && !bias && tensor.shape.size() > 1) continue;
            const bool expert = tensor.name.find("mlp.experts.") != std::string::npos;
            no_product += expert ? tensor.words / architecture.experts->count *
                                       architecture.experts->per_token
                                 : tensor.words;
        }
        EXPECT_EQ(training_flop(architecture), 6 * (all.all.active - no_product)) << name;
        EXPECT_LT(training_flop(architecture), std::uint64_t{1} << 50) << name;
    }
}

TEST(StepProducts, SumToTheClosedFormForAnyTokens) {
    for (const std::string& name : shipped_names()) {
        const Architecture architecture = shipped(name);
        for (const std::uint64_t tokens : {1u, 7u, 64u, 1000u, 8192u}) {
            EXPECT_EQ(flop_of(training_products(architecture, {}, tokens)),
                      training_flop(architecture) * tokens)
                << name << " " << tokens;
            EXPECT_EQ(flop_of(generation_products(architecture, {}, tokens)),
                      forward_flop(architecture) * tokens)
                << name << " " << tokens;
            EXPECT_EQ(flop_of(training_products(architecture, {.experts = 4}, tokens)),
                      training_flop(architecture) * tokens)
                << name << " " << tokens;
        }
    }
}

TEST(StepProducts, HaveTheShapesOfForwardAndOfBothGradients) {
    std::map<std::pair<std::string, ProductKind>, StepProduct> by_name;
    for (const StepProduct& product : training_products(tiny(), {}, 10))
        by_name[{product.name, product.kind}] = product;
    const auto at = [&](const char* name, ProductKind kind) { return by_name.at({name, kind}); };
    const StepProduct head = at("lm_head", ProductKind::forward);
    EXPECT_EQ(head.size, (GemmSize{10, 32, 8}));
    EXPECT_EQ(head.count, 1u);
    EXPECT_EQ(at("lm_head", ProductKind::input_gradient).size, (GemmSize{10, 8, 32}));
    EXPECT_EQ(at("lm_head", ProductKind::weight_gradient).size, (GemmSize{32, 8, 10}));
    // q and o are both 8 x 8, in three layers; k, v and the two routers share a shape, too.
    EXPECT_EQ(at("self_attn.q_proj", ProductKind::forward).count, 6u);
    EXPECT_EQ(at("self_attn.k_proj", ProductKind::forward).count, 8u);
    EXPECT_EQ(by_name.count({"self_attn.o_proj", ProductKind::forward}), 0u);
    // Twenty visits of four experts: five each, of gate and up, in two layers.
    const StepProduct expert = at("mlp.experts.gate_proj", ProductKind::forward);
    EXPECT_EQ(expert.size, (GemmSize{5, 6, 8}));
    EXPECT_EQ(expert.count, 16u);
}

TEST(StepProducts, DealVisitsOutAsEvenlyAsTheyGo) {
    // Three tokens make six visits of four experts: two see two, two see one.
    std::map<std::size_t, std::uint64_t> experts_by_tokens;
    for (const StepProduct& product : generation_products(tiny(), {}, 3))
        if (product.name == "mlp.experts.down_proj")
            experts_by_tokens[product.size.m] += product.count;
    EXPECT_EQ(experts_by_tokens, (std::map<std::size_t, std::uint64_t>{{1, 4}, {2, 4}}));
    // One token's two visits leave two experts without any.
    experts_by_tokens.clear();
    for (const StepProduct& product : generation_products(tiny(), {}, 1))
        if (product.name == "mlp.experts.down_proj")
            experts_by_tokens[product.size.m] += product.count;
    EXPECT_EQ(experts_by_tokens, (std::map<std::size_t, std::uint64_t>{{1, 4}}));
}

TEST(StepProducts, AreCutOverTensorRanksAsTheLayoutCutsThem) {
    const RankShare four = share_of_layout("tp:tp4");
    EXPECT_EQ(four.tensor, 4u);
    EXPECT_EQ(share_of_layout("fsdp:dp16").tensor, 1u);
    std::map<std::string, GemmSize> sizes;
    for (const StepProduct& product : generation_products(shipped("qwen3-30b-a3b"), four, 16))
        sizes[product.name] = product.size;
    EXPECT_EQ(sizes.at("self_attn.q_proj"), (GemmSize{16, 1024, 2048}));
    EXPECT_EQ(sizes.at("self_attn.o_proj"), (GemmSize{16, 2048, 1024}));
    EXPECT_EQ(sizes.at("mlp.experts.down_proj"), (GemmSize{1, 2048, 192}));
    EXPECT_EQ(sizes.at("lm_head"), (GemmSize{16, 37984, 2048}));
    // A quarter of k and v has the shape of a router, which is whole on every rank.
    EXPECT_EQ(sizes.at("self_attn.k_proj"), (GemmSize{16, 128, 2048}));
    EXPECT_EQ(sizes.count("mlp.gate"), 0u);
    sizes.clear();
    for (const StepProduct& product : generation_products(tiny(), {.tensor = 3}, 4))
        sizes[product.name] = product.size;
    EXPECT_EQ(sizes.at("lm_head").n, 11u);  // of 32: the widest of three
}

TEST(ComputeTime, IsRoundedUpAndNeverWrapsAround) {
    const auto time = [](std::uint64_t flop, std::uint64_t tokens, std::uint64_t rate) {
        return compute_time(flop, tokens, FlopPerSecond{rate});
    };
    EXPECT_EQ(time(10, 1, 1'000'000'000).value().count, 10);
    EXPECT_EQ(time(1, 1, 3'000'000'000).value().count, 1);
    EXPECT_EQ(time(7, 3, 2).value().count, 10'500'000'000);
    EXPECT_EQ(time(0, 5, 1).value().count, 0);
    // 6e10 FLOP a token, 2^22 tokens, 25.6 PFLOP/s: 9.8304 s exactly.
    EXPECT_EQ(time(60'000'000'000, 1 << 22, 25'600'000'000'000'000).value().count, 9'830'400'000);
    EXPECT_FALSE(time(std::uint64_t{1} << 50, std::uint64_t{1} << 40, 1).has_value());
    const auto most = time((std::uint64_t{1} << 54) - 1, std::numeric_limits<std::uint64_t>::max(),
                           std::numeric_limits<std::int64_t>::max());
    EXPECT_FALSE(most.has_value());
}

/// A product that takes time by its FLOP alone, on a clock of its own.
class ClockedGemm final : public Gemm {
public:
    explicit ClockedGemm(std::uint64_t flop_per_nanosecond) : rate_(flop_per_nanosecond) {}
    std::string_view name() const override { return "clocked"; }
    std::string detail() const override { return "no numbers"; }
    void multiply(const GemmSize& size,
                  std::span<const std::uint16_t> a,
                  std::span<const std::uint16_t> b,
                  std::span<float> c) override {
        EXPECT_EQ(a.size(), size.m * size.k);
        EXPECT_EQ(b.size(), size.k * size.n);
        EXPECT_EQ(c.size(), size.m * size.n);
        spare_ += size.flop();
        now_ += static_cast<std::int64_t>(spare_ / rate_);
        spare_ %= rate_;
    }
    MonotonicClock clock() {
        return [this] { return Nanoseconds{now_}; };
    }

private:
    std::uint64_t rate_;
    std::uint64_t spare_ = 0;
    std::int64_t now_ = 0;
};

TEST(ComputeLoad, TakesAboutTheTimeAskedForByTokensThenByTheOutput) {
    for (const char* name : {"qwen3-0.6b", "qwen3-30b-a3b", "kimi-k2-1t"}) {
        const auto products = training_products(shipped(name), {}, kLoadTokens);
        for (const Nanoseconds about : {100_ms, 2_s}) {
            ClockedGemm gemm(60);  // GFLOP/s
            ComputeLoad load(gemm, products, gemm.clock());
            const LoadRun run = load.run_for(about);
            EXPECT_LE(to_seconds(run.wall), 1.01 * to_seconds(about)) << name;
            EXPECT_GE(to_seconds(run.wall), 0.5 * to_seconds(about)) << name;
            EXPECT_NEAR(run.flop_per_second(), 60e9, 1e7);
        }
    }
}

TEST(ComputeLoad, CutsTokensFirstAndThenTheRestOfTheOutput) {
    const std::vector<StepProduct> forward = {{"w", ProductKind::forward, {1024, 2048, 512}, 1}};
    const std::vector<StepProduct> weights = {
        {"w", ProductKind::weight_gradient, {2048, 512, 1024}, 1}};
    const auto whole = static_cast<std::int64_t>(forward.front().size.flop());
    const auto cut = [](const std::vector<StepProduct>& products, std::int64_t nanoseconds) {
        ClockedGemm gemm(1);
        ComputeLoad load(gemm, products, gemm.clock());
        load.fit(Nanoseconds{nanoseconds});
        return load.pieces().front();
    };
    EXPECT_EQ(cut(forward, whole + 1000), (GemmSize{1024, 2048, 512}));
    EXPECT_EQ(cut(forward, whole / 2 + 1000), (GemmSize{512, 2048, 512}));
    EXPECT_EQ(cut(forward, whole / 32 + 1000), (GemmSize{64, 1024, 512}));
    EXPECT_EQ(cut(forward, 1), (GemmSize{64, 64, 512}));
    EXPECT_EQ(cut(weights, whole / 2 + 1000), (GemmSize{2048, 512, 512}));
    EXPECT_EQ(cut(weights, whole / 32 + 1000), (GemmSize{1024, 512, 64}));
}

TEST(ComputeLoad, RepeatsWhatIsDoneTooSoon) {
    ClockedGemm gemm(1);
    ComputeLoad load(gemm, training_products(tiny(), {}, 100), gemm.clock());
    const LoadRun run = load.run_for(100_ms);
    EXPECT_GT(run.products, load.pieces().size());
    EXPECT_EQ(run.products % load.pieces().size(), 0u);
    EXPECT_NEAR(to_seconds(run.wall), 0.1, 0.01);
    std::uint64_t flop = 0;
    for (const GemmSize& size : load.pieces()) flop += size.flop();
    EXPECT_EQ(run.flop, flop * (run.products / load.pieces().size()));
}

TEST(ComputeLoad, StaysWithinItsMemoryForAnyProduct) {
    constexpr std::uint64_t kLimit = std::uint64_t{160} << 20;
    const std::size_t huge = std::size_t{1} << 40;
    for (const GemmSize& size :
         {GemmSize{huge, huge, huge}, GemmSize{1, huge, 1}, GemmSize{huge, 1, 1},
          GemmSize{1, 1, huge}, GemmSize{huge, huge, 1}, GemmSize{5, 7, 11}}) {
        const GemmSize fits = LoadBuffers::fitting(size);
        EXPECT_GE(fits.m, 1u);
        EXPECT_GE(fits.n, 1u);
        EXPECT_GE(fits.k, 1u);
        EXPECT_LE(2 * (fits.m * fits.k + fits.k * fits.n) + 4 * fits.m * fits.n, kLimit);
        EXPECT_EQ(LoadBuffers::fitting(fits), fits);
    }
    EXPECT_EQ(LoadBuffers::fitting({5, 7, 11}), (GemmSize{5, 7, 11}));
    ClockedGemm gemm(1000);
    ComputeLoad load(gemm, training_products(shipped("kimi-k2-1t"), {}, kLoadTokens), gemm.clock());
    load.fit(60_s);
    load.pass();
    EXPECT_LE(load.memory().count, kLimit);
}

TEST(ComputeLoad, SeesAWrongProduct) {
    const auto products = training_products(tiny(), {}, 100);
    const auto right = make_cpu_gemm();
    ComputeLoad good(*right, products, [] { return Nanoseconds{}; });
    const LoadCheck check = good.check(20);
    EXPECT_EQ(check.checked, 20 * good.pieces().size());
    EXPECT_EQ(check.wrong, 0u);
    ClockedGemm wrong(1);  // leaves zeros
    ComputeLoad bad(wrong, products, wrong.clock());
    EXPECT_EQ(bad.check(20).wrong, bad.check(20).checked);
}

TEST(StolenShare, IsTheMedianOfRatiosSoThatDriftCancels) {
    // The machine slows by half from round to round; a quarter is stolen in each, once nothing.
    std::vector<StolenRound> rounds;
    for (const double speed : {8.0, 4.0, 2.0, 1.0})
        rounds.push_back({speed, 0.75 * speed, 2 * speed, speed, 1});
    rounds.push_back({1, 1, 1, 1, 1});
    const StolenShare share = stolen_share(rounds);
    EXPECT_DOUBLE_EQ(share.stolen.median, 0.25);
    EXPECT_DOUBLE_EQ(share.stolen.low, 0);
    EXPECT_DOUBLE_EQ(share.stolen.high, 0.25);
    EXPECT_DOUBLE_EQ(share.load_alone, 2);
    EXPECT_DOUBLE_EQ(share.load_beside, 1.5);
    EXPECT_DOUBLE_EQ(share.codec_alone, 4);
    EXPECT_DOUBLE_EQ(share.codec_beside, 2);
    EXPECT_EQ(share.rounds, 5u);
    EXPECT_EQ(stolen_share({}).rounds, 0u);
    EXPECT_EQ(stolen_share({StolenRound{}}).rounds, 0u);
    EXPECT_DOUBLE_EQ(stolen_share({{2, 3, 1, 1, 1}}).stolen.median, -0.5);  // as it is
}

TEST(MeasureStolen, WorksBesideTheLoadAndHandsFailuresOver) {
    const auto gemm = make_cpu_gemm();
    const auto clock = [] {
        const auto now = std::chrono::steady_clock::now().time_since_epoch();
        return Nanoseconds{std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()};
    };
    ComputeLoad load(*gemm, training_products(tiny(), {}, 100), clock);
    load.fit(2_ms);
    const auto device = make_cpu_device(1);
    PairSpec spec;
    spec.profile = *find_profile("adam");
    spec.words = kPairWordsMin;
    UnitWork unit(*device, *find_codec("xc").value(), make_pair(*device, spec));
    int slices = 0;
    const StolenShare share = measure_stolen(
        load, [&unit] { return unit.stage(); }, 3, {clock, clock}, [&slices] { ++slices; });
    EXPECT_EQ(slices, 9);
    EXPECT_EQ(share.rounds, 3u);
    EXPECT_GT(share.load_alone, 0);
    EXPECT_GT(share.load_beside, 0);
    EXPECT_GT(share.codec_alone, 0);
    EXPECT_GT(share.on_core, 0);
    EXPECT_LE(share.stolen.low, share.stolen.median);
    EXPECT_LE(share.stolen.median, share.stolen.high);
    // Fails beside the load alone, so that it must come over from the other thread.
    const auto failing = [here = std::this_thread::get_id()] {
        if (std::this_thread::get_id() != here) throw std::runtime_error("the codec broke");
        return Bytes{1};
    };
    EXPECT_THROW(measure_stolen(load, failing, 1, {clock, clock}, [] {}), std::runtime_error);
}

TEST(UnitWork, StagesWhatItEncoded) {
    const auto device = make_cpu_device(1);
    PairSpec spec;
    spec.profile = *find_profile("uniform");
    spec.words = std::uint64_t{1} << 20;
    WordPair pair = make_pair(*device, spec);
    std::uint64_t changed = 0;
    for (std::size_t i = 0; i < pair.base.size(); ++i) changed += pair.base[i] != pair.next[i];
    const std::uint64_t words = pair.base.size();
    UnitWork unit(*device, *find_codec("xc").value(), std::move(pair));
    EXPECT_EQ(unit.words().count, words);
    EXPECT_EQ(unit.stage(), Bytes{2 * words});
    EXPECT_EQ(unit.staged_words(), changed);
    EXPECT_EQ(unit.encode(), Bytes{2 * words});
    unit.stage();
    EXPECT_EQ(unit.staged_words(), changed);
    EXPECT_GT(changed, words / 50);
}

}  // namespace
}  // namespace refit
