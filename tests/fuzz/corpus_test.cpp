// Every fuzz target over its checked-in corpus, over damaged corpus files, and over noise: what
// libFuzzer does, without libFuzzer.
//
// Regenerate   REFIT_WRITE_CORPUS=1 build/tests/fuzz/fuzz_corpus_test --gtest_filter='*Seeds*'
#include <gtest/gtest.h>

#include <cstdlib>

#include "engine/base/rng.hpp"
#include "tests/fuzz/seeds.hpp"
#include "tests/fuzz/targets.hpp"
#include "tests/support/files.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;

const fs::path kCorpus = fs::path(REFIT_SOURCE_DIR) / "tests" / "fuzz" / "corpus";
constexpr std::uint64_t kDamagedPerFile = 200;
constexpr std::uint64_t kNoisePerTarget = 200;

std::vector<fuzz::Target> all_targets() {
    std::vector<fuzz::Target> all;
    for (auto& layer :
         {fuzz::engine_targets(), fuzz::workloads_targets(), fuzz::scenarios_targets()})
        all.insert(all.end(), layer.begin(), layer.end());
    return all;
}

std::vector<ByteVector> corpus_of(const std::string& target) {
    std::vector<fs::path> paths;
    if (fs::exists(kCorpus / target))
        for (const auto& entry : fs::directory_iterator(kCorpus / target))
            paths.push_back(entry.path());
    std::sort(paths.begin(), paths.end());
    std::vector<ByteVector> files;
    for (const fs::path& path : paths) files.push_back(to_bytes(read_text_file(path)));
    return files;
}

/// Flipped, overwritten, cut, doubled.
ByteVector damage(ByteVector bytes, Rng& rng) {
    for (std::uint64_t n = 1 + rng.below(3); n > 0 && !bytes.empty(); --n) {
        const std::size_t at = rng.below(bytes.size());
        const auto place = bytes.begin() + static_cast<std::ptrdiff_t>(at);
        switch (rng.below(4)) {
            case 0:
                *place ^= static_cast<std::byte>(1u << rng.below(8));
                break;
            case 1:
                *place = static_cast<std::byte>(rng.next());
                break;
            case 2:
                bytes.erase(place, bytes.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                       bytes.size(), at + 1 + rng.below(8))));
                break;
            default:
                const ByteVector copy(place, bytes.end());
                bytes.insert(place, copy.begin(), copy.end());
                break;
        }
    }
    return bytes;
}

TEST(FuzzCorpus, SeedsAreThoseOfTheRealEncoders) {
    const bool write = std::getenv("REFIT_WRITE_CORPUS") != nullptr;
    for (const fuzz::Target& target : all_targets()) {
        const std::vector<ByteVector> seeds = fuzz::seeds_of(target.name);
        ASSERT_FALSE(seeds.empty()) << target.name;
        for (std::size_t i = 0; i < seeds.size(); ++i) {
            const fs::path file = kCorpus / target.name / ("seed-" + std::to_string(i));
            if (write) write_text_file(file, as_text(seeds[i]));
            EXPECT_TRUE(fs::exists(file)) << file << ": write the corpus again";
            EXPECT_LE(seeds[i].size(), 4096u);
        }
    }
}

TEST(FuzzCorpus, EveryFolderBelongsToATarget) {
    const auto targets = all_targets();
    for (const auto& entry : fs::directory_iterator(kCorpus)) {
        const std::string name = entry.path().filename().string();
        const auto has_name = [&](const fuzz::Target& target) { return target.name == name; };
        EXPECT_TRUE(std::any_of(targets.begin(), targets.end(), has_name)) << name;
    }
}

TEST(FuzzCorpus, EveryTargetTakesItsCorpusAndWhateverBecomesOfIt) {
    for (const fuzz::Target& target : all_targets()) {
        SCOPED_TRACE(target.name);
        const std::vector<ByteVector> files = corpus_of(target.name);
        ASSERT_FALSE(files.empty());
        for (std::size_t i = 0; i < files.size(); ++i) {
            EXPECT_EQ(target.run(files[i]), 0);
            for (std::uint64_t seed = 0; seed < kDamagedPerFile; ++seed) {
                Rng rng(seed, i);
                EXPECT_EQ(target.run(damage(files[i], rng)), 0);
            }
        }
        for (std::uint64_t seed = 0; seed < kNoisePerTarget; ++seed) {
            Rng rng(seed, 1);
            ByteVector noise(rng.below(target.max_bytes));
            for (std::byte& byte : noise) byte = static_cast<std::byte>(rng.next());
            EXPECT_EQ(target.run(noise), 0);
        }
    }
}

}  // namespace
}  // namespace refit
