#include "engine/codec/packed.hpp"

#include <fmt/format.h>

#include "engine/codec/zstd_frame.hpp"

namespace refit {

namespace {

constexpr int kLevel = 3;
constexpr std::uint64_t kExpansionMax = 64;

enum class Method : std::uint8_t { stored = 0, zstd = 1 };

Error corrupt(std::string what) { return Error{ErrorCode::corrupt, std::move(what)}; }

}  // namespace

void write_packed(ByteSpan bytes, ByteWriter& writer) {
    ByteVector packed;
    append_zstd_frame(bytes, kLevel, packed);
    const bool shorter =
        packed.size() < bytes.size() && bytes.size() / kExpansionMax <= packed.size();
    writer.write(static_cast<std::uint8_t>(shorter ? Method::zstd : Method::stored));
    writer.write(std::uint64_t{bytes.size()});
    writer.write_block(shorter ? ByteSpan(packed) : bytes);
}

Result<ByteVector> read_packed(ByteReader& reader, std::string_view what) {
    const auto method = reader.read<std::uint8_t>();
    const auto size = reader.read<std::uint64_t>();
    const ByteSpan stored = reader.take_block(0xFFFF'FFFFu);
    if (reader.failed()) return Error{ErrorCode::truncated, fmt::format("{} is cut short", what)};
    if (method == static_cast<std::uint8_t>(Method::stored)) {
        if (size != stored.size()) return corrupt(fmt::format("{} states a wrong size", what));
        return ByteVector(stored.begin(), stored.end());
    }
    if (method != static_cast<std::uint8_t>(Method::zstd))
        return corrupt(fmt::format("{} is packed in an unknown way", what));
    if (size / kExpansionMax > stored.size())
        return corrupt(fmt::format("{} claims too many bytes", what));
    ByteVector bytes(size);
    REFIT_CHECK(read_zstd_frame(stored, bytes, what));
    return bytes;
}

}  // namespace refit
