#include "engine/sim/recorded_bits.hpp"

#include <algorithm>

#include "engine/store/delta_chain.hpp"

namespace refit {

namespace {

const RecordedDelta& delta_to(const RecordedRun& run, std::uint64_t version) {
    REFIT_ASSERT(version <= run.deltas.size());
    return version == 0 ? run.anchor : run.deltas[version - 1];
}

class RecordedTrainer final : public TrainerBits {
public:
    explicit RecordedTrainer(const RecordedRun& run) : run_(run) {}

    void take(std::uint64_t version) override { taken_ = version; }
    Hash256 version_id(std::uint64_t version) override {
        return delta_to(run_, version).next_version;
    }
    std::variant<EncodedUnit, RecordedUnit> encode(std::uint32_t unit) override {
        return delta_to(run_, taken_).units[unit];
    }
    void rebase() override {}
    Bytes gather_bytes() const override { return run_.trainer_gather; }

private:
    const RecordedRun& run_;
    std::uint64_t taken_ = 0;
};

class RecordedReplica final : public ReplicaBits {
public:
    RecordedReplica(const RecordedRun& run, Bytes gather) : run_(run), gather_(gather) {}

    void clear() override {
        drop_staged();
        resident_ = Hash256{};
    }
    Status stage(const OpenRecord& open, const PartRecord& part, ByteSpan) override {
        const RecordedDelta& delta = delta_to(run_, open.number);
        if (open.base_version != resident_)
            return Error{ErrorCode::wrong_base, "a part was made from another version"};
        for (std::uint32_t u = part.first_unit; u < part.first_unit + part.unit_count; ++u)
            staged_ += Bytes{delta.staged_bytes[u]};
        units_ += part.unit_count;
        next_ = delta.next_version;
        return Done{};
    }
    void drop_staged() override {
        staged_ = Bytes{};
        units_ = 0;
    }
    Bytes staged_bytes() const override { return staged_; }
    void overwrite() override {
        if (units_ == run_.units.size()) resident_ = next_;
    }
    Status check(const Hash256& version) override {
        if (version == resident_) return Done{};
        return Error{ErrorCode::mismatch, "the resident version is not the one the seal names"};
    }
    Words words_checked() const override { return Words{}; }
    Bytes gather_bytes() const override { return gather_; }
    std::uint64_t differing_words(std::uint64_t) const override { return 0; }

private:
    const RecordedRun& run_;
    Bytes gather_;
    Bytes staged_;
    std::uint64_t units_ = 0;
    Hash256 resident_;
    Hash256 next_;
};

class RecordedBits final : public WorldBits {
public:
    RecordedBits(const RecordedRun& run, const DeltaSpec& delta) : run_(run), delta_(delta) {}

    const Hash256& catalog() const override { return run_.catalog; }
    const Hash256& grid() const override { return run_.grid; }
    Words words() const override { return run_.words; }
    std::uint64_t salt() const override { return run_.salt; }
    const std::vector<Words>& units() const override { return run_.units; }

    Manifest publish_anchor(ObjectStore& store) override {
        OpenRecord open;
        open.catalog = run_.catalog;
        open.grid = run_.grid;
        open.codec = AnchorOptions{}.codec;
        open.salt = run_.salt;
        open.unit_words = delta_.unit_words;
        open.chunk_bytes = static_cast<std::uint32_t>(delta_.chunk.count);
        PartBuilder builder(open, delta_.chunks_per_part);
        for (const RecordedUnit& unit : run_.anchor.units)
            if (const auto part = builder.add(unit)) store.put(part_key(part->record.payload), {});
        Manifest anchor{open, builder.parts(),
                        make_seal(open, builder.parts(), run_.anchor.changed_words(),
                                  run_.anchor.next_version)};
        store.put(manifest_key(anchor.sealed_id()), anchor.serialize());
        return anchor;
    }
    std::unique_ptr<TrainerBits> trainer() override {
        return std::make_unique<RecordedTrainer>(run_);
    }
    std::unique_ptr<ReplicaBits> replica(std::size_t index) override {
        return std::make_unique<RecordedReplica>(run_, run_.replica_gather[index]);
    }

private:
    const RecordedRun& run_;
    DeltaSpec delta_;
};

/// A hash nothing has: of the seed and a number.
Hash256 phantom_hash(std::uint64_t seed, std::uint64_t number) {
    ByteWriter writer;
    writer.write(seed);
    writer.write(number);
    return sha256(writer.bytes());
}

}  // namespace

std::uint64_t RecordedDelta::payload_bytes() const {
    std::uint64_t bytes = 0;
    for (const RecordedUnit& unit : units) bytes += unit.bytes;
    return bytes;
}

std::uint64_t RecordedDelta::changed_words() const {
    std::uint64_t words = 0;
    for (const RecordedUnit& unit : units) words += unit.changed_words;
    return words;
}

void close_phantom_parts(std::vector<RecordedUnit>& units,
                         const DeltaSpec& delta,
                         std::uint64_t seed) {
    const std::uint64_t full = delta.chunks_per_part * delta.chunk.count;
    std::uint64_t pending = 0;
    std::uint64_t number = 0;
    for (std::size_t u = 0; u < units.size(); ++u) {
        units[u].closes.reset();
        pending += units[u].bytes;
        if (pending < full && u + 1 < units.size()) continue;
        PartRecord& part = units[u].closes.emplace();
        part.payload = phantom_hash(seed, number++);
        for (std::uint64_t at = 0; at < pending; at += delta.chunk.count) {
            const std::uint64_t bytes = std::min(delta.chunk.count, pending - at);
            part.chunks.push_back(
                {static_cast<std::uint32_t>(bytes), phantom_hash(seed, number++)});
        }
        pending = 0;
    }
}

std::unique_ptr<WorldBits> make_recorded_bits(const RecordedRun& run, const DeltaSpec& delta) {
    return std::make_unique<RecordedBits>(run, delta);
}

}  // namespace refit
