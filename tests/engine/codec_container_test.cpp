// The .rfd file: what is written comes back, and a damaged file is refused.
#include <gtest/gtest.h>

#include <fstream>

#include "engine/codec/attachments.hpp"
#include "tests/engine/codec_fixture.hpp"

namespace refit {
namespace {

using test::DeltaOptions;
using test::Sample;
using test::TemporaryFile;
using test::WordVector;

std::vector<Attachment> sample_attachments() {
    ByteVector random(40);
    Rng rng(5, 5);
    for (std::byte& byte : random) byte = static_cast<std::byte>(rng.next());
    return {{"header/model.safetensors", ByteVector(300, std::byte{'x'})},
            {"index", random},
            {"empty", {}}};
}

DeltaOptions options_for(const Codec& codec) {
    DeltaOptions options;
    options.codec = codec.name();
    options.attachments = {{"h", ByteVector(20, std::byte{'{'})}};
    return options;
}

TEST(Rfd, ComesBackWithEveryCodec) {
    const auto device = make_cpu_device(2);
    const Sample sample = test::small_sample();
    const TemporaryFile file("whole.rfd");
    for (const auto& codec : builtin_codecs()) {
        DeltaOptions options = options_for(*codec);
        options.attachments = sample_attachments();
        const ByteVector bytes = test::encode_rfd(*device, sample, options);
        file.write(bytes);
        const auto reader = RfdReader::open(file.path());
        ASSERT_TRUE(reader.has_value()) << reader.error().what;
        EXPECT_EQ(reader.value().catalog().id(), sample.catalog.id());
        EXPECT_EQ(reader.value().attachments(), sample_attachments());
        EXPECT_EQ(reader.value().file_bytes(), Bytes{bytes.size()});
        EXPECT_EQ(reader.value().manifest().open.codec, codec->name());
        const auto next = test::decode_rfd(*device, file.path(), sample.base);
        ASSERT_TRUE(next.has_value()) << next.error().what;
        EXPECT_EQ(next.value(), sample.next);
    }
}

TEST(Rfd, AnEmptyCatalogMakesADeltaWithoutParts) {
    const auto device = make_cpu_device(1);
    const Sample sample{test::make_catalog({}), {}, {}};
    const TemporaryFile file("nothing.rfd");
    file.write(test::encode_rfd(*device, sample, DeltaOptions{}));
    const auto next = test::decode_rfd(*device, file.path(), {});
    ASSERT_TRUE(next.has_value()) << next.error().what;
    EXPECT_TRUE(next.value().empty());
}

TEST(Rfd, OpeningNamesTheFileAndWhatIsWrong) {
    const auto refused = [](const std::filesystem::path& path, ErrorCode code) {
        const auto reader = RfdReader::open(path);
        return !reader.has_value() && reader.error().code == code &&
               reader.error().where == path.string();
    };
    EXPECT_TRUE(refused("/nonexistent/delta.rfd", ErrorCode::not_found));
    EXPECT_TRUE(refused(std::filesystem::temp_directory_path(), ErrorCode::invalid_input));

    const auto device = make_cpu_device(1);
    const TemporaryFile file("named.rfd");
    ByteVector bytes = test::encode_rfd(*device, test::small_sample(), DeltaOptions{});
    ByteVector other = bytes;
    other[0] = std::byte{'X'};
    file.write(other);
    EXPECT_TRUE(refused(file.path(), ErrorCode::corrupt));
    ByteVector newer = bytes;
    newer[8] = std::byte{2};
    file.write(newer);
    EXPECT_TRUE(refused(file.path(), ErrorCode::unsupported));
    ByteVector longer = bytes;
    longer.push_back(std::byte{0});
    file.write(longer);
    EXPECT_TRUE(refused(file.path(), ErrorCode::corrupt));
}

TEST(Rfd, EveryTruncationIsRefused) {
    const auto device = make_cpu_device(1);
    const Sample sample = test::small_sample();
    const TemporaryFile file("short.rfd");
    for (const auto& codec : builtin_codecs()) {
        const ByteVector bytes = test::encode_rfd(*device, sample, options_for(*codec));
        file.write(bytes);
        for (std::size_t keep = bytes.size(); keep-- > 0;) {
            std::filesystem::resize_file(file.path(), keep);
            const auto reader = RfdReader::open(file.path());
            ASSERT_FALSE(reader.has_value()) << codec->name() << ", kept " << keep;
            ASSERT_EQ(reader.error().code, ErrorCode::truncated) << "kept " << keep;
        }
    }
}

void put_byte(std::fstream& file, std::size_t at, std::byte value) {
    file.seekp(static_cast<std::streamoff>(at));
    file.put(static_cast<char>(value));
    file.flush();
    ASSERT_TRUE(file.good());
}

TEST(Rfd, EveryBitFlipIsRefused) {
    const auto device = make_cpu_device(1);
    const Sample sample = test::small_sample();
    for (const auto& codec : builtin_codecs()) {
        SCOPED_TRACE(codec->name());
        const TemporaryFile temporary("flipped.rfd");
        const ByteVector bytes = test::encode_rfd(*device, sample, options_for(*codec));
        temporary.write(bytes);
        std::fstream file(temporary.path(), std::ios::binary | std::ios::in | std::ios::out);
        for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
            const auto flip = static_cast<std::byte>(1u << (bit % 8));
            put_byte(file, bit / 8, bytes[bit / 8] ^ flip);
            const auto next = test::decode_rfd(*device, temporary.path(), sample.base);
            ASSERT_FALSE(next.has_value()) << "bit " << bit;
            put_byte(file, bit / 8, bytes[bit / 8]);
        }
        EXPECT_TRUE(test::decode_rfd(*device, temporary.path(), sample.base).has_value());
    }
}

TEST(Rfd, ADamagedPayloadIsFoundWhenItIsReadNotBefore) {
    const auto device = make_cpu_device(1);
    const Sample sample = test::small_sample();
    DeltaOptions options;
    options.codec = "full";
    ByteVector bytes = test::encode_rfd(*device, sample, options);
    const auto unit = test::encode_units(*device, sample, options)[0];
    const auto at = std::search(bytes.begin(), bytes.end(), unit.bytes.begin(), unit.bytes.end());
    ASSERT_NE(at, bytes.end());
    *(at + 60) ^= std::byte{1};
    const TemporaryFile file("payload.rfd");
    file.write(bytes);
    const auto reader = RfdReader::open(file.path());
    ASSERT_TRUE(reader.has_value()) << reader.error().what;
    const auto payload = reader.value().read_payload(0);
    ASSERT_FALSE(payload.has_value());
    EXPECT_EQ(payload.error().code, ErrorCode::corrupt);
    EXPECT_EQ(payload.error().where, file.path().string());
}

TEST(Rfd, AttachmentsOfAnotherFileAreRefused) {
    const auto device = make_cpu_device(1);
    DeltaOptions options;
    options.attachments = {{"h", ByteVector(20, std::byte{'a'})}};
    ByteVector bytes = test::encode_rfd(*device, test::small_sample(), options);
    options.attachments[0].bytes.assign(20, std::byte{'b'});
    const ByteVector other = test::encode_rfd(*device, test::small_sample(), options);
    ASSERT_EQ(bytes.size(), other.size());
    constexpr std::ptrdiff_t kSealRecordBytes = 9 + 132 + 8;
    std::copy(other.end() - kSealRecordBytes, other.end(), bytes.end() - kSealRecordBytes);
    const TemporaryFile file("attached.rfd");
    file.write(bytes);
    const auto reader = RfdReader::open(file.path());
    ASSERT_FALSE(reader.has_value());
    EXPECT_NE(reader.error().what.find("other attachments"), std::string::npos);
}

TEST(Rfd, ASmallFileCannotClaimAHugeCatalog) {
    const auto device = make_cpu_device(1);
    Sample sample = test::small_sample();
    DeltaOptions options;
    // 2^46 words make 2^27 tiles: gigabytes, if the reader built that grid to compare its id.
    sample.catalog = test::make_catalog({{"huge", WordType::bf16, {1 << 23, 1 << 23}}});
    OpenRecord open;
    open.catalog = sample.catalog.id();
    open.codec = options.codec;
    open.unit_words = options.unit_words;
    open.chunk_bytes = options.chunk_bytes;
    ByteVector bytes;
    RfdWriter writer([&](ByteSpan more) { bytes.insert(bytes.end(), more.begin(), more.end()); },
                     sample.catalog, open);
    PartBuilder builder(open, 2);
    builder.add(ByteVector(30));
    writer.write(*builder.flush());
    writer.finish({}, builder.parts(), 0, {});
    const TemporaryFile file("huge.rfd");
    file.write(bytes);
    const auto reader = RfdReader::open(file.path());
    ASSERT_FALSE(reader.has_value());
    EXPECT_NE(reader.error().what.find("30 payload bytes"), std::string::npos);
}

TEST(Attachments, ComeBackAndEveryTruncationIsRefused) {
    const ByteVector bytes = serialize_attachments(sample_attachments());
    EXPECT_LT(bytes.size(), 200u);  // the 300 equal bytes are packed
    EXPECT_EQ(parse_attachments(bytes).value(), sample_attachments());
    for (std::size_t keep = 0; keep < bytes.size(); ++keep)
        EXPECT_FALSE(parse_attachments(ByteSpan(bytes).first(keep)).has_value());
}

TEST(Attachments, ExpandAtMost64TimesSoLongRunsAreStored) {
    const std::vector<Attachment> runs{{"run", ByteVector(100'000, std::byte{' '})}};
    const ByteVector bytes = serialize_attachments(runs);
    EXPECT_GT(bytes.size(), 100'000u);
    EXPECT_EQ(parse_attachments(bytes).value(), runs);

    ByteVector bomb = serialize_attachments({{"b", ByteVector(300, std::byte{' '})}});
    const std::size_t size_at = 4 + 4 + 1 + 1;
    const std::uint64_t claimed = std::uint64_t{1} << 60;
    std::memcpy(bomb.data() + size_at, &claimed, sizeof(claimed));
    const auto parsed = parse_attachments(bomb);
    ASSERT_FALSE(parsed.has_value());
    EXPECT_NE(parsed.error().what.find("too many bytes"), std::string::npos);
}

TEST(Attachments, NamesStayRelativeAndPlain) {
    for (const char* good : {"h", "a/b", "model-00001.safetensors", "..a", "a..b"})
        EXPECT_TRUE(is_attachment_name(good)) << good;
    for (const char* bad : {"", "/a", "a/", "a//b", "..", "a/../b", ".", "a\nb", "a\\b", "\x7F"})
        EXPECT_FALSE(is_attachment_name(bad)) << bad;
    EXPECT_FALSE(is_attachment_name(std::string("a\0b", 3)));
    EXPECT_FALSE(is_attachment_name(std::string(513, 'a')));
    ByteVector twice = serialize_attachments({{"a", {}}, {"a", {}}});
    EXPECT_FALSE(parse_attachments(twice).has_value());
}

}  // namespace
}  // namespace refit
