// Batches of the kernels, whoever runs them. Memory::Session as kernels/cuda/batch_work.hpp says.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "kernels/batch.hpp"
#include "kernels/cuda/batch_work.hpp"
#include "kernels/cuda/batch_xc.hpp"

namespace refit {

template <class Session, class Work>
class KernelBatch final : public Batch {
public:
    template <class Memory>
    KernelBatch(const Memory& memory, BatchSlots slots) : session_(memory) {
        for (const BatchCase* of : slots) slots_.push_back(std::make_unique<Work>(session_, *of));
        session_.finish();
    }

    void poison() override {
        for (const auto& slot : slots_) slot->poison();
        session_.finish();
    }
    std::optional<double> run(std::size_t slot) override {
        slots_[slot]->clear_sums();
        return session_.timed([&] { slots_[slot]->launch(); });
    }
    std::uint64_t wrong(std::size_t slot) override { return slots_[slot]->wrong(); }

private:
    Session session_;
    std::vector<std::unique_ptr<Work>> slots_;
};

template <class Memory>
class KernelBatches : public BatchDevice {
public:
    explicit KernelBatches(Memory memory) : memory_(std::move(memory)) {}

    std::unique_ptr<Batch> make(BatchOperation operation, BatchSlots slots) final {
        switch (operation) {
            case BatchOperation::copy:
                return batch<kernels::CopyWork>(slots);
            case BatchOperation::compare:
                return batch<kernels::CompareWork>(slots);
            case BatchOperation::diff:
                return batch<kernels::DiffWork>(slots);
            case BatchOperation::stage:
                return batch<kernels::StageWork>(slots);
            case BatchOperation::overwrite:
                return batch<kernels::OverwriteWork>(slots);
            case BatchOperation::gather:
                return batch<kernels::GatherWork>(slots);
            case BatchOperation::scatter:
                return batch<kernels::ScatterWork>(slots);
            case BatchOperation::digest:
                return batch<kernels::DigestWork>(slots);
            case BatchOperation::digest_change:
                return batch<kernels::DigestChangeWork>(slots);
            case BatchOperation::xc_sample:
                return batch<kernels::XcSampleWork>(slots);
            case BatchOperation::xc_scan:
                return batch<kernels::XcScanWork>(slots);
            case BatchOperation::xc_encode:
                return batch<kernels::XcEncodeWork>(slots);
            case BatchOperation::xc_decode:
                return batch<kernels::XcDecodeWork>(slots);
            case BatchOperation::field:
                return batch<kernels::FieldWork>(slots);
        }
        return nullptr;
    }

private:
    using Session = typename Memory::Session;

    template <template <class> class Work>
    std::unique_ptr<Batch> batch(BatchSlots slots) {
        return std::make_unique<KernelBatch<Session, Work<Session>>>(memory_, slots);
    }

    Memory memory_;
};

}  // namespace refit
