#include "app/checkpoints.hpp"

namespace refit {

namespace fs = std::filesystem;

Status check_output_apart(const fs::path& output, std::span<const fs::path> inputs) {
    std::error_code failure;
    for (const fs::path& input : inputs) {
        if (fs::equivalent(output, input, failure) && !failure)
            return Error{ErrorCode::invalid_input, "is an input as well", output.string()};
    }
    return Done{};
}

}  // namespace refit
