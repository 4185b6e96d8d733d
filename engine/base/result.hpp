// What a call returns when it may fail for a reason the caller can act on.
//
// Errors     Result<T> is for the world: damaged bytes, a wrong base, a bad scenario. The machine
//            (no space, no memory, a failed read) throws MachineError; only app catches it.
// Source     Member names match std::expected, which needs C++23; nvcc 13.0 stops at C++20.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include "engine/base/assert.hpp"

/// Binds the value to `name`, or returns the error to our caller. The only control-flow macro.
#define REFIT_TRY(name, ...)                                                 \
    auto name##_result = (__VA_ARGS__);                                      \
    if (!name##_result.has_value()) return std::move(name##_result).error(); \
    auto& name = name##_result.value()

/// The same for a Status, whose value nobody needs.
#define REFIT_CHECK(...)                                                       \
    do {                                                                       \
        auto refit_status = (__VA_ARGS__);                                     \
        if (!refit_status.has_value()) return std::move(refit_status).error(); \
    } while (false)

namespace refit {

enum class ErrorCode : std::uint8_t {
    truncated,      // fewer bytes than the format promises
    corrupt,        // bytes present, but they break the format, a hash or a digest
    wrong_base,     // a delta offered to weights it was not made from
    mismatch,       // a verification found words that differ
    not_found,      // a named file, object or entry does not exist
    unsupported,    // well formed, but this program cannot handle it
    invalid_input,  // a scenario, flag or file the user has to fix
    missed          // the run is sound, but a requirement or its own limit was missed
};

struct Error {
    ErrorCode code;
    std::string what;     // one sentence for a person, with the numbers that disagree
    std::string where{};  // the file or object it is about, when there is one
};

/// A failed device, disk or allocation: nobody but the user can repair it.
class MachineError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

template <class T>
class [[nodiscard]] Result {
public:
    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
    Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

    bool has_value() const { return state_.index() == 0; }

    T& value() & {
        REFIT_ASSERT(has_value());
        return *std::get_if<0>(&state_);
    }
    const T& value() const& {
        REFIT_ASSERT(has_value());
        return *std::get_if<0>(&state_);
    }
    T&& value() && { return std::move(this->value()); }

    const Error& error() const& {
        REFIT_ASSERT(!has_value());
        return *std::get_if<1>(&state_);
    }
    Error&& error() && {
        REFIT_ASSERT(!has_value());
        return std::move(*std::get_if<1>(&state_));
    }

private:
    std::variant<T, Error> state_;
};

struct Done {};
using Status = Result<Done>;

/// The same error, with the file it is about; an inner file name is kept.
inline Error in_file(Error error, const std::string& file) {
    if (error.where.empty()) error.where = file;
    return error;
}

}  // namespace refit
