#include "engine/base/hash.hpp"

#include <openssl/evp.h>

namespace refit {

namespace {

constexpr char kHexDigits[] = "0123456789abcdef";

int hex_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
}

}  // namespace

struct Sha256::State {
    EVP_MD_CTX* context = EVP_MD_CTX_new();
    ~State() { EVP_MD_CTX_free(context); }
    State() = default;
    State(const State&) = delete;
    State& operator=(const State&) = delete;
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
    if (state_->context == nullptr ||
        EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) != 1)
        throw MachineError("OpenSSL offers no SHA-256");
}

Sha256::~Sha256() = default;

void Sha256::update(ByteSpan bytes) {
    if (EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) != 1)
        throw MachineError("OpenSSL failed in SHA-256");
}

Hash256 Sha256::finish() {
    Hash256 hash;
    unsigned size = 0;
    if (EVP_DigestFinal_ex(state_->context, hash.bytes.data(), &size) != 1 || size != 32)
        throw MachineError("OpenSSL failed in SHA-256");
    return hash;
}

Hash256 sha256(ByteSpan bytes) {
    Sha256 hasher;
    hasher.update(bytes);
    return hasher.finish();
}

std::string to_hex(const Hash256& hash) {
    std::string hex;
    for (const std::uint8_t byte : hash.bytes) {
        hex += kHexDigits[byte >> 4];
        hex += kHexDigits[byte & 15];
    }
    return hex;
}

std::string short_hex(const Hash256& hash) { return to_hex(hash).substr(0, 8); }

Result<Hash256> hash_from_hex(std::string_view hex) {
    Hash256 hash;
    if (hex.size() != 2 * hash.bytes.size())
        return Error{ErrorCode::corrupt, "a SHA-256 has 64 hex digits"};
    for (std::size_t i = 0; i < hash.bytes.size(); ++i) {
        const int high = hex_value(hex[2 * i]);
        const int low = hex_value(hex[2 * i + 1]);
        if (high < 0 || low < 0) return Error{ErrorCode::corrupt, "a SHA-256 has 64 hex digits"};
        hash.bytes[i] = static_cast<std::uint8_t>(high * 16 + low);
    }
    return hash;
}

}  // namespace refit
