// SHA-256 for whatever travels or is named by its content; hex for people.
//
// Source   OpenSSL libcrypto. Error checks on weights use the digest (kernels/digest_key.hpp),
//          which is additive over shardings; this hash is for chunks, manifests and store keys.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <memory>
#include <string>

#include "engine/base/bytes.hpp"

namespace refit {

struct Hash256 {
    std::array<std::uint8_t, 32> bytes{};

    friend auto operator<=>(const Hash256&, const Hash256&) = default;
    bool is_zero() const { return *this == Hash256{}; }
};

std::string to_hex(const Hash256& hash);
/// The first eight hex digits: enough to tell versions apart in a table.
std::string short_hex(const Hash256& hash);
Result<Hash256> hash_from_hex(std::string_view hex);

Hash256 sha256(ByteSpan bytes);

/// SHA-256 of bytes that arrive piece by piece.
class Sha256 {
public:
    Sha256();
    ~Sha256();
    Sha256(const Sha256&) = delete;
    Sha256& operator=(const Sha256&) = delete;

    void update(ByteSpan bytes);
    Hash256 finish();

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace refit
