#include "engine/emulate/full_pass.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/emulate/model_words.hpp"
#include "tests/support/files.hpp"
#include "workloads/layouts.hpp"

namespace refit {
namespace {

DeltaSpec small_parts() {
    DeltaSpec delta;
    delta.unit_words = std::uint64_t{1} << 20;
    delta.chunk = Bytes{4096};
    delta.chunks_per_part = 8;
    return delta;
}

class FullPassTest : public ::testing::Test {
protected:
    Result<FullPass> run(PassJournal* journal, int stop_after = -1) {
        BitPass pass(*device_, context_, *find_codec("xc").value(), {&map_});
        int units = -1;  // the first call is for what the journal had
        return run_full_pass(pass, DrawnPairs(1), context_, small_parts(), journal, [&](Words) {
            if (++units == stop_after) throw std::runtime_error("stopped");
        });
    }
    static bool same(const RecordedDelta& a, const RecordedDelta& b) {
        if (a.units.size() != b.units.size() || a.next_version != b.next_version) return false;
        for (std::size_t u = 0; u < a.units.size(); ++u) {
            if (a.units[u].bytes != b.units[u].bytes ||
                a.units[u].changed_words != b.units[u].changed_words ||
                a.units[u].closes != b.units[u].closes)
                return false;
        }
        return a.staged_bytes == b.staged_bytes;
    }

    Catalog catalog_ = small_moe();
    Grid grid_{catalog_};
    DeltaContext context_{catalog_, grid_, 3};
    std::unique_ptr<Device> device_ = make_cpu_device(2);
    ShardMap map_ = std::move(make_layout(catalog_, "tp:tp2")).value();
    TestFolder folder_;
    std::filesystem::path journal_ = folder_ / "journal";
};

TEST_F(FullPassTest, PartsCarryTheHashesOfTheRealBytes) {
    const FullPass full = run(nullptr).value();
    const auto codec = find_codec("xc");
    OpenRecord open;
    open.chunk_bytes = 4096;
    PartBuilder builder(open, small_parts().chunks_per_part);
    std::vector<Part> parts;
    std::vector<std::uint64_t> digests;
    BitPass pass(*device_, context_, *codec.value(), {});
    for (const UnitRange range : make_units(grid_, small_parts().unit_words)) {
        const auto& unit = pass.run(range, DrawnPairs(1)).value()->encoded;
        digests.insert(digests.end(), unit.next_digests.begin(), unit.next_digests.end());
        if (auto part = builder.add(unit.bytes)) parts.push_back(std::move(*part));
    }
    if (auto part = builder.flush()) parts.push_back(std::move(*part));
    std::size_t found = 0;
    for (const RecordedUnit& unit : full.delta.units) {
        if (!unit.closes) continue;
        ASSERT_LT(found, parts.size());
        EXPECT_EQ(unit.closes->payload, parts[found].record.payload);
        EXPECT_EQ(unit.closes->chunks, parts[found].record.chunks);
        ++found;
    }
    EXPECT_EQ(found, parts.size());
    EXPECT_EQ(full.delta.next_version, version_id(catalog_.id(), 3, digests));
    EXPECT_TRUE(full.totals.exact());
    EXPECT_EQ(full.totals.words, catalog_.words());
}

TEST_F(FullPassTest, AnInterruptedPassEndsWithTheSameDeltaWhereverItStopped) {
    const FullPass whole = run(nullptr).value();
    const auto units = static_cast<int>(whole.delta.units.size());
    ASSERT_GT(units, 8);
    for (int stop = 1; stop <= units; stop += 3) {
        std::filesystem::remove(journal_);
        {
            auto journal = PassJournal::open(journal_, Hash256{{1}}).value();
            EXPECT_THROW((void)run(&journal, stop), std::runtime_error);
        }
        auto journal = PassJournal::open(journal_, Hash256{{1}}).value();
        const FullPass resumed = run(&journal).value();
        EXPECT_TRUE(same(resumed.delta, whole.delta)) << stop;
        EXPECT_EQ(resumed.totals.words, catalog_.words());
        EXPECT_EQ(resumed.totals.words_checked, whole.totals.words_checked);
        EXPECT_TRUE(resumed.totals.exact());
        if (stop == units) {
            EXPECT_GT(resumed.resumed.count, 0u);
        }
    }
}

TEST_F(FullPassTest, ADamagedJournalCostsWorkAndNothingElse) {
    const FullPass whole = run(nullptr).value();
    {
        auto journal = PassJournal::open(journal_, Hash256{{1}}).value();
        ASSERT_TRUE(run(&journal).has_value());
    }
    const std::uint64_t bytes = std::filesystem::file_size(journal_);
    const std::filesystem::path whole_journal = folder_ / "whole";
    std::filesystem::copy_file(journal_, whole_journal);
    const auto restore = [&] {
        std::filesystem::copy_file(whole_journal, journal_,
                                   std::filesystem::copy_options::overwrite_existing);
    };
    const auto check = [&](std::uint64_t at) {
        auto journal = PassJournal::open(journal_, Hash256{{1}});
        if (!journal.has_value()) {
            EXPECT_LT(at, 8u + 4 + 32 + 8) << "only a damaged head is no journal of ours";
            return;
        }
        EXPECT_LT(journal.value().parts().size(), 100u);
        const FullPass resumed = run(&journal.value()).value();
        EXPECT_TRUE(same(resumed.delta, whole.delta)) << at;
    };
    for (std::uint64_t cut = bytes - 1; cut > bytes / 8; cut = cut * 3 / 4) {
        restore();
        std::filesystem::resize_file(journal_, cut);
        check(cut);
    }
    for (const std::uint64_t at : {std::uint64_t{3}, std::uint64_t{20}, bytes / 3, bytes / 2}) {
        restore();
        std::fstream file(journal_, std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(static_cast<std::streamoff>(at));
        file.put('\x5A');
        file.close();
        check(at);
    }
}

TEST_F(FullPassTest, AJournalOfAnotherPassIsRefused) {
    ASSERT_TRUE(PassJournal::open(journal_, Hash256{{1}}).has_value());
    const auto other = PassJournal::open(journal_, Hash256{{2}});
    ASSERT_FALSE(other.has_value());
    EXPECT_EQ(other.error().code, ErrorCode::invalid_input);
    EXPECT_EQ(other.error().where, journal_.string());
}

}  // namespace
}  // namespace refit
