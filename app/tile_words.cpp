#include "app/tile_words.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/model_run.hpp"
#include "app/run_folder.hpp"
#include "app/run_request.hpp"
#include "engine/codec/body.hpp"
#include "scenarios/shipped.hpp"
#include "workloads/trace.hpp"

namespace refit {

namespace {

namespace fs = std::filesystem;

constexpr Words kCountedWords{std::uint64_t{64} << 20};

std::string error_text(const Error& error) {
    return error.where.empty() ? error.what : error.where + " " + error.what;
}

/// Both versions of any tile of the run's catalog, and where they are from.
struct WordSource {
    std::string from;  // "the shipped trace dense"
    std::function<void(
        const Tile&, std::uint64_t, std::span<std::uint16_t>, std::span<std::uint16_t>)>
        read;  // the versions before and after refit n
    std::uint64_t refits = 0;
    bool counted = false;  // all words are read once more, to be counted as the record counts them
};

WordSource source_of(std::shared_ptr<const StepSource> steps, const std::string& from) {
    const auto read = [steps](const Tile& tile, std::uint64_t refit, std::span<std::uint16_t> base,
                              std::span<std::uint16_t> next) {
        steps->version(refit - 1).read_tile(tile, base);
        steps->version(refit).read_tile(tile, next);
    };
    return {from, read, steps->versions() - 1, steps->catalog().words() <= kCountedWords};
}

Result<WordSource> open_model(const Scenario& scenario, const SavedRun& run) {
    REFIT_TRY(opened, ModelBits::open(scenario.source.model.file, scenario.delta));
    REFIT_TRY(change, change_of(scenario));
    REFIT_CHECK(opened.choose(change));
    if (opened.catalog().id() != run.recording.cast.catalog.id())
        return Error{ErrorCode::mismatch, "has other tensors than the run",
                     scenario.source.model.file.string()};
    const auto bits = std::make_shared<ModelBits>(std::move(opened));
    const auto read = [bits](const Tile& tile, std::uint64_t refit, std::span<std::uint16_t> base,
                             std::span<std::uint16_t> next) {
        bits->pairs(refit).read(tile, base, next);
    };
    return WordSource{fmt::format("the weight field of {}, profile {}, seed {}",
                                  bits->architecture().name, change.profile, change.seed),
                      read, std::max<std::uint64_t>(1, scenario.source.max_refits), false};
}

Result<WordSource> open_steps(std::unique_ptr<StepSource> steps,
                              const SavedRun& run,
                              const std::string& from) {
    if (steps->catalog().id() != run.recording.cast.catalog.id())
        return Error{ErrorCode::mismatch, "has other tensors than the run", from};
    return source_of(std::move(steps), from);
}

Result<WordSource> open_request(const fs::path& file,
                                const SavedRun& run,
                                const fs::path& data_root,
                                Device& device) {
    REFIT_TRY(request, load_request(file));
    REFIT_TRY(scenario, request.scenario(data_root));
    const SourceSpec& source = scenario.source;
    if (!source.model.name.empty()) return open_model(scenario, run);
    if (!source.versions.empty()) {
        REFIT_TRY(steps, open_checkpoints(source.versions));
        return open_steps(std::move(steps), run, source.versions.front().string() + " and on");
    }
    REFIT_TRY(steps, open_trace(source.trace_file, device));
    return open_steps(std::move(steps), run, "the trace " + source.trace);
}

/// A run whose folder does not say what was asked may be one of a shipped trace.
Result<WordSource> open_shipped(const fs::path& wanted,
                                const SavedRun& run,
                                const fs::path& data_root,
                                Device& device) {
    for (const std::string& name : shipped_traces(data_root)) {
        REFIT_TRY(file, find_trace(name, data_root, data_root));
        REFIT_TRY(steps, open_trace(file, device));
        if (steps->catalog().id() == run.recording.cast.catalog.id())
            return open_steps(std::move(steps), run, "the shipped trace " + name);
    }
    return Error{ErrorCode::not_found, "is not there", wanted.string()};
}

class RunWords {
public:
    RunWords(const fs::path& folder,
             const SavedRun& run,
             std::uint32_t tensor,
             const fs::path& data_root)
        : run_(run),
          tensor_(tensor),
          device_(make_cpu_device()),
          grid_(run.recording.cast.catalog) {
        const fs::path request = folder / kRequestFile;
        auto opened = is_file(request) ? open_request(request, run, data_root, *device_)
                                       : open_shipped(request, run, data_root, *device_);
        if (opened.has_value()) {
            source_ = std::move(opened).value();
        } else {
            missing_ = "The words cannot be made again: " + error_text(opened.error()) + ".";
        }
        for (std::uint32_t t = 0; t < grid_.tiles().size(); ++t)
            for (const Piece& piece : grid_.tile(t).pieces)
                if (piece.tensor == tensor) pieces_.push_back({t, piece});
    }

    std::shared_ptr<const TileWords> of(std::uint64_t version) {
        if (newest_ == nullptr || newest_version_ != version) {
            newest_ = std::make_shared<const TileWords>(make(version));
            newest_version_ = version;
        }
        return newest_;
    }

private:
    struct Place {
        std::uint32_t tile;
        Piece piece;
    };

    TileWords make(std::uint64_t version) const {
        TileWords words;
        words.missing = missing_;
        if (missing_.empty() && (version == 0 || version > source_.refits))
            words.missing =
                fmt::format("No refit {} can be made again from {}.", version, source_.from);
        if (words.missing.empty() && pieces_.empty()) words.missing = "The tensor has no words.";
        if (words.missing.empty() && !run_.record.is_object())
            words.missing = "This run has no record, so its codec is not known.";
        if (!words.missing.empty()) return words;
        words.version = version;
        words.type = run_.recording.cast.catalog.tensor(tensor_).type;
        read_tiles(words);
        const Status decoded = decode_mask(words);
        if (!decoded.has_value()) {
            words.missing = "The tile's bytes do not decode: " + error_text(decoded.error()) + ".";
            return words;
        }
        words.source = "Words: " + source_.from + count_text(version) + ".";
        return words;
    }

    /// The first tile with a changed word, else the first; shares of those that were looked at.
    void read_tiles(TileWords& words) const {
        words.tiles.resize(pieces_.size());
        std::vector<std::uint16_t> base;
        std::vector<std::uint16_t> next;
        bool found = false;
        for (std::size_t i = 0; i < std::min(pieces_.size(), kTilesLooked); ++i) {
            const Tile& tile = grid_.tile(pieces_[i].tile);
            base.resize(tile.words);
            next.resize(tile.words);
            source_.read(tile, words.version, base, next);
            const Piece& piece = pieces_[i].piece;
            std::uint64_t changed = 0;
            for (std::uint64_t w = piece.tile_first; w < piece.tile_first + piece.words; ++w)
                changed += base[w] != next[w] ? 1 : 0;
            words.tiles[i] = static_cast<double>(changed) / static_cast<double>(piece.words);
            if (found || (changed == 0 && i > 0)) continue;
            found = changed > 0;
            words.tile = i;
            words.piece = piece;
            words.base = base;
            words.next = next;
        }
    }

    /// What a replica would make of the tile's bytes: nothing here compares base with next.
    Status decode_mask(TileWords& words) const {
        words.codec = run_.record["codec"]["name"];
        REFIT_TRY(codec, find_codec(words.codec));
        Changes changes;
        device_->diff(words.base, words.next, changes);
        const TileDiff diff{words.base, words.next, &changes, words.type};
        TileMode mode = codec->choose_mode(diff);
        ByteVector body;
        codec->encode(*device_, {&diff, 1}, {&mode, 1}, body);
        words.delta_bytes = body.size();
        const TileBase tile{words.base, mode, static_cast<std::uint32_t>(changes.changed())};
        Changes decoded;
        REFIT_CHECK(codec->decode(*device_, body, {&tile, 1}, {&decoded, 1}));
        words.delta_changed = decoded.changed();
        words.mask.assign(words.base.size(), 0);
        const TileDiff staged{words.base, {}, &decoded, words.type};
        for_each_change(staged, [&](std::uint32_t at, std::uint16_t next) {
            words.mask[at] = static_cast<std::uint16_t>(words.base[at] ^ next);
        });
        return Done{};
    }

    /// Of words that are all there: whether as many change as the record counted.
    std::string count_text(std::uint64_t version) const {
        if (!source_.counted) return "";
        std::uint64_t changed = 0;
        std::vector<std::uint16_t> base;
        std::vector<std::uint16_t> next;
        for (const Tile& tile : grid_.tiles()) {
            base.resize(tile.words);
            next.resize(tile.words);
            source_.read(tile, version, base, next);
            for (std::uint64_t w = 0; w < tile.words; ++w) changed += base[w] != next[w] ? 1 : 0;
        }
        for (const auto& refit : run_.record["refits"])
            if (refit["version"] == version)
                return refit["changed_words"] == changed
                           ? "; as many words of the model change as in the record"
                           : "; but not as many words of the model change as in the record";
        return "";
    }

    const SavedRun& run_;
    std::uint32_t tensor_;
    std::unique_ptr<Device> device_;
    Grid grid_;
    std::vector<Place> pieces_;
    WordSource source_;
    std::string missing_;
    std::shared_ptr<const TileWords> newest_;
    std::uint64_t newest_version_ = 0;
};

}  // namespace

WordsOf words_of_run(const fs::path& folder,
                     const SavedRun& run,
                     std::uint32_t tensor,
                     const fs::path& data_root) {
    const auto words = std::make_shared<RunWords>(folder, run, tensor, data_root);
    return [words](std::uint64_t version) { return words->of(version); };
}

}  // namespace refit
