#include "kernels/weight_field.hpp"

#include "kernels/check.hpp"

// One source for every level: the loops below are compiled once per instruction set.
#define HWY_COMPILE_ALL_ATTAINABLE  // NOLINT(readability-identifier-naming)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/weight_field.cpp"  // NOLINT(readability-identifier-naming)
#include <hwy/foreach_target.h>
// foreach_target.h comes first by rule.
#include <hwy/highway.h>

#include "kernels/cpu/dispatch.hpp"

HWY_BEFORE_NAMESPACE();
namespace refit {
namespace HWY_NAMESPACE {

/// A run in plain pointers, as the compiler's vectoriser wants it.
struct Output {
    std::uint16_t* HWY_RESTRICT base;
    std::uint16_t* HWY_RESTRICT next;
    std::uint32_t count;
};

template <bool kFresh>
void fill_drift(const FieldRow row, std::uint32_t column, const Output out) {
    std::uint16_t* HWY_RESTRICT base = out.base;
    std::uint16_t* HWY_RESTRICT next = out.next;
    FieldColumn at = field_column(column);
    for (std::uint32_t i = 0; i < out.count; ++i, at = right_of(at)) {
        const FieldWords words = drift_words<kFresh>(row, at);
        base[i] = words.base;
        next[i] = words.next;
    }
}

template <bool kEven>
void fill_drawn(const FieldRow row, std::uint32_t column, const Output out) {
    std::uint16_t* HWY_RESTRICT base = out.base;
    std::uint16_t* HWY_RESTRICT next = out.next;
    FieldColumn at = field_column(column);
    for (std::uint32_t i = 0; i < out.count; ++i, at = right_of(at)) {
        const FieldWords words = drawn_words<kEven>(row, at);
        base[i] = words.base;
        next[i] = words.next;
    }
}

void fill(const FieldTensor& tensor,
          FieldRun run,
          FieldSpan span,
          std::span<std::uint16_t> base,
          std::span<std::uint16_t> next) {
    REFIT_KERNEL_CHECK(base.size() == next.size());
    REFIT_KERNEL_CHECK(tensor.columns < std::uint64_t{1} << 32);
    REFIT_KERNEL_CHECK(run.column + base.size() <= tensor.columns);
    REFIT_KERNEL_CHECK(span.version % kEpochVersions + span.steps <= kEpochVersions);
    const FieldRow row = field_row(tensor, run.row, span);
    const Output out{base.data(), next.data(), static_cast<std::uint32_t>(base.size())};
    if (tensor.law == FieldLaw::drift)
        fill_drift<false>(row, run.column, out);
    else if (tensor.law == FieldLaw::fresh)
        fill_drift<true>(row, run.column, out);
    else if (tensor.law == FieldLaw::even)
        fill_drawn<true>(row, run.column, out);
    else
        fill_drawn<false>(row, run.column, out);
}

FillField fill_of_level() { return &fill; }

}  // namespace HWY_NAMESPACE
}  // namespace refit
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace refit {

namespace {

HWY_EXPORT(fill_of_level);

}  // namespace

std::vector<FieldLevel> field_levels() {
    std::vector<FieldLevel> levels;
    for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
        levels.push_back(
            {hwy::TargetName(target), HWY_DISPATCH_TABLE(fill_of_level)[dispatch_entry(target)]()});
    }
    return levels;
}

}  // namespace refit

#endif
