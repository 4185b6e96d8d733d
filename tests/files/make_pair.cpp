// Writes a pair of safetensors files of any size: make_pair BASE NEXT TENSORS CHANGED_PER_MILLION
//
// Each tensor is BF16 [4096, 4096], 32 MiB. Words have exponents like those of real weights; the
// given share of them moves by one step up or down. Memory: one tensor row block.
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/base/rng.hpp"

namespace {

constexpr std::uint64_t kSide = 4096;
constexpr std::uint64_t kTensorBytes = 2 * kSide * kSide;
constexpr std::uint64_t kBlockWords = std::uint64_t{1} << 20;

std::string header(std::uint64_t tensors) {
    std::string json = "{";
    for (std::uint64_t t = 0; t < tensors; ++t) {
        json += fmt::format(
            R"({}"model.layers.{}.mlp.up_proj.weight":{{"dtype":"BF16","shape":[{},{}],)"
            R"("data_offsets":[{},{}]}})",
            t == 0 ? "" : ",", t, kSide, kSide, t * kTensorBytes, (t + 1) * kTensorBytes);
    }
    refit::ByteWriter writer;
    json += "}";
    writer.write(std::uint64_t{json.size()});
    writer.append(refit::as_byte_span(json));
    return std::string(refit::as_text(writer.bytes()));
}

/// Sign, one of 15 exponents with those in the middle most often, 7 bits of mantissa.
std::uint16_t random_word(std::uint64_t random) {
    const std::uint64_t exponent = 108 + (random & 7u) + ((random >> 3) & 7u);
    return static_cast<std::uint16_t>(((random >> 6) & 0x8000u) | (exponent << 7) |
                                      ((random >> 24) & 0x7Fu));
}

bool write_pair(std::ofstream& base, std::ofstream& next, std::uint64_t words, std::uint64_t rate) {
    refit::Rng rng(2026, 1);
    std::vector<std::uint16_t> before(kBlockWords);
    std::vector<std::uint16_t> after(kBlockWords);
    for (std::uint64_t done = 0; done < words; done += kBlockWords) {
        for (std::uint64_t i = 0; i < kBlockWords; ++i) {
            const std::uint64_t random = rng.next();
            before[i] = random_word(random);
            const int step = (random >> 32) % 1'000'000 >= rate ? 0 : random & 0x100u ? 1 : -1;
            after[i] = static_cast<std::uint16_t>(before[i] + step);
        }
        constexpr auto kBytes = static_cast<std::streamsize>(2 * kBlockWords);
        base.write(reinterpret_cast<const char*>(before.data()), kBytes);
        next.write(reinterpret_cast<const char*>(after.data()), kBytes);
    }
    return base.good() && next.good();
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 5) {
        fmt::print(stderr, "usage: make_pair BASE NEXT TENSORS CHANGED_PER_MILLION\n");
        return 2;
    }
    std::ofstream base(argv[1], std::ios::binary);
    std::ofstream next(argv[2], std::ios::binary);
    const std::uint64_t tensors = std::strtoull(argv[3], nullptr, 10);
    const std::string head = header(tensors);
    base << head;
    next << head;
    const std::uint64_t rate = std::strtoull(argv[4], nullptr, 10);
    return write_pair(base, next, tensors * kSide * kSide, rate) ? 0 : 1;
}
