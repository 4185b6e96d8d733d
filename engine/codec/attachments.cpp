#include "engine/codec/attachments.hpp"

#include <algorithm>

#include "engine/codec/packed.hpp"

namespace refit {

namespace {

constexpr std::uint64_t kNameMax = 512;
constexpr std::uint64_t kCountMax = 65536;

Error corrupt(std::string what) { return Error{ErrorCode::corrupt, std::move(what)}; }

Result<Attachment> read_attachment(ByteReader& reader) {
    Attachment attachment;
    attachment.name = reader.take_text(kNameMax);
    if (reader.failed()) return Error{ErrorCode::truncated, "the attachments are cut short"};
    if (!is_attachment_name(attachment.name)) return corrupt("an attachment has an unsafe name");
    REFIT_TRY(bytes, read_packed(reader, "the attachment " + attachment.name));
    attachment.bytes = std::move(bytes);
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
        writer.write_text(attachment.name);
        write_packed(attachment.bytes, writer);
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
