#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/coords/disjoint.hpp"
#include "engine/coords/holders.hpp"
#include "engine/coords/shard_map.hpp"

namespace refit {

namespace {

/// More pieces than this in one target box, and composing gives up rather than run out of memory.
constexpr std::size_t kFragmentsMax = std::size_t{1} << 20;

/// Canonical rows x columns of a target box that no source has filled yet.
struct Fragment {
    Progression rows;
    Progression columns;
};

class Composer {
public:
    Composer(const Catalog& catalog, const ShardMap& source, const ShardMap& target)
        : catalog_(catalog), target_(target), sources_(catalog, source.ranks()) {}

    Result<std::vector<Transfer>> compose() {
        for (std::uint32_t r = 0; r < target_.ranks().size(); ++r) {
            const RankMap& rank = target_.ranks()[r];
            REFIT_CHECK(prove_disjoint(catalog_, rank, r));
            for (const Box& box : rank.boxes) REFIT_CHECK(fill(r, box));
        }
        return std::move(transfers_);
    }

private:
    /// Takes what each source holds out of what is left, lowest rank first: so no word is taken
    /// twice, and every word is taken once nothing is left.
    Status fill(std::uint32_t target_rank, const Box& target) {
        left_.assign(1, {target.rows(), target.columns()});
        std::uint64_t filled = 0;
        for (const Holder& source : sources_.of(target.tensor)) {
            if (left_.empty()) break;
            still_.clear();
            for (const Fragment& fragment : left_) {
                const auto rows = intersect(fragment.rows, source.box->rows());
                const auto columns = intersect(fragment.columns, source.box->columns());
                if (!rows || !columns) {
                    still_.push_back(fragment);
                    continue;
                }
                if (still_.size() + parts_of(fragment, *rows, *columns) > kFragmentsMax)
                    return too_intricate(target.tensor);
                transfers_.push_back({.source_rank = source.rank,
                                      .target_rank = target_rank,
                                      .source = restrict_box(*source.box, *rows, *columns),
                                      .target = restrict_box(target, *rows, *columns)});
                filled += rows->count * columns->count;
                keep_rest(fragment, *rows, *columns);
            }
            std::swap(left_, still_);
        }
        if (!left_.empty()) return missing(target_rank, target.tensor);
        REFIT_ASSERT(filled == target.words());
        return Done{};
    }

    static std::uint64_t parts_of(const Fragment& fragment,
                                  const Progression& rows,
                                  const Progression& columns) {
        return difference_parts(fragment.rows, rows) + difference_parts(fragment.columns, columns);
    }

    void keep_rest(const Fragment& fragment, const Progression& rows, const Progression& columns) {
        for (const Progression& rest : difference(fragment.rows, rows))
            still_.push_back({rest, fragment.columns});
        for (const Progression& rest : difference(fragment.columns, columns))
            still_.push_back({rows, rest});
    }

    Error missing(std::uint32_t target_rank, std::uint32_t id) const {
        const Tensor& tensor = catalog_.tensor(id);
        std::uint64_t word = ~std::uint64_t{0};
        for (const Fragment& f : left_)
            word = std::min(word, f.rows.first * tensor.columns + f.columns.first);
        return {ErrorCode::invalid_input,
                fmt::format("no source holds tensor {}, row {}, column {} for target rank {}",
                            quoted_name(tensor.name), word / tensor.columns, word % tensor.columns,
                            target_rank)};
    }

    Error too_intricate(std::uint32_t tensor) const {
        return {ErrorCode::unsupported,
                fmt::format("the boxes of tensor {} interleave in too many ways to compose",
                            quoted_name(catalog_.tensor(tensor).name))};
    }

    const Catalog& catalog_;
    const ShardMap& target_;
    Holders sources_;
    std::vector<Fragment> left_;   // of the target box in work
    std::vector<Fragment> still_;  // of it after the source in work
    std::vector<Transfer> transfers_;
};

}  // namespace

Result<std::vector<Transfer>> compose(const Catalog& catalog,
                                      const ShardMap& source,
                                      const ShardMap& target) {
    return Composer(catalog, source, target).compose();
}

}  // namespace refit
