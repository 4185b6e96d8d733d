#include "app/bench/compute_rows.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "app/host.hpp"
#include "workloads/compute_unit.hpp"

namespace refit {
namespace {

constexpr int kRepeats = 5;
constexpr Nanoseconds kPeakTime = 2_ms;
constexpr std::uint64_t kCheckedWords = 64;
constexpr std::int64_t kRounds = 5;

double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

double per_second(std::uint64_t flop, Nanoseconds time) {
    return static_cast<double>(flop) / to_seconds(std::max(time, Nanoseconds{1}));
}

/// Multiply-adds in registers of the best level, a few milliseconds at a time.
class Peak {
public:
    Peak() : level_(cpu_gemm_levels().front()) {
        while (time_of(rounds_) < kPeakTime) rounds_ *= 2;
    }

    double measure() {
        const Nanoseconds start = host_thread_time();
        const std::uint64_t flop = run_multiply_adds(level_, rounds_);
        return per_second(flop, host_thread_time() - start);
    }

private:
    Nanoseconds time_of(std::uint64_t rounds) const {
        const Nanoseconds start = host_thread_time();
        run_multiply_adds(level_, rounds);
        return host_thread_time() - start;
    }

    std::string level_;
    std::uint64_t rounds_ = 1 << 12;
};

class ProductRows {
public:
    ProductRows(const Console& console, Nanoseconds slice) : console_(console), slice_(slice) {}

    void add(Gemm& gemm, const std::string& pass, const StepProduct& product) {
        ComputeLoad load(gemm, {product}, host_thread_time);
        load.fit(slice_);
        ComputeRow row{gemm_text(gemm),
                       product.name,
                       pass,
                       load.pieces().front(),
                       product.count,
                       0,
                       0,
                       {},
                       {}};
        std::vector<double> rates;
        std::vector<double> shares;
        for (int repeat = 0; repeat < kRepeats; ++repeat) {
            console_.check_interrupt();
            const double peak = peak_.measure();
            peaks_.push_back(peak);
            rates.push_back(load.pass().flop_per_second());
            shares.push_back(rates.back() / peak);
        }
        row.flop_per_second = median(std::move(rates));
        row.share_of_peak = median(std::move(shares));
        row.check = load.check(kCheckedWords);
        rows_.push_back(std::move(row));
    }

    ComputeRows take() && { return {median(std::move(peaks_)), std::move(rows_)}; }

private:
    const Console& console_;
    Nanoseconds slice_;  // of one repeat
    Peak peak_;
    std::vector<double> peaks_;
    std::vector<ComputeRow> rows_;
};

}  // namespace

HostStolen stolen_of(const StolenShare& share) {
    return {share.load_beside, share.codec_alone, share.codec_beside, share.stolen.median,
            share.stolen.low,  share.stolen.high, share.on_core};
}

bool ComputeRows::exact() const {
    return std::ranges::all_of(rows, [](const ComputeRow& row) { return row.check.wrong == 0; });
}

std::unique_ptr<Gemm> make_load_gemm() {
    auto gemm = make_onednn_gemm();
    return gemm != nullptr ? std::move(gemm) : make_cpu_gemm();
}

std::string gemm_text(const Gemm& gemm) { return std::string(gemm.name()) + ", " + gemm.detail(); }

ComputeRows measure_products(const Console& console, const ComputeModel& model, Nanoseconds about) {
    const auto training = training_products(model.architecture, model.share, model.tokens);
    const auto generation = generation_products(model.architecture, model.share, kGenerationBatch);
    const std::unique_ptr<Gemm> gemms[] = {make_cpu_gemm(), make_onednn_gemm()};
    const auto there =
        std::ranges::count_if(gemms, [](const auto& gemm) { return gemm != nullptr; });
    // To find its pieces and to check them, a product runs some three times more.
    const auto slices = there * (std::ssize(training) + std::ssize(generation)) * (kRepeats + 3);
    ProductRows rows(console, Nanoseconds{std::max<std::int64_t>(1, about.count / slices)});
    for (const auto& gemm : gemms) {
        if (gemm == nullptr) continue;
        for (const StepProduct& product : training)
            rows.add(*gemm, std::string(to_text(product.kind)), product);
        for (const StepProduct& product : generation) rows.add(*gemm, "generation", product);
    }
    return std::move(rows).take();
}

HostCompute measure_compute(const Console& console,
                            Gemm& gemm,
                            const ComputeModel& model,
                            const ComputeCodec& codec,
                            Nanoseconds about) {
    const Nanoseconds start = host_now();
    const auto device = make_cpu_device(1);
    UnitWork unit(*device, codec.codec, make_pair(*device, codec.pair));
    ComputeLoad load(gemm, training_products(model.architecture, model.share, model.tokens),
                     host_now);
    // Two works of three slices a round each, and what it takes to find the length of a slice.
    constexpr std::int64_t kSlices = 2 * 3 * kRounds + 2;
    load.fit(Nanoseconds{std::max<std::int64_t>(1, about.count / kSlices)});
    const auto between = [&console] { console.check_interrupt(); };
    const auto beside = [&](const CodecWork& work) {
        return measure_stolen(load, work, kRounds, {host_now, host_thread_time}, between);
    };
    const StolenShare stage = beside([&unit] { return unit.stage(); });
    const StolenShare encode = beside([&unit] { return unit.encode(); });
    HostCompute compute;
    compute.gemm = gemm_text(gemm);
    compute.cores = std::thread::hardware_concurrency();
    compute.flop_per_second = (stage.load_alone + encode.load_alone) / 2;
    compute.rounds = stage.rounds;
    compute.unit_words = unit.words().count;
    compute.stage = stolen_of(stage);
    compute.encode = stolen_of(encode);
    compute.seconds = to_seconds(host_now() - start);
    return compute;
}

}  // namespace refit
