#include "engine/coords/weights.hpp"

#include <algorithm>
#include <utility>

namespace refit {

MemoryWeights::MemoryWeights(const Catalog& catalog, std::vector<std::uint16_t> words)
    : catalog_(catalog), words_(std::move(words)) {
    REFIT_ASSERT(words_.empty() || words_.size() == catalog_.words().count);
}

void MemoryWeights::read(std::uint32_t tensor,
                         std::uint64_t first,
                         std::span<std::uint16_t> out) const {
    REFIT_ASSERT(tensor < catalog_.tensors().size());
    const Tensor& from = catalog_.tensor(tensor);
    REFIT_ASSERT(out.size() <= from.words && first <= from.words - out.size());
    if (words_.empty()) {
        std::ranges::fill(out, std::uint16_t{0});
        return;
    }
    std::copy_n(words_.data() + from.first_word + first, out.size(), out.data());
}

}  // namespace refit
