// Bounded little-endian reading and writing: the only way our formats touch bytes.
//
// Errors   A read past the end or over a stated limit makes the reader fail for good and yields
//          zeros; the caller checks status() once, at the end, before it believes anything.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "engine/base/result.hpp"

namespace refit {

static_assert(std::endian::native == std::endian::little, "the formats are little-endian");

using ByteSpan = std::span<const std::byte>;
using ByteVector = std::vector<std::byte>;

inline ByteSpan as_byte_span(std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}
inline std::string_view as_text(ByteSpan bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class ByteReader {
public:
    explicit ByteReader(ByteSpan bytes) : rest_(bytes) {}

    template <class T>
    T read() {
        static_assert(std::is_trivially_copyable_v<T>);
        T value{};
        const ByteSpan from = take(sizeof(T));
        if (!from.empty()) std::memcpy(&value, from.data(), sizeof(T));
        return value;
    }

    /// `size` bytes as a view into the input; empty when they are not there.
    ByteSpan take(std::uint64_t size) {
        if (failed_ || size > rest_.size()) {
            failed_ = true;
            rest_ = {};
            return {};
        }
        const ByteSpan taken = rest_.first(static_cast<std::size_t>(size));
        rest_ = rest_.subspan(static_cast<std::size_t>(size));
        return taken;
    }

    /// u32 length, then that many bytes; a length over `limit` fails.
    ByteSpan take_block(std::uint64_t limit) {
        const auto size = read<std::uint32_t>();
        if (size > limit) return take(~std::uint64_t{0});
        return take(size);
    }
    std::string take_text(std::uint64_t limit) { return std::string(as_text(take_block(limit))); }

    std::size_t remaining() const { return rest_.size(); }
    bool failed() const { return failed_; }

    /// Success only if nothing was missing and nothing is left over.
    Status finish(std::string_view what) const {
        if (failed_) return Error{ErrorCode::truncated, std::string(what) + " is cut short"};
        if (!rest_.empty()) {
            return Error{ErrorCode::corrupt, std::string(what) + " has " +
                                                 std::to_string(rest_.size()) + " bytes too many"};
        }
        return Done{};
    }

private:
    ByteSpan rest_;
    bool failed_ = false;
};

class ByteWriter {
public:
    template <class T>
    void write(T value) {
        static_assert(std::is_trivially_copyable_v<T>);
        append(std::as_bytes(std::span(&value, 1)));
    }
    void append(ByteSpan bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
    void write_block(ByteSpan bytes) {
        REFIT_ASSERT(bytes.size() <= 0xFFFF'FFFFu);
        write(static_cast<std::uint32_t>(bytes.size()));
        append(bytes);
    }
    void write_text(std::string_view text) { write_block(as_byte_span(text)); }

    const ByteVector& bytes() const { return bytes_; }
    ByteVector take() && { return std::move(bytes_); }

private:
    ByteVector bytes_;
};

}  // namespace refit
