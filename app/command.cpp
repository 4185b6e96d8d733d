#include "app/command.hpp"

namespace refit {

ExitCode exit_code(ErrorCode code) {
    switch (code) {
        case ErrorCode::mismatch:
            return ExitCode::mismatch;
        case ErrorCode::missed:
            return ExitCode::missed;
        case ErrorCode::truncated:
        case ErrorCode::corrupt:
        case ErrorCode::wrong_base:
        case ErrorCode::not_found:
        case ErrorCode::unsupported:
        case ErrorCode::invalid_input:
            return ExitCode::bad_input;
    }
    return ExitCode::machine;
}

}  // namespace refit
