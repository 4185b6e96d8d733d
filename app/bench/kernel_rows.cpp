#include "app/bench/kernel_rows.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "app/backend.hpp"
#include "kernels/cuda/cuda_batches.hpp"
#include "kernels/cuda/cuda_device.hpp"
#include "kernels/simt/simt_batches.hpp"

namespace refit {
namespace {

constexpr std::size_t kSlots = 4;
constexpr std::uint64_t kMixedWords = std::uint64_t{64} << 10;
constexpr std::uint64_t kSmallWords = std::uint64_t{1} << 20;
constexpr std::uint64_t kUsualWords = std::uint64_t{16} << 20;
/// A warp per tile codes: fewer tiles would leave a large GPU idle.
constexpr std::uint64_t kLargeWords = std::uint64_t{256} << 20;
constexpr int kRunsOnGpu = 20;
constexpr int kRunsOnCpu = 5;

double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

/// The cases of one size; those of the largest are one, in several slots.
class KernelCases {
public:
    KernelCases(Device& reference, const KernelCaseSpec& spec) {
        const std::size_t distinct = spec.words > kUsualWords ? 1 : kSlots;
        for (std::size_t k = 0; k < distinct; ++k) {
            KernelCaseSpec of = spec;
            of.seed = spec.seed + k;
            cases_.push_back(make_kernel_case(reference, of));
        }
        for (std::size_t k = 0; k < kSlots; ++k) slots_.push_back(&cases_[k % distinct]);
        counts_ = count_kernel_case(cases_.front());
        mixed_ = spec.mixed;
    }
    KernelCases(KernelCases&&) = default;

    BatchSlots slots() const { return slots_; }
    /// Slots that differ: what the others leave need not be compared.
    std::size_t distinct() const { return cases_.size(); }
    const KernelCounts& counts() const { return counts_; }
    bool mixed() const { return mixed_; }

private:
    std::vector<BatchCase> cases_;
    std::vector<const BatchCase*> slots_;
    KernelCounts counts_;
    bool mixed_ = false;
};

KernelRow floor_row(const KernelFloor& floor, const KernelCases& cases) {
    KernelRow row;
    row.floor = &floor;
    row.counts = cases.counts();
    row.floor_bytes = floor_bytes(floor, row.counts);
    row.mixed = cases.mixed();
    return row;
}

std::uint64_t wrong_in(Batch& batch, std::size_t slots) {
    std::uint64_t wrong = 0;
    for (std::size_t slot = 0; slot < slots; ++slot) wrong += batch.wrong(slot);
    return wrong;
}

/// One device at one size.
class RowsOf {
public:
    RowsOf(const Console& console, BatchDevice& device, const KernelCases& cases)
        : console_(console), device_(device), cases_(cases) {}

    void add(std::vector<KernelRow>& rows) {
        for (const KernelFloor& floor : kernel_floors()) {
            console_.check_interrupt();
            const auto batch = device_.make(floor.operation, cases_.slots());
            if (batch == nullptr) continue;
            KernelRow row = floor_row(floor, cases_);
            row.ran = true;
            batch->poison();
            for (std::size_t slot = 0; slot < kSlots; ++slot) batch->run(slot);
            row.wrong = wrong_in(*batch, cases_.distinct());
            row.checked_words = cases_.distinct() * row.counts.words;
            if (!cases_.mixed()) measure(*batch, row);
            rows.push_back(row);
        }
    }

private:
    void measure(Batch& batch, KernelRow& row) {
        const int runs = device_.name() == "cuda" ? kRunsOnGpu : kRunsOnCpu;
        std::vector<double> seconds;
        for (int run = 0; run < runs; ++run) {
            console_.check_interrupt();
            const auto spent = batch.run(static_cast<std::size_t>(run) % kSlots);
            if (!spent.has_value()) return;
            seconds.push_back(std::max(*spent, 1e-9));
        }
        row.wrong += wrong_in(batch, cases_.distinct());
        row.seconds = median(std::move(seconds));
        if (row.floor->operation == BatchOperation::copy) ceiling_ = row.floor_bytes / *row.seconds;
        row.ceiling_bytes_per_second = ceiling_;
    }

    const Console& console_;
    BatchDevice& device_;
    const KernelCases& cases_;
    std::optional<double> ceiling_;
};

class KernelBench {
public:
    KernelBench(const Console& console, const KernelBenchSpec& spec)
        : console_(console), spec_(spec), fast_(make_cpu_device()) {}

    std::vector<KernelTable> measure() {
        const std::string& backend = spec_.backend;
        if (backend == "simt") add(*make_simt_batches(), {});
        if (backend == "auto" || backend == "cpu")
            add(*make_cpu_batches(make_cpu_device(1)), small_sizes());
        if (backend == "auto" || backend == "cuda") add_cuda();
        return std::move(tables_);
    }

private:
    std::vector<std::uint64_t> small_sizes() const {
        return spec_.words > 0 ? std::vector{spec_.words} : std::vector{kSmallWords, kUsualWords};
    }
    std::vector<std::uint64_t> all_sizes() const {
        std::vector<std::uint64_t> sizes = small_sizes();
        if (spec_.words == 0) sizes.push_back(kLargeWords);
        return sizes;
    }

    /// Proved by the plain reference, whatever the level of the CPU at hand.
    const KernelCases& mixed_cases() {
        if (!mixed_.has_value())
            mixed_.emplace(*make_cpu_device(1, "scalar"),
                           KernelCaseSpec{kMixedWords, true, spec_.seed});
        return *mixed_;
    }
    const KernelCases& cases_of(std::uint64_t words) {
        const auto found = cases_.find(words);
        if (found != cases_.end()) return found->second;
        return cases_.emplace(words, KernelCases(*fast_, {words, false, spec_.seed})).first->second;
    }

    void add(BatchDevice& device, const std::vector<std::uint64_t>& sizes) {
        KernelTable table{std::string(device.name()), device.detail(), {}, {}};
        RowsOf(console_, device, mixed_cases()).add(table.rows);
        for (const std::uint64_t words : sizes) add_size(device, words, table);
        tables_.push_back(std::move(table));
    }

    /// A GPU may be too small for the largest size: then it has no rows there.
    void add_size(BatchDevice& device, std::uint64_t words, KernelTable& table) {
        std::vector<KernelRow> rows;
        try {
            RowsOf(console_, device, cases_of(words)).add(rows);
        } catch (const std::runtime_error& error) {
            const std::string_view what = error.what();
            if (words != kLargeWords || !what.starts_with(kNoDeviceMemory)) throw;
            console_.note("no rows of 256Mi words: " + std::string(what));
            rows.clear();
        }
        table.rows.insert(table.rows.end(), rows.begin(), rows.end());
    }

    void add_cuda() {
        BackendFlags flags;
        flags.name = "cuda";
        flags.devices = spec_.devices.empty() ? "0" : spec_.devices;
        std::string absence;
        try {
            const CudaDriver driver = find_cuda_driver(cuda_runtime_version());
            for (const int device : choose_backend(flags, driver).devices)
                add(*make_cuda_batches(device), all_sizes());
            return;
        } catch (const MachineError& error) {
            absence = error.what();
        }
        KernelTable table{"cuda", "no device", absence, {}};
        for (const std::uint64_t words : small_sizes())
            for (const KernelFloor& floor : kernel_floors())
                table.rows.push_back(floor_row(floor, cases_of(words)));
        tables_.push_back(std::move(table));
    }

    const Console& console_;
    const KernelBenchSpec& spec_;
    std::unique_ptr<Device> fast_;
    std::optional<KernelCases> mixed_;
    std::map<std::uint64_t, KernelCases> cases_;
    std::vector<KernelTable> tables_;
};

}  // namespace

std::optional<double> KernelRow::bytes_per_second() const {
    if (!seconds.has_value()) return std::nullopt;
    return floor_bytes / *seconds;
}

std::optional<double> KernelRow::share_of_ceiling() const {
    if (!seconds.has_value() || !ceiling_bytes_per_second.has_value()) return std::nullopt;
    return *bytes_per_second() / *ceiling_bytes_per_second;
}

bool KernelTable::exact() const {
    return std::ranges::all_of(rows, [](const KernelRow& row) { return row.wrong == 0; });
}

std::vector<KernelTable> measure_kernels(const Console& console, const KernelBenchSpec& spec) {
    return KernelBench(console, spec).measure();
}

}  // namespace refit
