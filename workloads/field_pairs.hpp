// The weight field over a model: WordPairs that make any tile of two versions on the spot.
//
// Memory   one field per tensor; the words are the caller's.
#pragma once

#include <vector>

#include "engine/emulate/word_pairs.hpp"
#include "workloads/profile.hpp"

namespace refit {

class FieldPairs final : public WordPairs {
public:
    /// `fields` as make_field() gives them, one per tensor of the catalog the tiles are of.
    FieldPairs(std::vector<FieldTensor> fields, FieldSpan versions);

    void read(const Tile& tile,
              std::span<std::uint16_t> base,
              std::span<std::uint16_t> next) const override;

private:
    std::vector<FieldTensor> fields_;
    FieldSpan versions_;
    FillField fill_;
};

}  // namespace refit
