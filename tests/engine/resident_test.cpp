// The resident check sees what the delta check cannot: a right staging list, wrongly stored.
//
// Each case stages a delta (base and delta digests agree), overwrites, and then damages one rank's
// memory the way a bug in an overwrite would. The damaged words keep their multiset where they
// can, so that a plain sum over words would not notice.
#include "engine/shards/resident.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/sim/tiny_world.hpp"

namespace refit {
namespace {

class ResidentTest : public testing::Test {
protected:
    void open(const std::string& layout) {
        auto map = make_layout(steps_.catalog(), layout);
        ASSERT_TRUE(map.has_value());
        map_ = std::make_unique<ShardMap>(std::move(map).value());
        resident_ = std::make_unique<Resident>(*device_, context_, *map_);
        anchor_ = publish_anchor(*device_, context_, steps_.version(0), *store_, {});
        for (const PartRecord& part : anchor_.parts) {
            const auto payload = store_->get(part_key(part.payload));
            ASSERT_TRUE(payload.has_value());
            ASSERT_TRUE(resident_->stage(anchor_.open, part, payload.value()).has_value());
        }
        resident_->overwrite();
        resident_->drop_staged();
        ASSERT_TRUE(resident_->check(anchor_.seal.next_version).has_value());
        old_ = {resident_->weights().rank(0).begin(), resident_->weights().rank(0).end()};
    }

    /// Version 1 as a delta from version 0.
    Part make_delta() {
        open_record_ = anchor_.open;
        open_record_.codec = "gap-xor-zstd";
        open_record_.number = 1;
        open_record_.base_delta = anchor_.sealed_id();
        open_record_.base_version = anchor_.seal.next_version;
        const auto codec = find_codec(open_record_.codec);
        PartBuilder builder(open_record_, 1'000'000);
        std::vector<std::uint64_t> digests;
        for (const UnitRange range : make_units(grid_, open_record_.unit_words)) {
            const EncodedUnit unit = encode_unit(*device_, *codec.value(), context_, range,
                                                 steps_.version(0), steps_.version(1));
            std::ranges::copy(unit.next_digests, std::back_inserter(digests));
            EXPECT_FALSE(builder.add(unit.bytes).has_value());
        }
        next_ = version_id(steps_.catalog().id(), context_.salt, digests);
        return *builder.flush();
    }

    void apply() {
        const Part part = make_delta();
        const Status staged = resident_->stage(open_record_, part.record, part.payload);
        ASSERT_TRUE(staged.has_value()) << staged.error().what;  // base and delta pass
        resident_->overwrite();
    }

    std::uint64_t local_first(std::uint32_t rank, const char* name) const {
        const auto id = steps_.catalog().find(name);
        for (const Box& box : map_->ranks()[rank].boxes)
            if (box.tensor == *id) return box.local_first;
        ADD_FAILURE() << name << " is not on rank " << rank;
        return 0;
    }

    void expect_refused() const {
        const Status status = resident_->check(next_);
        ASSERT_FALSE(status.has_value());
        EXPECT_EQ(status.error().code, ErrorCode::mismatch);
    }

    std::unique_ptr<Device> device_ = make_cpu_device(1);
    TinySteps steps_{tiny_transformer(), 5, 2};
    Grid grid_{steps_.catalog()};
    DeltaContext context_{steps_.catalog(), grid_, 0x1234};
    std::unique_ptr<ObjectStore> store_ = make_memory_store();
    std::unique_ptr<ShardMap> map_;
    std::unique_ptr<Resident> resident_;
    Manifest anchor_;
    OpenRecord open_record_;
    Hash256 next_;
    std::vector<std::uint16_t> old_;
};

constexpr const char* kLayer0 = "model.layers.0.mlp.up_proj.weight";
constexpr const char* kLayer1 = "model.layers.1.mlp.up_proj.weight";

TEST_F(ResidentTest, AcceptsWhatWasStoredRight) {
    for (const char* layout : {"replicated:r2", "tp:tp2", "fsdp:dp3", "columns:tp2", "rows:tp4"}) {
        open(layout);
        apply();
        EXPECT_TRUE(resident_->check(next_).has_value()) << layout;
    }
}

TEST_F(ResidentTest, RefusesTwoSwappedTensors) {
    open("replicated:r2");
    apply();
    const auto rank = resident_->weights().rank(1);
    const std::uint64_t words = 24 * 16;
    std::swap_ranges(rank.begin() + static_cast<std::ptrdiff_t>(local_first(1, kLayer0)),
                     rank.begin() + static_cast<std::ptrdiff_t>(local_first(1, kLayer0) + words),
                     rank.begin() + static_cast<std::ptrdiff_t>(local_first(1, kLayer1)));
    expect_refused();
}

TEST_F(ResidentTest, RefusesTwoSwappedRows) {
    open("tp:tp2");
    apply();
    const auto rank = resident_->weights().rank(0);
    const auto row = rank.begin() + static_cast<std::ptrdiff_t>(local_first(0, kLayer0));
    ASSERT_FALSE(std::equal(row, row + 16, row + 16));
    std::swap_ranges(row, row + 16, row + 16);
    expect_refused();
}

TEST_F(ResidentTest, RefusesOneStaleCopy) {
    open("replicated:r2");
    apply();
    ASSERT_FALSE(std::ranges::equal(resident_->weights().rank(1), old_));
    std::ranges::copy(old_, resident_->weights().rank(1).begin());
    expect_refused();
}

TEST_F(ResidentTest, RefusesOneSkippedStore) {
    open("fsdp:dp3");
    apply();
    const auto rank = resident_->weights().rank(0);
    const auto changed = std::ranges::mismatch(rank, old_);
    ASSERT_NE(changed.in1, rank.end());
    *changed.in1 = *changed.in2;
    expect_refused();
}

TEST_F(ResidentTest, AHalfStoredListStoredAgainIsExact) {
    open("tp:tp2");
    apply();
    const auto rank = resident_->weights().rank(0);
    std::copy(old_.begin() + 100, old_.end(), rank.begin() + 100);  // the second half never came
    expect_refused();
    resident_->overwrite();
    EXPECT_TRUE(resident_->check(next_).has_value());
    resident_->overwrite();
    EXPECT_TRUE(resident_->check(next_).has_value());
}

TEST_F(ResidentTest, RefusesADeltaForAnotherBaseBeforeDecoding) {
    open("tp:tp2");
    const Part part = make_delta();
    resident_->weights().rank(0)[7] ^= 1;  // one bit of drift, wherever it is
    const Status status = resident_->stage(open_record_, part.record, part.payload);
    ASSERT_FALSE(status.has_value());
    EXPECT_EQ(status.error().code, ErrorCode::wrong_base);
    EXPECT_EQ(resident_->staged_words(), 0u);
}

}  // namespace
}  // namespace refit
