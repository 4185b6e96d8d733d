#include "engine/observe/recording.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <sstream>

#include "engine/observe/event_columns.hpp"
#include "tests/support/files.hpp"
#include "tests/viz/recorded_world.hpp"

namespace refit {
namespace {

std::string bytes_of(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

Result<Recording> parse(const std::string& bytes) {
    std::istringstream stream(bytes);
    return read_recording(stream);
}

class RecordingFile : public testing::Test {
protected:
    std::string write(const Recording& recording) {
        const auto file = folder_.path() / "run.timeline";
        RecordingWriter writer(file, recording.cast);
        writer.append(recording.timeline.events());
        writer.finish();
        return bytes_of(file);
    }

    TestFolder folder_;
    Recording world_ = record_world(eventful_plan());
};

void expect_same_cast(const Cast& a, const Cast& b) {
    EXPECT_EQ(as_text(serialize(a)), as_text(serialize(b)));
    EXPECT_EQ(a.title, b.title);
    EXPECT_EQ(a.links, b.links);
    EXPECT_EQ(node_names(a.tree), node_names(b.tree));
    EXPECT_EQ(a.catalog.id(), b.catalog.id());
}

TEST_F(RecordingFile, GivesBackCastAndEveryEvent) {
    const auto read = parse(write(world_));
    ASSERT_TRUE(read.has_value()) << read.error().what;
    EXPECT_TRUE(read.value().whole());
    EXPECT_EQ(read.value().timeline.events(), world_.timeline.events());
    expect_same_cast(read.value().cast, world_.cast);
}

TEST_F(RecordingFile, CutAnywhereLosesOnlyItsTail) {
    const std::string bytes = write(world_);
    std::size_t refused = 0;
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        const auto read = parse(bytes.substr(0, size));
        if (!read.has_value()) {
            ++refused;
            continue;
        }
        EXPECT_FALSE(read.value().whole()) << size;
        const auto& events = read.value().timeline.events();
        const auto& all = world_.timeline.events();
        ASSERT_LE(events.size(), all.size());
        EXPECT_TRUE(std::equal(events.begin(), events.end(), all.begin())) << size;
    }
    EXPECT_LT(refused, bytes.size());  // once the cast is there, something can be shown
}

TEST_F(RecordingFile, CutInTheMiddleStillShowsTheBeginningOfAShortRun) {
    const std::size_t events = world_.timeline.events().size();
    ASSERT_GT(events, 600u);
    ASSERT_LT(events, 4096u);
    const std::string bytes = write(world_);
    const auto read = parse(bytes.substr(0, bytes.size() - 20));
    ASSERT_TRUE(read.has_value());
    EXPECT_GE(read.value().timeline.events().size(), events / 3);
}

TEST_F(RecordingFile, NoFlippedBitGoesUnseen) {
    const std::string bytes = write(world_);
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        std::string damaged = bytes;
        damaged[at] = static_cast<char>(damaged[at] ^ (1 << (at % 8)));
        const auto read = parse(damaged);
        if (read.has_value()) {
            EXPECT_FALSE(read.value().whole()) << at;
        }
    }
}

TEST_F(RecordingFile, CanBeReadWhileItIsWritten) {
    const auto file = folder_.path() / "run.timeline";
    RecordingWriter writer(file, world_.cast);
    const std::span<const Event> events = world_.timeline.events();
    writer.append(events.first(10));
    writer.flush();
    writer.append(events.subspan(10, 5));
    const auto read = read_recording(file);
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read.value().timeline.events().size(), 10u);
    EXPECT_NE(read.value().missing.find("no end"), std::string::npos) << read.value().missing;
    EXPECT_NE(read.value().missing.find("10 events"), std::string::npos) << read.value().missing;
}

TEST_F(RecordingFile, KeepsWhatAppendedARunThatDidNotEnd) {
    const auto file = folder_.path() / "run.timeline";
    const std::span<const Event> events = world_.timeline.events();
    {
        RecordingWriter writer(file, world_.cast);
        writer.append(events.first(10));
    }
    const auto read = read_recording(file);
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read.value().timeline.events().size(), 10u);
    EXPECT_FALSE(read.value().whole());
}

TEST_F(RecordingFile, KeepsManyEventsInFewBytes) {
    Timeline timeline(node_names(world_.cast.tree));
    for (std::uint32_t i = 0; i < 100'000; ++i) {
        timeline.append({Nanoseconds{i * 27'000'001LL}, 1, 8 << 20, i % 5, (i + 1) % 5, i / 5,
                         i % 2 == 0 ? EventKind::chunk_sent : EventKind::chunk_received});
    }
    const std::string bytes = write({world_.cast, timeline, ""});
    EXPECT_LT(bytes.size(), 100'000u * 5);
    const auto read = parse(bytes);
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read.value().timeline.events(), timeline.events());
}

TEST(RecordingErrors, SayWhatIsWrong) {
    EXPECT_EQ(read_recording(std::filesystem::path("/no/such/file")).error().code,
              ErrorCode::not_found);
    EXPECT_EQ(parse("REFITRFD and so on").error().code, ErrorCode::corrupt);
    std::string newer = "REFITRUN";
    newer += std::string("\x02\0\0\0", 4);
    EXPECT_EQ(parse(newer).error().code, ErrorCode::unsupported);
}

TEST(EventColumns, TakeTheExtremesOfEveryField) {
    const Event most{Nanoseconds{std::numeric_limits<std::int64_t>::max()},
                     (std::uint64_t{1} << 63) - 1,
                     (std::uint64_t{1} << 63) - 1,
                     kNoNode,
                     kNoNode,
                     0xFFFF'FFFFu,
                     EventKind::link_up};
    const std::vector<Event> events = {Event{}, most};
    const auto read = unpack_events(pack_events(events), 2, 0, Nanoseconds{0});
    ASSERT_TRUE(read.has_value()) << read.error().what;
    EXPECT_EQ(read.value(), events);
}

TEST(EventColumns, RefuseWhatCannotBe) {
    const Event event{5_s, 1, 2, 0, 1, 3, EventKind::chunk_sent};
    const std::vector<Event> events = {event};
    const ByteVector bytes = pack_events(events);
    EXPECT_TRUE(unpack_events(bytes, 1, 2, 5_s).has_value());
    EXPECT_FALSE(unpack_events(bytes, 0, 2, 0_s).has_value());                         // too many
    EXPECT_FALSE(unpack_events(bytes, 1, 1, 0_s).has_value());                         // no node 1
    EXPECT_FALSE(unpack_events(bytes, 1, 2, Nanoseconds{5'000'000'001}).has_value());  // too early
    ByteVector longer = bytes;
    longer.push_back(std::byte{0});
    EXPECT_FALSE(unpack_events(longer, 1, 2, 0_s).has_value());
}

}  // namespace
}  // namespace refit
