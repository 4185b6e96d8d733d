// The built-in products: blocked over packed panels, and the triple loop to be believed by reading.
#include "kernels/gemm.hpp"

#include <hwy/aligned_allocator.h>

#include <algorithm>
#include <bit>
#include <stdexcept>

#include "kernels/check.hpp"
#include "kernels/cpu/gemm_simd.hpp"

namespace refit {

namespace {

constexpr std::string_view kPlainLevel = "scalar";

// A block of A (96 KiB widened) stays in the second cache, a strip of B (16 KiB at eight lanes) in
// the first, the panel of B (1 MiB) in whatever is behind.
constexpr std::size_t kBlockRows = 96;
constexpr std::size_t kBlockDepth = 256;
constexpr std::size_t kBlockColumns = 1024;
constexpr std::size_t kPackRows = 8;

float widened(std::uint16_t word) { return std::bit_cast<float>(std::uint32_t{word} << 16); }

std::size_t rounded_up(std::size_t count, std::size_t unit) {
    return (count + unit - 1) / unit * unit;
}

class PlainGemm final : public Gemm {
public:
    std::string_view name() const override { return "built-in"; }
    std::string detail() const override { return std::string(kPlainLevel); }

    void multiply(const GemmSize& size,
                  std::span<const std::uint16_t> a,
                  std::span<const std::uint16_t> b,
                  std::span<float> c) override {
        check_operands(size, a.size(), b.size(), c.size());
        for (std::size_t i = 0; i < size.m; ++i) {
            for (std::size_t j = 0; j < size.n; ++j) {
                float sum = 0;
                for (std::size_t p = 0; p < size.k; ++p)
                    sum += widened(a[i * size.k + p]) * widened(b[p * size.n + j]);
                c[i * size.n + j] = sum;
            }
        }
    }
};

class BlockedGemm final : public Gemm {
public:
    explicit BlockedGemm(GemmLevel level)
        : level_(std::move(level)),
          rows_(hwy::AllocateAligned<float>(rounded_up(kBlockRows, ops().rows) * kBlockDepth)),
          columns_(
              hwy::AllocateAligned<float>(rounded_up(kBlockColumns, ops().columns) * kBlockDepth)) {
        if (rows_ == nullptr || columns_ == nullptr) throw std::bad_alloc();
    }

    std::string_view name() const override { return "built-in"; }
    std::string detail() const override { return level_.name; }

    void multiply(const GemmSize& size,
                  std::span<const std::uint16_t> a,
                  std::span<const std::uint16_t> b,
                  std::span<float> c) override {
        check_operands(size, a.size(), b.size(), c.size());
        for (std::size_t j = 0; j < size.n; j += kBlockColumns) {
            const std::size_t columns = std::min(kBlockColumns, size.n - j);
            for (std::size_t p = 0; p < size.k; p += kBlockDepth) {
                const std::size_t depth = std::min(kBlockDepth, size.k - p);
                pack_columns(&b[p * size.n + j], size.n, depth, columns);
                for (std::size_t i = 0; i < size.m; i += kBlockRows) {
                    const std::size_t rows = std::min(kBlockRows, size.m - i);
                    pack_rows(&a[i * size.k + p], size.k, depth, rows);
                    const Block block{rows, columns, depth, p > 0, size.n};
                    multiply_block(block, &c[i * size.n + j]);
                }
            }
        }
    }

private:
    /// Of C, with the depth of the panels it is the product of.
    struct Block {
        std::size_t rows;
        std::size_t columns;
        std::size_t depth;
        bool add;  // to what C has from the panels before
        std::size_t stride;
    };

    const GemmOps& ops() const { return level_.ops; }

    void pack_columns(const std::uint16_t* b,
                      std::size_t stride,
                      std::size_t depth,
                      std::size_t columns) {
        const std::size_t strip = ops().columns;
        // A few rows at a time: the next strip finds the rest of their cache lines still there.
        for (std::size_t p = 0; p < depth; p += kPackRows) {
            const std::size_t rows = std::min(kPackRows, depth - p);
            float* out = columns_.get() + p * strip;
            for (std::size_t j = 0; j < columns; j += strip, out += strip * depth)
                ops().pack_columns(b + p * stride + j, stride, rows, std::min(strip, columns - j),
                                   out);
        }
    }

    void pack_rows(const std::uint16_t* a,
                   std::size_t stride,
                   std::size_t depth,
                   std::size_t rows) {
        const std::size_t strip = ops().rows;
        float* out = rows_.get();
        for (std::size_t i = 0; i < rows; i += strip, out += strip * depth) {
            for (std::size_t r = 0; r < strip; ++r) {
                // Rows that are not there may be anything: what comes of them is not stored.
                const std::uint16_t* from = a + std::min(i + r, rows - 1) * stride;
                for (std::size_t p = 0; p < depth; ++p) out[p * strip + r] = widened(from[p]);
            }
        }
    }

    void multiply_block(const Block& block, float* c) {
        const std::size_t tile_rows = ops().rows;
        const std::size_t tile_columns = ops().columns;
        for (std::size_t j = 0; j < block.columns; j += tile_columns) {
            const float* const b = columns_.get() + j * block.depth;
            for (std::size_t i = 0; i < block.rows; i += tile_rows) {
                const float* const a = rows_.get() + i * block.depth;
                float* const out = c + i * block.stride + j;
                const std::size_t rows = std::min(tile_rows, block.rows - i);
                const std::size_t columns = std::min(tile_columns, block.columns - j);
                if (rows == tile_rows && columns == tile_columns) {
                    (block.add ? ops().tile_add : ops().tile)(block.depth, a, b, out, block.stride);
                } else {
                    multiply_edge(block, {rows, columns, block.depth}, a, b, out);
                }
            }
        }
    }

    /// A tile of which only `part.m` x `part.n` exist.
    void multiply_edge(
        const Block& block, const GemmSize& part, const float* a, const float* b, float* c) {
        float whole[kGemmTileRowsMax * kGemmTileColumnsMax];
        ops().tile(part.k, a, b, whole, ops().columns);
        for (std::size_t i = 0; i < part.m; ++i) {
            for (std::size_t j = 0; j < part.n; ++j) {
                float& to = c[i * block.stride + j];
                to = block.add ? whole[i * ops().columns + j] + to : whole[i * ops().columns + j];
            }
        }
    }

    GemmLevel level_;
    hwy::AlignedFreeUniquePtr<float[]> rows_;
    hwy::AlignedFreeUniquePtr<float[]> columns_;
};

/// Null for the plain level, which an empty name means only where there is no other.
std::unique_ptr<GemmLevel> find_level(std::string_view level) {
    std::string names;
    for (GemmLevel& candidate : gemm_levels()) {
        if (level.empty() || candidate.name == level)
            return std::make_unique<GemmLevel>(std::move(candidate));
        names += candidate.name + ", ";
    }
    if (level.empty() || level == kPlainLevel) return nullptr;
    throw std::runtime_error("no dispatch level \"" + std::string(level) +
                             "\" here; this machine runs: " + names + std::string(kPlainLevel));
}

}  // namespace

std::vector<std::string> cpu_gemm_levels() {
    std::vector<std::string> names;
    for (const GemmLevel& level : gemm_levels()) names.push_back(level.name);
    names.emplace_back(kPlainLevel);
    return names;
}

std::unique_ptr<Gemm> make_cpu_gemm(std::string_view level) {
    const auto found = find_level(level);
    if (found == nullptr) return std::make_unique<PlainGemm>();
    return std::make_unique<BlockedGemm>(*found);
}

std::uint64_t run_multiply_adds(std::string_view level, std::uint64_t rounds) {
    const auto found = find_level(level);
    if (found != nullptr) return found->ops.multiply_adds(rounds);
    float sum = 0;
    for (std::uint64_t r = 0; r < rounds; ++r) sum = sum * 0.5F + 1.0F;
    REFIT_KERNEL_CHECK(sum >= 0);
    return 2 * rounds;
}

}  // namespace refit
