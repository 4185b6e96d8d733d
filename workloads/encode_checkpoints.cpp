#include "workloads/encode_checkpoints.hpp"

#include <algorithm>
#include <utility>

#include "workloads/tile_reader.hpp"

namespace refit {

namespace {

/// One delta being written: what all its stages share.
class Encoding {
public:
    Encoding(Device& device,
             const Codec& codec,
             const CheckpointMatch& match,
             const DeltaOutput& output,
             const MonotonicClock& now)
        : device_(device),
          codec_(codec),
          match_(match),
          output_(output),
          now_(now),
          grid_(match.catalog),
          open_(open_record()),
          writer_([this](ByteSpan bytes) { append(bytes); }, match.catalog, open_),
          builder_(open_, kFileChunksPerPart) {
        summary_.words = match.catalog.words().count;
    }

    void encode_words(const Weights& base, const Weights& next, const ByteProgress& progress) {
        UnitEncoder encoder(device_, codec_, {match_.catalog, grid_, kFileSalt}, now_);
        const std::vector<UnitRange> units = make_units(grid_, open_.unit_words);
        const auto batches = make_batches(units);
        TileReader reader(grid_, base, next, batches, now_);
        std::vector<EncodedUnit> encoded;  // its buffers serve every batch
        for (std::size_t i = 0; i < batches.size(); ++i) {
            const TileReader::Batch batch = reader.next();
            encoder.encode(batch.units, batch.base, batch.next, encoded);
            for (const EncodedUnit& unit : encoded) {
                append_to(base_digests_, unit.base_digests);
                append_to(next_digests_, unit.next_digests);
                changed_ += unit.changed_words;
                add(unit.bytes);
            }
            std::uint64_t words = 0;
            for (const UnitRange unit : batch.units) words += words_of(unit);
            progress(size_of(Words{words}));
        }
        const StageTimes times = encoder.times();
        summary_.times.read = reader.time() + times.read;
        summary_.times.code = times.scan + times.code;
    }

    void encode_opaque(const ByteProgress& progress) {
        for (std::uint32_t i = 0; i < match_.opaque.size(); ++i) {
            const OpaqueSource& source = match_.opaque[i];
            summary_.opaque.push_back(source.item);
            Sha256 hash;
            const std::uint64_t tiles = source.item.tiles();
            const std::uint64_t stride = std::uint64_t{4} * device_.lanes();
            for (std::uint64_t first = 0; first < tiles; first += stride) {
                const std::uint64_t count = std::min(stride, tiles - first);
                encode_tiles(i, first, count, hash);
                progress(Bytes{count * kOpaqueTileBytes});
            }
            summary_.opaque.back().hash = hash.finish();
        }
    }

    EncodeSummary finish(const Checkpoint& next) {
        if (const auto part = builder_.flush()) writer_.write(*part);
        open_.base_version = version_id(match_.catalog.id(), kFileSalt, base_digests_);
        std::vector<PartRecord> parts = builder_.parts();
        writer_.set_base(open_, parts, [this](std::uint64_t offset, ByteSpan bytes) {
            const Timed timed(now_, summary_.times.write);
            output_.patch(offset, bytes);
        });
        const Bytes before = summary_.file;
        summary_.seal = writer_.finish(attachments(next), parts, changed_,
                                       version_id(match_.catalog.id(), kFileSalt, next_digests_));
        summary_.attachments = summary_.file - before;
        summary_.open = open_;
        return std::move(summary_);
    }

private:
    /// Adds the time of its own life to a total.
    class Timed {
    public:
        Timed(const MonotonicClock& now, Nanoseconds& total)
            : now_(now), total_(total), start_(now()) {}
        Timed(const Timed&) = delete;
        Timed& operator=(const Timed&) = delete;
        ~Timed() { total_ += now_() - start_; }

    private:
        const MonotonicClock& now_;
        Nanoseconds& total_;
        Nanoseconds start_;
    };

    struct OpaqueWork {
        ByteVector next;
        ByteVector unit;
        std::uint64_t changed = 0;
        Nanoseconds read{};
        Nanoseconds code{};
    };

    OpenRecord open_record() const {
        OpenRecord open;
        open.catalog = match_.catalog.id();
        open.grid = grid_.id();
        open.codec = codec_.name();
        open.salt = kFileSalt;
        open.number = 1;
        open.unit_words = file_unit_words(codec_);
        open.chunk_bytes = kFileChunkBytes;
        return open;
    }

    std::uint64_t words_of(UnitRange range) const {
        std::uint64_t words = 0;
        for (std::uint32_t i = 0; i < range.tile_count; ++i)
            words += grid_.tile(range.first_tile + i).words;
        return words;
    }

    /// As many units at once as there are lanes, within the limit on words; one at least.
    std::vector<std::span<const UnitRange>> make_batches(std::span<const UnitRange> units) const {
        std::vector<std::span<const UnitRange>> batches;
        for (std::size_t first = 0; first < units.size();) {
            std::size_t count = 0;
            std::uint64_t words = 0;
            do {
                words += words_of(units[first + count++]);
            } while (first + count < units.size() && count < device_.lanes() &&
                     words + words_of(units[first + count]) <= kBatchWords);
            batches.push_back(units.subspan(first, count));
            first += count;
        }
        return batches;
    }

    static void append_to(std::vector<std::uint64_t>& all, const std::vector<std::uint64_t>& more) {
        all.insert(all.end(), more.begin(), more.end());
    }

    void append(ByteSpan bytes) {
        summary_.file += Bytes{bytes.size()};
        output_.append(bytes);
    }

    void add(ByteSpan unit) {
        const Timed timed(now_, summary_.times.write);
        if (const auto part = builder_.add(unit)) writer_.write(*part);
    }

    void encode_tiles(std::uint32_t item, std::uint64_t first, std::uint64_t count, Sha256& hash) {
        const OpaqueSource& source = match_.opaque[item];
        std::vector<OpaqueWork> work(count);
        device_.for_each(count, [&](std::uint64_t i, unsigned) {
            encode_tile(item, static_cast<std::uint32_t>(first + i), work[i]);
        });
        for (const OpaqueWork& tile : work) {
            hash.update(tile.next);
            if (source.element_bits != 0) summary_.opaque.back().changed_elements += tile.changed;
            summary_.opaque.back().payload_bytes += tile.unit.size();
            summary_.times.read += tile.read;
            summary_.times.code += tile.code;
            add(tile.unit);
        }
    }

    void encode_tile(std::uint32_t item, std::uint32_t tile, OpaqueWork& out) const {
        const OpaqueSource& source = match_.opaque[item];
        const std::uint64_t first = tile * kOpaqueTileBytes;
        ByteVector base;
        {
            const Timed timed(now_, out.read);
            out.next.resize(source.item.tile_bytes(tile));
            source.next.read(first, out.next);
            if (source.base.has_value()) {
                base.resize(out.next.size());
                source.base->read(first, base);
            }
        }
        const Timed timed(now_, out.code);
        if (source.element_bits != 0 && !base.empty())
            out.changed = count_changed_elements(base, out.next, source.element_bits);
        out.unit = encode_opaque_tile(item, tile, base, out.next);
    }

    std::vector<Attachment> attachments(const Checkpoint& next) const {
        std::vector<Attachment> list;
        for (const CheckpointFile& file : next.files())
            list.push_back({std::string(kHeaderPrefix) + file.name, file.header});
        if (!next.index().empty()) list.push_back({std::string(kIndexAttachment), next.index()});
        if (next.is_directory()) list.push_back({std::string(kDirectoryAttachment), {}});
        if (!summary_.opaque.empty())
            list.push_back({std::string(kOpaqueTableName), serialize_opaque(summary_.opaque)});
        return list;
    }

    Device& device_;
    const Codec& codec_;
    const CheckpointMatch& match_;
    const DeltaOutput& output_;
    const MonotonicClock& now_;
    EncodeSummary summary_;
    Grid grid_;
    OpenRecord open_;
    RfdWriter writer_;
    PartBuilder builder_;
    std::vector<std::uint64_t> base_digests_;
    std::vector<std::uint64_t> next_digests_;
    std::uint64_t changed_ = 0;
};

}  // namespace

CheckpointEncoder::CheckpointEncoder(Device& device,
                                     const Codec& codec,
                                     const Checkpoint& base,
                                     const Checkpoint& next,
                                     MonotonicClock now)
    : device_(device), codec_(codec), base_(base), next_(next), now_(std::move(now)) {}

Result<EncodeSummary> CheckpointEncoder::encode(const CheckpointMatch& match,
                                                const DeltaOutput& output,
                                                const ByteProgress& progress) {
    REFIT_TRY(base, SelectedWeights::select(base_, match.catalog));
    REFIT_TRY(next, SelectedWeights::select(next_, match.catalog));
    Encoding encoding(device_, codec_, match, output, now_);
    encoding.encode_words(base, next, progress);
    encoding.encode_opaque(progress);
    return encoding.finish(next_);
}

}  // namespace refit
