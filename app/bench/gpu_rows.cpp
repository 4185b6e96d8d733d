#include "app/bench/gpu_rows.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "app/host.hpp"
#include "kernels/cuda/cuda_device.hpp"
#include "kernels/cuda/gemm_cublaslt.hpp"
#include "workloads/compute_stolen.hpp"
#include "workloads/compute_unit.hpp"
#include "workloads/work_beside.hpp"

namespace refit {
namespace {

constexpr int kRepeats = 5;
constexpr std::uint64_t kRounds = 5;
constexpr std::uint64_t kCheckedWords = 64;
constexpr Nanoseconds kSliceMin = 1_ms;
constexpr Nanoseconds kBatch = 2_ms;  // of products between two waits

double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

double per_second(double amount, std::int64_t nanoseconds) {
    return amount * 1e9 / static_cast<double>(std::max<std::int64_t>(nanoseconds, 1));
}

std::int64_t length(const DeviceSpan& span) { return span.end - span.begin; }

/// One product on the device, over and over.
class RepeatedProduct {
public:
    RepeatedProduct(DeviceGemm& gemm, const GemmSize& whole)
        : gemm_(gemm), size_(LoadBuffers::fitting(whole)) {}

    const GemmSize& size() const { return size_; }

    /// Takes the operands there; the first products also bring code in.
    void load(LoadBuffers& buffers) {
        buffers.reserve(size_);
        buffers.multiply(gemm_, size_);
    }

    /// Finds how many products take about this long.
    void fit(Nanoseconds about) {
        constexpr std::uint64_t kCountMax = std::uint64_t{1} << 20;
        count_ = 1;
        gemm_.repeat(count_);
        std::int64_t time = length(gemm_.repeat(count_));
        while (time < about.count / 2 && count_ < kCountMax) {
            const std::int64_t more = about.count / std::max<std::int64_t>(time, 1);
            count_ *= static_cast<std::uint64_t>(std::clamp<std::int64_t>(more, 2, 64));
            time = length(gemm_.repeat(count_));
        }
    }

    double flop() const { return static_cast<double>(size_.flop()) * static_cast<double>(count_); }
    DeviceSpan run() { return gemm_.repeat(count_); }

private:
    DeviceGemm& gemm_;
    GemmSize size_;
    std::uint64_t count_ = 1;
};

ComputeRow measure_row(const GpuParts& parts,
                       LoadBuffers& buffers,
                       const StepProduct& product,
                       Nanoseconds slice) {
    RepeatedProduct repeated(parts.gemm, product.size);
    repeated.load(buffers);
    ComputeRow row;
    row.gemm = gemm_text(parts.gemm);
    row.device = parts.device;
    row.name = product.name;
    row.size = repeated.size();
    row.count = product.count;
    row.check = buffers.check(row.size, kCheckedWords);
    repeated.fit(slice);
    std::vector<double> rates;
    for (int repeat = 0; repeat < kRepeats; ++repeat)
        rates.push_back(per_second(repeated.flop(), length(repeated.run())));
    row.flop_per_second = median(std::move(rates));
    return row;
}

/// What the load did in a slice.
struct LoadSlice {
    std::vector<DeviceSpan> spans;
    double flop = 0;

    DeviceSpan window() const { return {spans.front().begin, spans.back().end}; }
    double flop_per_second() const { return per_second(flop, length(window())); }
};

LoadSlice run_load(RepeatedProduct& load, Nanoseconds about) {
    LoadSlice slice;
    do {
        slice.spans.push_back(load.run());
        slice.flop += load.flop();
    } while (length(slice.window()) < about.count);
    return slice;
}

/// Codec work that keeps when each piece was under way, by the host. For one thread at a time.
class TimedWork {
public:
    explicit TimedWork(const CodecWork& work) : work_(work) {}

    Bytes operator()() {
        const Nanoseconds begin = host_now();
        piece_ = work_();
        spans_.push_back({begin.count, host_now().count});
        return piece_;
    }

    /// The first is left out: it brings code in.
    std::span<const DeviceSpan> spans() const { return std::span(spans_).subspan(1); }
    /// Of one piece.
    Bytes piece() const { return piece_; }

private:
    const CodecWork& work_;
    std::vector<DeviceSpan> spans_;
    Bytes piece_{0};
};

/// How many pieces fell into the window; of those at its ends, that share.
double pieces_in(const DeviceSpan& window, const std::vector<DeviceSpan>& spans) {
    double pieces = 0;
    for (const DeviceSpan& span : spans) {
        const std::int64_t inside =
            std::min(span.end, window.end) - std::max(span.begin, window.begin);
        if (inside > 0) pieces += static_cast<double>(inside) / static_cast<double>(length(span));
    }
    return pieces;
}

class StolenSlices {
public:
    StolenSlices(DeviceGemm& gemm, RepeatedProduct& load, const CodecWork& work, Nanoseconds slice)
        : gemm_(gemm), load_(load), work_(work), slice_(slice) {}

    void alone(StolenRound& round) {
        gemm_.start_clock();
        round.load_alone = run_load(load_, slice_).flop_per_second();
    }

    void beside(StolenRound& round) {
        TimedWork codec(work_);
        const CodecWork timed = [&codec] { return codec(); };
        WorkBeside running(timed);
        gemm_.start_clock();
        const std::int64_t zero = host_now().count;
        const LoadSlice slice = run_load(load_, slice_);
        running.finish();
        std::vector<DeviceSpan> spans;
        for (const DeviceSpan& span : codec.spans())
            spans.push_back({span.begin - zero, span.end - zero});
        const DeviceSpan window = slice.window();
        round.load_beside = slice.flop_per_second();
        round.codec_beside = per_second(
            pieces_in(window, spans) * static_cast<double>(codec.piece().count), length(window));
        round.on_core = 1;
        busy_ += account_busy(window, slice.spans, spans);
    }

    void codec_alone(StolenRound& round) {
        std::uint64_t bytes = 0;
        const Nanoseconds start = host_now();
        Nanoseconds time{0};
        do {
            bytes += work_().count;
            time = host_now() - start;
        } while (time < slice_);
        round.codec_alone = per_second(static_cast<double>(bytes), time.count);
    }

    const BusyAccount& busy() const { return busy_; }

private:
    DeviceGemm& gemm_;
    RepeatedProduct& load_;
    const CodecWork& work_;
    Nanoseconds slice_;
    BusyAccount busy_;
};

GpuStolen measure_work(const Console& console, StolenSlices slices, const char* name) {
    std::vector<StolenRound> rounds(kRounds);
    using Slice = void (StolenSlices::*)(StolenRound&);
    constexpr Slice kSlices[] = {&StolenSlices::alone, &StolenSlices::beside,
                                 &StolenSlices::codec_alone};
    constexpr std::size_t kCount = std::size(kSlices);
    for (std::size_t i = 0; i < rounds.size(); ++i) {
        for (std::size_t s = 0; s < kCount; ++s) {
            console.check_interrupt();
            (slices.*kSlices[i % 2 == 0 ? s : kCount - 1 - s])(rounds[i]);
        }
    }
    const StolenShare share = stolen_share(rounds);
    return {name, share.load_alone, stolen_of(share), slices.busy()};
}

const StepProduct& largest(const std::vector<StepProduct>& products) {
    return *std::ranges::max_element(products, {}, [](const StepProduct& product) {
        return static_cast<double>(product.size.flop()) * static_cast<double>(product.count);
    });
}

}  // namespace

GpuCompute measure_gpu(const Console& console,
                       const GpuParts& parts,
                       const ComputeModel& model,
                       const ComputeCodec& codec,
                       Nanoseconds about) {
    const auto training = training_products(model.architecture, model.share, model.tokens);
    const auto generation = generation_products(model.architecture, model.share, kGenerationBatch);
    GpuCompute compute;
    compute.gemm = gemm_text(parts.gemm);
    compute.device = parts.device;
    LoadBuffers buffers;
    // Half of it for the products, half for what is stolen; finding the counts takes more.
    const auto part = [&](std::int64_t slices) {
        return std::max(kSliceMin, Nanoseconds{about.count / 2 / slices});
    };
    const Nanoseconds slice =
        part((std::ssize(training) + std::ssize(generation)) * (kRepeats + 3));
    const auto add = [&](const StepProduct& product, std::string pass) {
        console.check_interrupt();
        compute.rows.push_back(measure_row(parts, buffers, product, slice));
        compute.rows.back().pass = std::move(pass);
    };
    for (const StepProduct& product : training) add(product, std::string(to_text(product.kind)));
    for (const StepProduct& product : generation) add(product, "generation");

    UnitWork unit(parts.codec_device, codec.codec, make_pair(parts.codec_device, codec.pair));
    RepeatedProduct load(parts.gemm, largest(training).size);
    load.load(buffers);
    load.fit(kBatch);
    const CodecWork stage = [&unit] { return unit.stage(); };
    const CodecWork encode = [&unit] { return unit.encode(); };
    constexpr std::int64_t kSlices = 2 * 3 * kRounds;
    compute.rounds = kRounds;
    compute.unit_words = unit.words().count;
    for (const auto& [name, work] : {std::pair{"stage", &stage}, std::pair{"encode", &encode}})
        compute.stolen.push_back(
            measure_work(console, {parts.gemm, load, *work, part(kSlices)}, name));
    if (parts.nvml == nullptr) return compute;
    console.check_interrupt();
    parts.gemm.start_clock();
    const LoadSlice alone = run_load(load, parts.nvml_slice);
    compute.nvml = {parts.nvml->read(parts.pci_bus_id),
                    account_busy(alone.window(), alone.spans, {})};
    return compute;
}

GpuCompute measure_gpu(const Console& console,
                       const ComputeModel& model,
                       const ComputeCodec& codec,
                       Nanoseconds about) {
    constexpr int kFirst = 0;
    const OpenedGpuGemm opened = open_cublaslt_gemm(kFirst);
    if (opened.gemm == nullptr) {
        GpuCompute none;
        none.trouble = opened.trouble;
        return none;
    }
    const auto device = make_cuda_device({kFirst}, 1);
    const auto nvml = open_nvml();
    return measure_gpu(
        console, {*opened.gemm, *device, opened.device, nvml.get(), opened.pci_bus_id, kNvmlSlice},
        model, codec, about);
}

}  // namespace refit
