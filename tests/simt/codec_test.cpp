// The codecs xc and cf over the kernels: the bodies and lists that the CPU backend gives, for the
// words of every change profile, under every schedule.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/codec/codec.hpp"
#include "kernels/device.hpp"
#include "tests/simt/xc_support.hpp"
#include "workloads/profile.hpp"

namespace refit {
namespace {

/// The operations of xc on the executor, a tile at a time; no others.
class XcDevice final : public Device {
public:
    explicit XcDevice(const simt::Schedule& schedule) : xc_(schedule) {}

    std::string_view name() const override { return "simt"; }
    std::string detail() const override { return {}; }
    unsigned lanes() const override { return 1; }
    void for_each(std::uint64_t count,
                  const std::function<void(std::uint64_t, unsigned)>& task) override {
        for (std::uint64_t i = 0; i < count; ++i) task(i, 0);
    }

    void xc_sample(WordSpan base, std::uint8_t mantissa_bits, XcExponents& words) override {
        const kernels::TileSpan tile{0, base.size()};
        const XcExponents found = xc_.sample(base, {&tile, 1}, mantissa_bits);
        for (std::size_t e = 0; e < kXcExponents; ++e) words[e] += found[e];
    }

    void xc_scan(WordSpan base,
                 const Changes& changes,
                 const XcContext& context,
                 XcTile& tile,
                 XcCounts& counts) override {
        WordVector next(base.begin(), base.end());
        const Placement whole = whole_tensor(1, base.size());
        cpu_->overwrite(next, changes, {&whole, 1});
        const kernels::TileSpan span{0, base.size()};
        const XcScanned found = xc_.scan(base, next, {&span, 1}, context);
        counts = found.counts;
        tile.bits = found.marks;
        tile.changed = found.changed;
        tile.words.resize(found.changed.size());
        for (std::size_t i = 0; i < found.words.size(); ++i)
            tile.words[i / kXcBuckets][i % kXcBuckets] = found.words[i];
        tile.base = found.base;
        tile.step = found.step;
    }

    bool xc_encode(WordSpan base,
                   const XcTile& tile,
                   const XcTables& tables,
                   std::span<const std::uint8_t> levels,
                   std::vector<std::byte>& out) override {
        XcScanned scanned;
        scanned.marks = tile.bits;
        scanned.changed = tile.changed;
        scanned.base = tile.base;
        scanned.step = tile.step;
        const XcInput input{{0, base.size()}, &tables, levels};
        const std::vector<std::byte> payload = xc_.encode_batch(base, scanned, {&input, 1})[0];
        out.insert(out.end(), payload.begin(), payload.end());
        return !payload.empty();
    }

    XcFault xc_decode(WordSpan base,
                      std::span<const std::byte> payload,
                      std::uint32_t changed,
                      const XcTables& tables,
                      Changes& out) override {
        return xc_.decode(base, payload, changed, tables, out);
    }

    void diff(WordSpan, WordSpan, Changes&) override { FAIL(); }
    void stage(WordSpan, std::span<const std::uint32_t>, WordSpan, Changes&) override { FAIL(); }
    void overwrite(std::span<std::uint16_t>, const Changes&, Placements) override { FAIL(); }
    void gather(WordSpan, Placements, std::span<std::uint16_t>) override { FAIL(); }
    void scatter(WordSpan, Placements, std::span<std::uint16_t>) override { FAIL(); }
    std::uint64_t digest(WordSpan, Placements, std::uint64_t) override { return 0; }
    TileDigests diff_and_digest(WordSpan, WordSpan, Placements, std::uint64_t, Changes&) override {
        return {};
    }
    std::uint64_t digest_change(WordSpan, const Changes&, Placements, std::uint64_t) override {
        return 0;
    }

private:
    std::unique_ptr<Device> cpu_ = make_cpu_device(1);
    SimtXc xc_;
};

struct Unit {
    std::vector<WordVector> base;
    std::vector<WordVector> next;
    std::vector<Changes> changes;

    std::vector<TileDiff> diffs() const {
        std::vector<TileDiff> tiles;
        for (std::size_t t = 0; t < base.size(); ++t)
            tiles.push_back({base[t], next[t], &changes[t], WordType::bf16});
        return tiles;
    }
};

/// Five small tiles from all over the words of a profile.
Unit unit_of(Device& device, const Profile& profile, std::uint32_t changed_per_million) {
    PairSpec spec;
    spec.profile = profile;
    spec.words = 2 * kPairWordsMin;
    spec.changed_per_million = changed_per_million;
    const WordPair pair = make_pair(device, spec);
    Unit unit;
    for (std::size_t t = 0; t < 5; ++t) {
        const auto first = static_cast<std::ptrdiff_t>(pair.base.size() / 5 * t);
        const auto words = static_cast<std::ptrdiff_t>(t == 0 ? 4500 : 700);
        unit.base.emplace_back(pair.base.begin() + first, pair.base.begin() + first + words);
        unit.next.emplace_back(pair.next.begin() + first, pair.next.begin() + first + words);
        device.diff(unit.base[t], unit.next[t], unit.changes.emplace_back());
    }
    return unit;
}

struct Body {
    std::vector<TileMode> modes;
    ByteVector bytes;
};

Body encode(Device& device, const Codec& codec, const Unit& unit) {
    Body body;
    const std::vector<TileDiff> tiles = unit.diffs();
    for (const TileDiff& tile : tiles) body.modes.push_back(codec.choose_mode(tile));
    codec.encode(device, tiles, body.modes, body.bytes);
    return body;
}

void expect_same_bodies(const Codec& codec, const Unit& unit, bool every) {
    const auto cpu = make_cpu_device(1);
    const Body want = encode(*cpu, codec, unit);
    std::size_t turn = 0;
    for (const simt::Schedule& schedule : every_schedule()) {
        if (!every && turn++ % 7 != 0) continue;
        XcDevice device(schedule);
        const Body body = encode(device, codec, unit);
        ASSERT_EQ(body.modes, want.modes) << schedule_text(schedule);
        ASSERT_EQ(body.bytes, want.bytes) << schedule_text(schedule);
        std::vector<TileBase> tiles;
        for (std::size_t t = 0; t < unit.base.size(); ++t)
            tiles.push_back({unit.base[t], body.modes[t],
                             static_cast<std::uint32_t>(unit.changes[t].changed())});
        std::vector<Changes> decoded(tiles.size());
        ASSERT_TRUE(codec.decode(device, body.bytes, tiles, decoded).has_value());
        ASSERT_EQ(decoded, unit.changes) << schedule_text(schedule);
    }
}

TEST(SimtCodec, BodiesOfEveryProfileAreThoseOfTheCpu) {
    const auto cpu = make_cpu_device(1);
    std::size_t coded = 0;
    for (const Profile& profile : profiles()) {
        SCOPED_TRACE(profile.name);
        const std::uint32_t rate = std::min(profile.changed_per_million_max, 30'000u);
        const Unit unit = unit_of(*cpu, profile, rate);
        const Codec& xc = *find_codec("xc").value();
        expect_same_bodies(xc, unit, true);
        expect_same_bodies(*find_codec("cf").value(), unit, false);
        if (HasFatalFailure()) return;
        const Body body = encode(*cpu, xc, unit);
        coded += static_cast<std::size_t>(std::ranges::count(body.modes, TileMode::coded));
    }
    EXPECT_GE(profiles().size(), 7u);
    EXPECT_GT(coded, 2 * profiles().size());
}

}  // namespace
}  // namespace refit
