// A growable set of chunk indices, for have-bitmaps.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace refit {

class Bitmap {
public:
    void resize(std::uint32_t bits) {
        bits_ = bits;
        words_.resize((std::size_t{bits} + 63) / 64);
    }
    std::uint32_t size() const { return bits_; }
    bool test(std::uint32_t i) const {
        return i < bits_ && ((words_[i / 64] >> (i % 64)) & 1) != 0;
    }
    void set(std::uint32_t i) { words_[i / 64] |= std::uint64_t{1} << (i % 64); }
    std::uint32_t count() const {
        std::uint32_t total = 0;
        for (const std::uint64_t word : words_)
            total += static_cast<std::uint32_t>(std::popcount(word));
        return total;
    }

private:
    std::vector<std::uint64_t> words_;
    std::uint32_t bits_ = 0;
};

}  // namespace refit
