// The full bit pass: every unit of a model, in order, to the delta that the time pass sends.
//
// Resume   with a journal every closed part is kept; a pass over the same model takes up behind
//          the last one and ends with the same delta, byte for byte.
// Hashes   chunks and parts carry the SHA-256 of their real bytes, which are not kept.
#pragma once

#include "engine/emulate/pass_journal.hpp"
#include "engine/sim/recorded_bits.hpp"

namespace refit {

struct FullPass {
    RecordedDelta delta;
    BitPassTotals totals;
    Words resumed;  // of the totals, taken from the journal
};

/// `pass` works on the grid of `context`. `between` is called after each unit and for what the
/// journal had; it may throw.
Result<FullPass> run_full_pass(BitPass& pass,
                               const WordPairs& pairs,
                               const DeltaContext& context,
                               const DeltaSpec& delta,
                               PassJournal* journal,
                               const std::function<void(Words)>& between);

}  // namespace refit
