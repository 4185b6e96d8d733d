// How two versions differ: changed words by tensor kind and layer, and the entropy bound of the
// change.
//
// Bound    sum over canonical tensors of
//            H(changed | old exponent, 256 classes)
//          + H(magnitude class | old exponent, changed)     class = floor(log2 |step|)
//          + class raw low bits and 1 direction bit per change,
//          plug-in, without side information; step in monotone integer order modulo 2^16.
// Source   design 6; the monotone order makes NaN, inf, -0 and subnormals ordinary steps.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "engine/coords/grid.hpp"
#include "engine/coords/weights.hpp"
#include "kernels/device.hpp"

namespace refit {

/// Everything the bound of one tensor, or of a part of it, needs.
class ChangeCounter {
public:
    static constexpr std::size_t kExponents = 256;
    static constexpr std::size_t kClasses = 16;

    void add(WordType type,
             std::span<const std::uint16_t> base,
             std::span<const std::uint16_t> next);
    std::uint64_t words() const;
    std::uint64_t changed() const;
    double bound_bits() const;

private:
    std::array<std::uint64_t, kExponents> words_{};
    std::array<std::uint64_t, kExponents> changed_{};
    std::array<std::array<std::uint64_t, kClasses>, kExponents> magnitude_{};
};

struct KindChange {
    std::uint64_t words = 0;
    std::uint64_t changed = 0;

    friend bool operator==(const KindChange&, const KindChange&) = default;
};

/// All tensors of one kind in one layer. Those of no layer come first in order.
struct LayerKind {
    std::optional<std::uint64_t> layer;
    std::string kind;

    friend auto operator<=>(const LayerKind&, const LayerKind&) = default;
};
LayerKind layer_kind(std::string_view tensor_name);

struct ChangeStats {
    std::uint64_t words = 0;
    std::uint64_t changed = 0;
    double bound_bits = 0;  // in all
    std::map<std::string, KindChange> kinds;
    std::map<LayerKind, KindChange> layers;  // the same by layer: adds up to `kinds`
};

ChangeStats measure_change(Device& device,
                           const Catalog& catalog,
                           const Grid& grid,
                           const Weights& base,
                           const Weights& next);

}  // namespace refit
