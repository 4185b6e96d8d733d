// What one rank computes in a step, and a load of the same matrix products on this machine.
//
// FLOP     a multiply-add is two. Forward: 2 x weights of every product a token passes, x tokens;
//          training: three times that (forward, gradient of the inputs, gradient of the weights).
//          So 6 x active parameters x tokens, but for the embedding, which is looked up, and norms
//          and biases, which are no products; a tied embedding counts as the head it is. Left out:
//          attention over earlier tokens, which needs a sequence length nobody gives, the optimizer
//          and whatever is computed a second time.
// Shapes   a weight is rows x columns (outputs x inputs). Of t tokens: forward
//          t x columns x rows (m x k x n), inputs t x rows x columns, weights rows x t x columns.
//          Experts share the tokens' visits as evenly as whole numbers allow.
// Rank     `tensor` ranks cut projections as the layout tp:tp<n> does, the widest share counts.
//          `experts` ranks hold the experts; a rank's experts see as many visits as its own tokens
//          make, so its FLOP stay the same.
// Load     a pass is one product of each distinct shape, or several of each where all of them are
//          done too soon. Where they take too long, tokens are cut first, down to kLoadTokensMin;
//          then, of every product, the dimension of the output that is not tokens.
//          The words are normal numbers, weights and inputs reused from product to product:
//          at most 160 MiB, and what the Gemm keeps.
// Always   emulated: nothing of it enters virtual time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.hpp"
#include "engine/base/units.hpp"
#include "engine/codec/delta.hpp"
#include "kernels/gemm.hpp"
#include "workloads/architecture.hpp"

namespace refit {

enum class ProductKind : std::uint8_t { forward, input_gradient, weight_gradient };

/// "forward", "input-gradient", "weight-gradient".
std::string_view to_text(ProductKind kind);

/// Over how many ranks products and experts are cut.
struct RankShare {
    std::uint64_t tensor = 1;
    std::uint64_t experts = 1;
};

/// Of a layout's name that has been checked: tp:tp4 cuts four ways, the others not at all.
RankShare share_of_layout(std::string_view layout);

struct StepProduct {
    std::string name;  // "mlp.experts.up_proj"; one name for all of the same shape
    ProductKind kind = ProductKind::forward;
    GemmSize size;
    std::uint64_t count = 0;  // in a step
};

/// Every product of a training step over `tokens` >= 1 tokens of one rank, equal shapes once.
std::vector<StepProduct> training_products(const Architecture& architecture,
                                           const RankShare& share,
                                           std::uint64_t tokens);

/// The same of one forward pass over `tokens` sequences, a new token each.
std::vector<StepProduct> generation_products(const Architecture& architecture,
                                             const RankShare& share,
                                             std::uint64_t tokens);

/// Of one token, in the whole model: below 2^50.
std::uint64_t forward_flop(const Architecture& architecture);
std::uint64_t training_flop(const Architecture& architecture);

/// FLOP of one token x tokens / rate, rounded up; invalid_input when that is longer than a clock
/// can say.
Result<Nanoseconds> compute_time(std::uint64_t flop, std::uint64_t tokens, FlopPerSecond rate);

struct LoadRun {
    std::uint64_t flop = 0;
    Nanoseconds wall{0};
    std::uint64_t products = 0;

    double flop_per_second() const;  // 0 if no time went by
};

inline constexpr std::uint64_t kLoadTokens = 8192;   // of a rank, where nobody says how many
inline constexpr std::uint64_t kLoadTokensMin = 64;  // fewer would be another kind of load

/// Words of a product that were computed a second time, in FP64, and those that are off by more
/// than kernels/gemm.hpp allows.
struct LoadCheck {
    std::uint64_t checked = 0;
    std::uint64_t wrong = 0;
};

/// The words that products take, and room for what they give.
class LoadBuffers {
public:
    /// What of a product fits into the limits: never less than 1 x 1 x 1.
    static GemmSize fitting(GemmSize size);

    /// Makes room for a product that fits.
    void reserve(const GemmSize& size);

    void multiply(Gemm& gemm, const GemmSize& size);

    /// Looks at `words` words of the last product, the corners among them.
    LoadCheck check(const GemmSize& size, std::uint64_t words) const;

    Bytes bytes() const;

private:
    std::vector<std::uint16_t> a_;
    std::vector<std::uint16_t> b_;
    std::vector<float> c_;
};

class ComputeLoad {
public:
    /// `gemm` outlives this. At least one product.
    ComputeLoad(Gemm& gemm, const std::vector<StepProduct>& products, MonotonicClock clock);

    /// Cuts the products so that a pass takes about this long; runs some to find out.
    void fit(Nanoseconds about);

    /// The products as they were cut. Before fit(): a little of each.
    LoadRun pass();

    /// One product of each, with `words` words of each looked at.
    LoadCheck check(std::uint64_t words);

    /// A pass that takes about this long.
    LoadRun run_for(Nanoseconds about);

    std::vector<GemmSize> pieces() const;
    Bytes memory() const { return buffers_.bytes(); }

private:
    struct Cut {
        std::uint64_t tokens = kLoadTokensMin;
        double share = 0;  // of the output's other dimension
        std::uint64_t repeats = 1;
    };

    GemmSize piece(const StepProduct& product) const;
    std::uint64_t tokens_max() const;
    std::uint64_t pieces_flop() const;
    void cut_to(double flop);

    Gemm& gemm_;
    std::vector<StepProduct> products_;
    MonotonicClock clock_;
    LoadBuffers buffers_;
    Cut cut_;
};

}  // namespace refit
