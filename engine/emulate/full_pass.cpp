#include "engine/emulate/full_pass.hpp"

namespace refit {

namespace {

/// The log of the pass; only chunk sizes and the order of units matter to it.
OpenRecord open_of(const DeltaContext& context, const DeltaSpec& delta) {
    OpenRecord open;
    open.catalog = context.catalog.id();
    open.grid = context.grid.id();
    open.codec = delta.codec;
    open.salt = context.salt;
    open.unit_words = delta.unit_words;
    open.chunk_bytes = static_cast<std::uint32_t>(delta.chunk.count);
    return open;
}

/// Collects parts, from the journal and from the pass alike.
class Collected {
public:
    void add(const PassPart& part) {
        for (const PassUnit& unit : part.units) {
            full_.delta.units.push_back({unit.bytes, unit.changed_words, std::nullopt});
            full_.delta.staged_bytes.push_back(unit.staged_bytes);
        }
        full_.delta.units.back().closes = part.record;
        digests_.insert(digests_.end(), part.next_digests.begin(), part.next_digests.end());
        records_.push_back(part.record);
        full_.totals.add(part.totals);
    }
    const std::vector<PartRecord>& records() const { return records_; }
    Words words() const { return full_.totals.words; }

    FullPass finish(const DeltaContext& context, Words resumed) && {
        full_.resumed = resumed;
        full_.delta.next_version = version_id(context.catalog.id(), context.salt, digests_);
        return std::move(full_);
    }

private:
    FullPass full_;
    std::vector<std::uint64_t> digests_;
    std::vector<PartRecord> records_;
};

}  // namespace

Result<FullPass> run_full_pass(BitPass& pass,
                               const WordPairs& pairs,
                               const DeltaContext& context,
                               const DeltaSpec& delta,
                               PassJournal* journal,
                               const std::function<void(Words)>& between) {
    Collected collected;
    if (journal != nullptr)
        for (const PassPart& part : journal->parts()) collected.add(part);
    const Words resumed = collected.words();
    between(resumed);

    PartBuilder builder(open_of(context, delta), delta.chunks_per_part, collected.records());
    const std::vector<UnitRange> units = make_units(context.grid, delta.unit_words);
    PassPart open;
    const auto close = [&](PartRecord record) {
        open.record = std::move(record);
        open.totals = pass.take_totals();
        if (journal != nullptr) journal->append(open);
        collected.add(open);
        open = PassPart{};
    };
    for (std::size_t u = builder.next_unit(); u < units.size(); ++u) {
        REFIT_TRY(unit, pass.run(units[u], pairs));
        std::uint64_t staged = 0;
        for (const std::uint64_t bytes : unit->staged_bytes) staged += bytes;
        open.units.push_back({unit->encoded.bytes.size(), unit->encoded.changed_words, staged});
        const auto& digests = unit->encoded.next_digests;
        open.next_digests.insert(open.next_digests.end(), digests.begin(), digests.end());
        if (auto part = builder.add(unit->encoded.bytes)) close(std::move(part->record));
        between(words_of(context.grid, units[u]));
    }
    if (auto part = builder.flush()) close(std::move(part->record));
    return std::move(collected).finish(context, resumed);
}

}  // namespace refit
