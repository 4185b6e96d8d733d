#include "engine/codec/attachments.hpp"

#include <algorithm>

#include "engine/codec/zstd_frame.hpp"

namespace refit {

namespace {

constexpr int kLevel = 3;
constexpr std::uint64_t kNameMax = 512;
constexpr std::uint64_t kCountMax = 65536;
constexpr std::uint64_t kExpansionMax = 64;

enum class Method : std::uint8_t { stored = 0, zstd = 1 };

Error corrupt(std::string what) { return Error{ErrorCode::corrupt, std::move(what)}; }

Result<Attachment> read_attachment(ByteReader& reader) {
    Attachment attachment;
    attachment.name = reader.take_text(kNameMax);
    const auto method = reader.read<std::uint8_t>();
    const auto size = reader.read<std::uint64_t>();
    const ByteSpan stored = reader.take_block(0xFFFF'FFFFu);
    if (reader.failed()) return Error{ErrorCode::truncated, "the attachments are cut short"};
    if (!is_attachment_name(attachment.name)) return corrupt("an attachment has an unsafe name");
    if (method == static_cast<std::uint8_t>(Method::stored)) {
        if (size != stored.size())
            return corrupt("the attachment " + attachment.name + " states a wrong size");
        attachment.bytes.assign(stored.begin(), stored.end());
        return attachment;
    }
    if (method != static_cast<std::uint8_t>(Method::zstd))
        return corrupt("the attachment " + attachment.name + " is packed in an unknown way");
    if (size / kExpansionMax > stored.size())
        return corrupt("the attachment " + attachment.name + " claims too many bytes");
    attachment.bytes.resize(size);
    REFIT_CHECK(read_zstd_frame(stored, attachment.bytes, "the attachment " + attachment.name));
    return attachment;
}

}  // namespace

bool is_attachment_name(std::string_view name) {
    if (name.empty() || name.size() > kNameMax) return false;
    if (std::ranges::any_of(name, [](char c) {
            return static_cast<unsigned char>(c) < 0x20 || c == 0x7F || c == '\\';
        })) {
        return false;
    }
    while (true) {
        const std::size_t slash = name.find('/');
        const std::string_view component = name.substr(0, slash);
        if (component.empty() || component == "." || component == "..") return false;
        if (slash == std::string_view::npos) return true;
        name.remove_prefix(slash + 1);
    }
}

ByteVector serialize_attachments(const std::vector<Attachment>& attachments) {
    REFIT_ASSERT(attachments.size() <= kCountMax);
    ByteWriter writer;
    writer.write(static_cast<std::uint32_t>(attachments.size()));
    for (const Attachment& attachment : attachments) {
        REFIT_ASSERT(is_attachment_name(attachment.name));
        ByteVector packed;
        append_zstd_frame(attachment.bytes, kLevel, packed);
        const bool smaller = packed.size() < attachment.bytes.size() &&
                             attachment.bytes.size() / kExpansionMax <= packed.size();
        writer.write_text(attachment.name);
        writer.write(static_cast<std::uint8_t>(smaller ? Method::zstd : Method::stored));
        writer.write(std::uint64_t{attachment.bytes.size()});
        writer.write_block(smaller ? packed : attachment.bytes);
    }
    return std::move(writer).take();
}

Result<std::vector<Attachment>> parse_attachments(ByteSpan bytes) {
    ByteReader reader(bytes);
    const auto count = reader.read<std::uint32_t>();
    if (count > kCountMax)
        return corrupt("the file claims " + std::to_string(count) + " attachments");
    std::vector<Attachment> attachments;
    for (std::uint32_t i = 0; i < count; ++i) {
        REFIT_TRY(attachment, read_attachment(reader));
        if (std::ranges::find(attachments, attachment.name, &Attachment::name) !=
            attachments.end()) {
            return corrupt("two attachments are called " + attachment.name);
        }
        attachments.push_back(std::move(attachment));
    }
    REFIT_CHECK(reader.finish("the attachment block"));
    return attachments;
}

}  // namespace refit
