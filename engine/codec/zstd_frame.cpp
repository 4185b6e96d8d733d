#include "engine/codec/zstd_frame.hpp"

#include <fmt/format.h>
#include <zstd.h>

#include <memory>

namespace refit {

namespace {

Error corrupt(std::string_view what, std::string_view why) {
    return Error{ErrorCode::corrupt, fmt::format("the zstd frame of {} {}", what, why)};
}

/// The frame header's own statement, RFC 8878 section 3.1.1.1: the library enforces its window
/// limit only while streaming. A single-segment frame has its content as window.
Status check_header(ByteSpan frame, std::string_view what) {
    constexpr std::size_t kMagicBytes = 4;
    if (frame.size() < kMagicBytes + 2)
        return Error{ErrorCode::truncated, fmt::format("the zstd frame of {} is cut short", what)};
    ByteReader reader(frame);
    if (reader.read<std::uint32_t>() != ZSTD_MAGICNUMBER) return corrupt(what, "has a wrong magic");
    const auto descriptor = reader.read<std::uint8_t>();
    const bool single_segment = (descriptor & 0x20u) != 0;
    if ((descriptor & 0x03u) != 0) return corrupt(what, "asks for a dictionary");
    if (single_segment) return Done{};
    const unsigned window = reader.read<std::uint8_t>();
    const unsigned log = 10 + (window >> 3);
    if (log > kZstdWindowLogMax || (log == kZstdWindowLogMax && (window & 7u) != 0))
        return corrupt(what, "asks for a window over 128 MiB");
    return Done{};
}

}  // namespace

unsigned zstd_library_version() { return ZSTD_versionNumber(); }

void append_zstd_frame(ByteSpan bytes, int level, ByteVector& out) {
    const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(),
                                                                       ZSTD_freeCCtx);
    if (context == nullptr) throw MachineError("no memory for a zstd context");
    const std::size_t before = out.size();
    out.resize(before + ZSTD_compressBound(bytes.size()));
    const std::size_t written = ZSTD_compressCCtx(
        context.get(), out.data() + before, out.size() - before, bytes.data(), bytes.size(), level);
    if (ZSTD_isError(written) != 0)
        throw MachineError(fmt::format("zstd cannot compress: {}", ZSTD_getErrorName(written)));
    out.resize(before + written);
}

Status read_zstd_frame(ByteSpan frame, std::span<std::byte> out, std::string_view what) {
    REFIT_CHECK(check_header(frame, what));
    const unsigned long long promised = ZSTD_getFrameContentSize(frame.data(), frame.size());
    if (promised == ZSTD_CONTENTSIZE_ERROR || promised == ZSTD_CONTENTSIZE_UNKNOWN)
        return corrupt(what, "does not say how much it holds");
    if (promised != out.size()) {
        return corrupt(what, fmt::format("holds {} bytes where {} are due", promised, out.size()));
    }
    const std::size_t length = ZSTD_findFrameCompressedSize(frame.data(), frame.size());
    if (ZSTD_isError(length) != 0 || length != frame.size())
        return corrupt(what, "does not end where it should");

    const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(),
                                                                       ZSTD_freeDCtx);
    if (context == nullptr) throw MachineError("no memory for a zstd context");
    const std::size_t read =
        ZSTD_decompressDCtx(context.get(), out.data(), out.size(), frame.data(), frame.size());
    if (ZSTD_isError(read) != 0) return corrupt(what, "does not decompress");
    if (read != out.size()) {
        return corrupt(what, fmt::format("yields {} bytes where {} are due", read, out.size()));
    }
    return Done{};
}

}  // namespace refit
