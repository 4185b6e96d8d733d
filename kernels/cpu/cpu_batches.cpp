// Batches through the Device port: what the CPU does with the same tiles.
#include <algorithm>
#include <cstring>
#include <ctime>
#include <utility>

#include "kernels/batch.hpp"

namespace refit {
namespace {

double cpu_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// What all operations leave of one slot; each uses its own.
struct CpuOutput {
    std::vector<std::uint16_t> words;
    std::vector<std::uint16_t> next;
    std::vector<std::uint64_t> sums;
    std::vector<Changes> changes;
    std::vector<XcTile> lists;
    std::vector<std::vector<std::byte>> payloads;
    std::vector<XcFault> faults;
    XcExponents sample{};
    XcCounts counts;
};

class CpuBatch final : public Batch {
public:
    CpuBatch(Device& device, BatchOperation operation, BatchSlots slots)
        : device_(device), operation_(operation), slots_(slots), outputs_(slots.size()) {
        for (std::size_t s = 0; s < slots.size(); ++s) {
            const std::size_t tiles = slots[s]->tiles.size();
            outputs_[s].sums.resize(tiles);
            outputs_[s].changes.resize(tiles);
            outputs_[s].lists.resize(tiles);
            outputs_[s].payloads.resize(tiles);
            outputs_[s].faults.resize(tiles);
        }
        fill_ = field_levels().front().fill;
    }

    void poison() override {
        constexpr std::uint16_t kJunk = kBatchJunk * 0x101;
        for (std::size_t s = 0; s < slots_.size(); ++s) {
            CpuOutput& out = outputs_[s];
            out.words.assign(slots_[s]->base.size(), kJunk);
            if (operation_ == BatchOperation::field) out.next.assign(slots_[s]->base.size(), kJunk);
            std::ranges::fill(out.sums, ~std::uint64_t{0});
            for (Changes& changes : out.changes) changes.words.assign(1, kJunk);
            for (XcTile& list : out.lists) list.base.assign(1, kJunk);
            std::ranges::fill(out.faults, XcFault::corrupt);
            out.sample.fill(kBatchJunk);
        }
    }

    std::optional<double> run(std::size_t slot) override {
        CpuOutput& out = outputs_[slot];
        out.sample = {};
        out.counts = {};
        for (auto& payload : out.payloads) payload.clear();
        const double start = cpu_seconds();
        for (std::size_t t = 0; t < slots_[slot]->tiles.size(); ++t)
            run_tile(*slots_[slot], t, out);
        return cpu_seconds() - start;
    }

    std::uint64_t wrong(std::size_t slot) override {
        const BatchCase& of = *slots_[slot];
        const CpuOutput& out = outputs_[slot];
        std::uint64_t wrong = 0;
        if (operation_ == BatchOperation::overwrite)
            return wrong_values(std::span<const std::uint16_t>(out.words),
                                std::span<const std::uint16_t>(overwritten_junk(of)));
        if (operation_ == BatchOperation::xc_sample)
            return wrong_values(std::span<const std::uint32_t>(out.sample),
                                std::span<const std::uint32_t>(of.sample));
        if (operation_ == BatchOperation::xc_scan)
            for (std::size_t k = 0; k < of.counts.steps.size(); ++k)
                wrong += wrong_values(std::span<const std::uint32_t>(out.counts.steps[k]),
                                      std::span<const std::uint32_t>(of.counts.steps[k]));
        for (std::size_t t = 0; t < of.tiles.size(); ++t) wrong += wrong_tile(of, t, out);
        return wrong;
    }

private:
    using Words = std::span<const std::uint16_t>;

    void run_tile(const BatchCase& of, std::size_t t, CpuOutput& out) {
        const BatchTile& tile = of.tiles[t];
        const Words base = Words(of.base).subspan(tile.first, tile.words);
        const Words next = Words(of.next).subspan(tile.first, tile.words);
        const std::span words(out.words);
        const std::span<const Placement> placed(&tile.placement, 1);
        switch (operation_) {
            case BatchOperation::copy:
                std::memcpy(words.data() + tile.first, base.data(), base.size_bytes());
                break;
            case BatchOperation::compare:
                break;
            case BatchOperation::diff:
                device_.diff(base, next, out.changes[t]);
                break;
            case BatchOperation::stage:
                device_.stage(base, tile.index, tile.mask, out.changes[t]);
                break;
            case BatchOperation::overwrite:
                device_.overwrite(words, tile.changes, placed);
                break;
            case BatchOperation::gather:
                device_.gather(of.base, placed, words.subspan(tile.first, tile.words));
                break;
            case BatchOperation::scatter:
                device_.scatter(base, placed, words);
                break;
            case BatchOperation::digest:
                out.sums[t] = device_.digest(of.base, placed, of.salt);
                break;
            case BatchOperation::digest_change:
                out.sums[t] = device_.digest_change(base, tile.changes, placed, of.salt);
                break;
            default:
                run_xc_tile(of, t, out);
        }
    }

    void run_xc_tile(const BatchCase& of, std::size_t t, CpuOutput& out) {
        const BatchTile& tile = of.tiles[t];
        const Words base = Words(of.base).subspan(tile.first, tile.words);
        if (operation_ == BatchOperation::xc_sample)
            device_.xc_sample(base, of.tables.context.mantissa_bits, out.sample);
        if (operation_ == BatchOperation::xc_scan) {
            XcCounts counts;
            device_.xc_scan(base, tile.changes, of.tables.context, out.lists[t], counts);
            out.counts.add(counts);
        }
        if (operation_ == BatchOperation::xc_encode)
            device_.xc_encode(base, tile.list, of.tables, tile.levels, out.payloads[t]);
        if (operation_ == BatchOperation::xc_decode)
            out.faults[t] = device_.xc_decode(base, tile.payload,
                                              static_cast<std::uint32_t>(tile.changes.changed()),
                                              of.tables, out.changes[t]);
        if (operation_ == BatchOperation::field) fill_tile(tile, out);
    }

    void fill_tile(const BatchTile& tile, CpuOutput& out) const {
        const std::uint64_t columns = tile.field.columns;
        for (std::uint64_t word = 0; word < tile.words; word += columns) {
            const std::uint64_t count = std::min(columns, tile.words - word);
            fill_(tile.field, {word / columns, 0}, {0, 1},
                  std::span(out.words).subspan(tile.first + word, count),
                  std::span(out.next).subspan(tile.first + word, count));
        }
    }

    std::uint64_t wrong_tile(const BatchCase& of, std::size_t t, const CpuOutput& out) const {
        const BatchTile& tile = of.tiles[t];
        const auto wrong_words = [&](Words found, Words expected) {
            return wrong_values(found.subspan(tile.first, tile.words),
                                expected.subspan(tile.first, tile.words));
        };
        switch (operation_) {
            case BatchOperation::copy:
            case BatchOperation::gather:
            case BatchOperation::scatter:
                return wrong_words(out.words, of.base);
            case BatchOperation::field:
                return wrong_words(out.words, of.base) + wrong_words(out.next, of.next);
            case BatchOperation::diff:
            case BatchOperation::stage:
                return wrong_changes(out.changes[t], tile.changes);
            case BatchOperation::digest:
                return out.sums[t] == tile.digest ? 0 : 1;
            case BatchOperation::digest_change:
                return out.sums[t] == tile.digest_change ? 0 : 1;
            case BatchOperation::xc_scan:
                return wrong_list(out.lists[t], tile.list);
            case BatchOperation::xc_encode:
                return wrong_values(std::span<const std::byte>(out.payloads[t]),
                                    std::span<const std::byte>(tile.payload));
            case BatchOperation::xc_decode:
                return (out.faults[t] == tile.fault ? 0u : 1u) +
                       wrong_changes(out.changes[t], tile.decoded);
            default:
                return 0;
        }
    }

    static std::uint64_t wrong_list(const XcTile& found, const XcTile& expected) {
        return wrong_values(std::span(found.bits), std::span(expected.bits)) +
               wrong_values(std::span(found.changed), std::span(expected.changed)) +
               wrong_values(std::span(found.words), std::span(expected.words)) +
               wrong_values(std::span(found.base), std::span(expected.base)) +
               wrong_values(std::span(found.step), std::span(expected.step));
    }

    Device& device_;
    BatchOperation operation_;
    BatchSlots slots_;
    std::vector<CpuOutput> outputs_;
    FillField fill_ = nullptr;
};

class CpuBatches final : public BatchDevice {
public:
    explicit CpuBatches(std::unique_ptr<Device> device) : device_(std::move(device)) {}

    std::string_view name() const override { return "cpu"; }
    std::string detail() const override { return device_->detail(); }
    std::unique_ptr<Batch> make(BatchOperation operation, BatchSlots slots) override {
        if (operation == BatchOperation::compare) return nullptr;
        return std::make_unique<CpuBatch>(*device_, operation, slots);
    }

private:
    std::unique_ptr<Device> device_;
};

}  // namespace

std::unique_ptr<BatchDevice> make_cpu_batches(std::unique_ptr<Device> device) {
    return std::make_unique<CpuBatches>(std::move(device));
}

}  // namespace refit
