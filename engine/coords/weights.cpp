#include "engine/coords/weights.hpp"

#include <algorithm>
#include <utility>

namespace refit {

std::vector<std::uint16_t> all_words(const Catalog& catalog, const Weights& weights) {
    std::vector<std::uint16_t> words(catalog.words().count);
    for (std::uint32_t id = 0; id < catalog.tensors().size(); ++id) {
        const Tensor& tensor = catalog.tensor(id);
        weights.read(id, 0, std::span(words).subspan(tensor.first_word, tensor.words));
    }
    return words;
}

MemoryWeights::MemoryWeights(const Catalog& catalog, std::vector<std::uint16_t> words)
    : catalog_(catalog), words_(std::move(words)) {
    REFIT_ASSERT(words_.empty() || words_.size() == catalog_.words().count);
}

void MemoryWeights::read(std::uint32_t tensor,
                         std::uint64_t first,
                         std::span<std::uint16_t> out) const {
    const std::uint64_t at = word_of(tensor, first, out.size());
    if (words_.empty()) {
        std::ranges::fill(out, std::uint16_t{0});
        return;
    }
    std::copy_n(words_.data() + at, out.size(), out.data());
}

std::span<const std::uint16_t> MemoryWeights::view(std::uint32_t tensor,
                                                   std::uint64_t first,
                                                   std::uint64_t words) const {
    const std::uint64_t at = word_of(tensor, first, words);
    if (words_.empty()) return {};
    return std::span(words_).subspan(at, words);
}

std::uint64_t MemoryWeights::word_of(std::uint32_t tensor,
                                     std::uint64_t first,
                                     std::uint64_t words) const {
    REFIT_ASSERT(tensor < catalog_.tensors().size());
    const Tensor& in = catalog_.tensor(tensor);
    REFIT_ASSERT(words <= in.words && first <= in.words - words);
    return in.first_word + first;
}

}  // namespace refit
