#include "engine/sim/resident_bits.hpp"

#include <map>

#include "engine/base/rng.hpp"
#include "engine/shards/resident.hpp"
#include "engine/store/delta_chain.hpp"

namespace refit {

namespace {

class ResidentTrainer final : public TrainerBits {
public:
    ResidentTrainer(const ResidentParts& parts,
                    const DeltaContext& context,
                    const DeltaSpec& delta,
                    const Hash256& version_0)
        : parts_(parts),
          context_(context),
          codec_(delta.codec),
          units_(make_units(parts.grid, delta.unit_words)),
          base_(parts.device, context.catalog, parts.grid, parts.training),
          next_(parts.device, context.catalog, parts.grid, parts.training) {
        base_.load(parts.steps.version(0));
        ids_[0] = version_0;
    }

    void take(std::uint64_t version) override {
        if (taken_ != version) next_.load(parts_.steps.version(version));
        taken_ = version;
    }

    /// From the trainer's own words, in full: independent of what the encoder saw.
    Hash256 version_id(std::uint64_t version) override {
        const auto known = ids_.find(version);
        if (known != ids_.end()) return known->second;
        REFIT_ASSERT(version == taken_);
        std::vector<std::uint64_t> digests(parts_.grid.tiles().size());
        parts_.device.for_each(digests.size(), [&](std::uint64_t t, unsigned) {
            const Tile& tile = parts_.grid.tile(t);
            std::vector<std::uint16_t> words(tile.words);
            next_.read_tile(tile, words);
            digests[t] = parts_.device.digest(words, identity_placements(context_.catalog, tile),
                                              context_.salt);
        });
        return ids_[version] = refit::version_id(context_.catalog.id(), context_.salt, digests);
    }

    std::variant<EncodedUnit, RecordedUnit> encode(std::uint32_t unit) override {
        const auto codec = find_codec(codec_);
        REFIT_ASSERT(codec.has_value());
        return encode_unit(parts_.device, *codec.value(), context_, units_[unit], base_, next_);
    }

    void rebase() override { base_.load(next_); }
    Bytes gather_bytes() const override { return next_.gather_bytes(); }

private:
    const ResidentParts& parts_;
    DeltaContext context_;
    std::string codec_;
    std::vector<UnitRange> units_;
    ShardedWeights base_;
    ShardedWeights next_;
    std::uint64_t taken_ = 0;
    std::map<std::uint64_t, Hash256> ids_;
};

class ResidentReplica final : public ReplicaBits {
public:
    ResidentReplica(const ResidentParts& parts, const DeltaContext& context, const ShardMap& map)
        : parts_(parts), resident_(parts.device, context, map) {}

    void clear() override { resident_.clear(); }
    Status stage(const OpenRecord& open, const PartRecord& part, ByteSpan payload) override {
        return resident_.stage(open, part, payload);
    }
    void drop_staged() override { resident_.drop_staged(); }
    Bytes staged_bytes() const override { return resident_.staged_bytes(); }
    void overwrite() override { resident_.overwrite(); }
    Status check(const Hash256& version) override { return resident_.check(version); }
    Words words_checked() const override { return resident_.words_checked(); }
    Bytes gather_bytes() const override { return resident_.weights().gather_bytes(); }

    std::uint64_t differing_words(std::uint64_t version) const override {
        const ShardedWeights& weights = resident_.weights();
        const Weights& truth = parts_.steps.version(version);
        std::vector<std::uint64_t> differing(parts_.grid.tiles().size());
        parts_.device.for_each(differing.size(), [&](std::uint64_t t, unsigned) {
            const Tile& tile = parts_.grid.tile(t);
            std::vector<std::uint16_t> expected(tile.words);
            truth.read_tile(tile, expected);
            std::vector<std::uint16_t> held = expected;
            for (std::uint32_t r = 0; r < weights.rank_count(); ++r) {
                const auto placements = weights.placements(r, static_cast<std::uint32_t>(t));
                if (placements.empty()) continue;
                parts_.device.gather(weights.rank(r), placements, held);
                for (std::size_t i = 0; i < held.size(); ++i)
                    if (held[i] != expected[i]) ++differing[t], held[i] = expected[i];
            }
        });
        std::uint64_t total = 0;
        for (const std::uint64_t n : differing) total += n;
        return total;
    }

private:
    const ResidentParts& parts_;
    Resident resident_;
};

class ResidentBits final : public WorldBits {
public:
    ResidentBits(const ResidentParts& parts, const DeltaSpec& delta, std::uint64_t seed)
        : parts_(parts),
          delta_(delta),
          context_{parts.steps.catalog(), parts.grid, digest_salt(seed)} {
        for (const UnitRange unit : make_units(parts.grid, delta.unit_words))
            units_.push_back(words_of(parts.grid, unit));
    }

    const Hash256& catalog() const override { return context_.catalog.id(); }
    const Hash256& grid() const override { return parts_.grid.id(); }
    Words words() const override { return context_.catalog.words(); }
    std::uint64_t salt() const override { return context_.salt; }
    const std::vector<Words>& units() const override { return units_; }

    Manifest publish_anchor(ObjectStore& store) override {
        AnchorOptions options;
        options.unit_words = delta_.unit_words;
        Manifest anchor =
            refit::publish_anchor(parts_.device, context_, parts_.steps.version(0), store, options);
        version_0_ = anchor.seal.next_version;
        return anchor;
    }
    std::unique_ptr<TrainerBits> trainer() override {
        return std::make_unique<ResidentTrainer>(parts_, context_, delta_, version_0_);
    }
    std::unique_ptr<ReplicaBits> replica(std::size_t index) override {
        return std::make_unique<ResidentReplica>(parts_, context_, *parts_.serving[index]);
    }

private:
    ResidentParts parts_;
    DeltaSpec delta_;
    DeltaContext context_;
    std::vector<Words> units_;
    Hash256 version_0_;
};

}  // namespace

std::uint64_t digest_salt(std::uint64_t seed) { return draw(seed, 0x5A17, 0); }

std::unique_ptr<WorldBits> make_resident_bits(const ResidentParts& parts,
                                              const DeltaSpec& delta,
                                              std::uint64_t seed) {
    return std::make_unique<ResidentBits>(parts, delta, seed);
}

}  // namespace refit
