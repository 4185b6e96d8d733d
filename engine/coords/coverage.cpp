#include "engine/coords/coverage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace refit {

namespace {

bool has_residue(const Progression& p, std::uint64_t residue) {
    return p.count == 1 || residue % p.step == p.first % p.step;
}

}  // namespace

void CopyCounter::Axis::start(std::uint64_t extent) {
    cuts.assign({0, extent});
    modulus = 1;
}

void CopyCounter::Axis::add(const Progression& progression) {
    cuts.push_back(progression.first);
    cuts.push_back(progression.last() + 1);
    if (progression.count == 1 || modulus > kCoverageWorkMax) return;
    // Only moduli within the limit are of use: saturate above it.
    const std::uint64_t factor = progression.step / std::gcd(modulus, progression.step);
    modulus = factor > kCoverageWorkMax ? kCoverageWorkMax + 1 : modulus * factor;
}

void CopyCounter::Axis::finish() {
    std::ranges::sort(cuts);
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
}

std::size_t CopyCounter::Axis::interval_at(std::uint64_t cut) const {
    return static_cast<std::size_t>(std::ranges::lower_bound(cuts, cut) - cuts.begin());
}

std::optional<std::uint64_t> CopyCounter::Axis::first_in(std::size_t interval,
                                                         std::uint64_t residue) const {
    const std::uint64_t begin = cuts[interval];
    const std::uint64_t at = begin + (residue + modulus - begin % modulus) % modulus;
    if (at >= cuts[interval + 1]) return std::nullopt;
    return at;
}

void CopyCounter::fill(std::span<const Holder> holders,
                       std::uint64_t row_rest,
                       std::uint64_t col_rest) {
    const std::size_t width = columns_.cuts.size();
    counts_.assign(rows_.cuts.size() * width, 0);
    for (const Holder& holder : holders) {
        const Progression rows = holder.box->rows(), columns = holder.box->columns();
        if (!has_residue(rows, row_rest) || !has_residue(columns, col_rest)) continue;
        const std::size_t top = rows_.interval_at(rows.first) * width;
        const std::size_t bottom = rows_.interval_at(rows.last() + 1) * width;
        const std::size_t left = columns_.interval_at(columns.first);
        const std::size_t right = columns_.interval_at(columns.last() + 1);
        ++counts_[top + left];
        --counts_[top + right];
        --counts_[bottom + left];
        ++counts_[bottom + right];
    }
}

void CopyCounter::scan(const Tensor& tensor,
                       std::uint64_t row_rest,
                       std::uint64_t col_rest,
                       Copies& copies) {
    const std::size_t width = columns_.cuts.size();
    for (std::size_t r = 0; r < rows_.intervals(); ++r) {
        const auto row = rows_.first_in(r, row_rest);
        std::int64_t in_row = 0;
        for (std::size_t c = 0; c < columns_.intervals(); ++c) {
            in_row += counts_[r * width + c];
            if (r > 0) counts_[r * width + c] = counts_[(r - 1) * width + c] + in_row;
            if (r == 0) counts_[c] = in_row;
            const auto column = columns_.first_in(c, col_rest);
            if (!row || !column) continue;
            const auto held = static_cast<std::uint64_t>(counts_[r * width + c]);
            const std::uint64_t word = *row * tensor.columns + *column;
            copies.max = std::max(copies.max, held);
            if (held < copies.min || (held == copies.min && word < copies.first_min)) {
                copies.min = held;
                copies.first_min = word;
            }
        }
    }
}

Result<Copies> CopyCounter::count(const Tensor& tensor, std::span<const Holder> holders) {
    REFIT_ASSERT(tensor.words > 0);
    rows_.start(tensor.rows);
    columns_.start(tensor.columns);
    for (const Holder& holder : holders) {
        rows_.add(holder.box->rows());
        columns_.add(holder.box->columns());
    }
    rows_.finish();
    columns_.finish();

    const std::uint64_t cells = rows_.cuts.size() * columns_.cuts.size() + holders.size();
    if (rows_.modulus > kCoverageWorkMax || columns_.modulus > kCoverageWorkMax / rows_.modulus ||
        cells > kCoverageWorkMax / (rows_.modulus * columns_.modulus)) {
        return Error{ErrorCode::unsupported,
                     fmt::format("the boxes of tensor {} interleave in too many ways to prove",
                                 quoted_name(tensor.name))};
    }
    Copies copies{.min = ~std::uint64_t{0}, .max = 0, .first_min = ~std::uint64_t{0}};
    for (std::uint64_t r = 0; r < rows_.modulus; ++r) {
        for (std::uint64_t c = 0; c < columns_.modulus; ++c) {
            fill(holders, r, c);
            scan(tensor, r, c, copies);
        }
    }
    return copies;
}

}  // namespace refit
