// Whether a document has what views read of the record of a run, in the types they read it as. A
// record comes from a file: whoever draws one has asked here before.
//
// Asked    every fixed key of refit.run/1 that a view uses (results/README.md); others may be
// there. Errors   corrupt, in one sentence: the first key that is missing or of another type.
#pragma once

#include <nlohmann/json.hpp>

#include "engine/base/result.hpp"

namespace refit {

Status check_record(const nlohmann::ordered_json& record);

}  // namespace refit
