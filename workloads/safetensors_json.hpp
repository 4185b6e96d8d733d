// Untrusted JSON, value by value: what headers and indexes of checkpoints are read with.
//
// Why      A header may hold 100 MB; a tree of it would need a gigabyte. Duplicate keys, which a
//          tree would drop without a word, are errors here at every level.
// Limit    32 levels. Memory grows with the keys of the open objects only.
// Errors   invalid_input: no valid JSON (with the byte), a key twice, too deep.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "engine/base/result.hpp"

namespace refit {

enum class JsonKind : std::uint8_t { null, boolean, natural, number, text, object, array };

struct JsonValue {
    std::span<const std::string> path;  // keys from the root; an array element's key is ""
    JsonKind kind;                      // natural: an integer in 0 .. 2^64 - 1
    std::uint64_t natural = 0;
    std::string_view text{};
    bool truth = false;
};

/// Sees each value before its children. An error ends the walk.
using JsonVisitor = std::function<Status(const JsonValue&)>;

/// `subject` begins the sentence of an error: "the header is not valid JSON at byte 7".
Status walk_json(std::string_view json, std::string_view subject, const JsonVisitor& visit);

/// A name out of a file as it may stand in a one-line message: quoted_name(), cut after 80 bytes.
std::string shown(std::string_view name);

}  // namespace refit
