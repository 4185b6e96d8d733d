#include "app/bench/codec_rows.hpp"

#include <benchmark/benchmark.h>

#include <CLI/Error.hpp>
#include <algorithm>
#include <array>
#include <iostream>
#include <map>
#include <sstream>

#include "app/bench/codec_pass.hpp"
#include "app/progress.hpp"

namespace refit {
namespace {

/// Three repetitions of one pass each keep all default rows within a minute.
constexpr const char* kDefaultFlags[] = {"--benchmark_min_time=0.000001",
                                         "--benchmark_repetitions=3"};
constexpr const char* kManualTime = "/manual_time";  // what the library appends to our names

constexpr const char* kSeconds[] = {"encode_seconds", "compare_seconds", "decode_seconds",
                                    "copy_seconds"};

/// Hands flags to the library. What it would print about them becomes the usage error.
void set_library_flags(const std::vector<std::string>& flags) {
    std::vector<std::string> words{"refit"};
    words.insert(words.end(), flags.begin(), flags.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    int argc = static_cast<int>(argv.size());

    const std::ostringstream said;
    std::streambuf* const before = std::cerr.rdbuf(said.rdbuf());
    benchmark::Initialize(&argc, argv.data());
    std::cerr.rdbuf(before);
    if (argc > 1) {
        throw CLI::ValidationError(said.str().empty()
                                       ? std::string("Google Benchmark has no flag ") + argv[1]
                                       : said.str());
    }
}

double median(std::vector<double> values) {
    if (values.empty()) return 0;
    const std::size_t middle = values.size() / 2;
    std::ranges::sort(values);
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

/// Collects what each repetition measured, by row name, and prints nothing.
class Collector final : public benchmark::BenchmarkReporter {
public:
    using Seconds = std::array<std::vector<double>, std::size(kSeconds)>;

    explicit Collector(std::function<void(const std::string&)> finished)
        : finished_(std::move(finished)) {
        SetOutputStream(&output_);
        SetErrorStream(&output_);
    }

    bool ReportContext(const Context& /*context*/) override { return true; }

    void ReportRuns(const std::vector<Run>& runs) override {
        for (const Run& run : runs) {
            if (run.run_type != Run::RT_Iteration) continue;
            const std::string& name = run.run_name.function_name;
            for (std::size_t i = 0; i < std::size(kSeconds); ++i) {
                const auto found = run.counters.find(kSeconds[i]);
                if (found != run.counters.end()) seconds_[name][i].push_back(found->second.value);
            }
            if (run.repetition_index + 1 >= run.repetitions) finished_(name);
        }
    }

    std::string said() const { return output_.str(); }
    const Seconds& seconds_of(const std::string& name) { return seconds_[name]; }

private:
    std::function<void(const std::string&)> finished_;
    std::ostringstream output_;
    std::map<std::string, Seconds> seconds_;
};

/// The names that the library's filter leaves, in the order of registration.
std::vector<std::string> matching_names(const std::vector<std::string>& flags) {
    std::vector<std::string> all(std::begin(kDefaultFlags), std::end(kDefaultFlags));
    all.insert(all.end(), flags.begin(), flags.end());
    all.emplace_back("--benchmark_list_tests=true");
    set_library_flags(all);
    Collector collector([](const std::string&) {});
    const std::size_t count = benchmark::RunSpecifiedBenchmarks(&collector);
    // Rows are made of the repetitions, whatever the library is told to show of them.
    set_library_flags({"--benchmark_list_tests=false", "--benchmark_report_aggregates_only=false",
                       "--benchmark_display_aggregates_only=false"});
    if (count == 0) {
        throw CLI::ValidationError("Google Benchmark runs no row with these flags. " +
                                   collector.said());
    }
    std::vector<std::string> names;
    std::istringstream lines(collector.said());
    for (std::string line; std::getline(lines, line);)
        names.push_back(line.substr(0, line.find(kManualTime)));
    return names;
}

class CodecRows {
public:
    CodecRows(const Console& console, Device& device, const std::vector<BenchSample>& samples)
        : console_(console), device_(device), samples_(samples) {}
    CodecRows(const CodecRows&) = delete;
    CodecRows& operator=(const CodecRows&) = delete;
    ~CodecRows() { benchmark::ClearRegisteredBenchmarks(); }

    void add(std::size_t sample, const Codec& codec) {
        const std::string name = std::string(codec.name()) + "/" + samples_[sample].name;
        BenchRow& row = rows_[name];
        row.name = name;
        row.codec = codec.name();
        row.sample = sample;
        benchmark::RegisterBenchmark(name.c_str(), [this, &row, &codec](benchmark::State& state) {
            measure(state, row, codec);
        })->UseManualTime();
    }

    std::vector<BenchRow> run(const std::vector<std::string>& flags) {
        const std::vector<std::string> names = matching_names(flags);
        Bytes total;
        for (const std::string& name : names) total += size_of(words_of(name));
        Progress progress(console_, "bench", total);
        Collector collector(
            [&](const std::string& name) { progress.advance(size_of(words_of(name))); });
        benchmark::RunSpecifiedBenchmarks(&collector);
        return collect(names, collector);
    }

private:
    Words words_of(const std::string& name) const {
        return Words{samples_[rows_.at(name).sample].words};
    }

    void measure(benchmark::State& state, BenchRow& row, const Codec& codec) {
        console_.check_interrupt();
        CodecPass& pass = pass_of(row.sample);
        if (row.words == 0) check(pass, codec, row);
        if (!row.exact) {
            state.SkipWithError("not exact");
            return;
        }
        std::array<std::vector<double>, std::size(kSeconds)> passes;
        for (const auto unused : state) {
            (void)unused;
            console_.check_interrupt();
            const PassSeconds seconds = pass.run(codec);
            state.SetIterationTime(seconds.encode + seconds.decode);
            const double each[] = {seconds.encode, seconds.compare, seconds.decode, seconds.copy};
            for (std::size_t i = 0; i < passes.size(); ++i) passes[i].push_back(each[i]);
        }
        compare_is_right_[row.sample] = pass.compare_is_right();
        copy_is_right_[row.sample] = pass.copy_is_right();
        for (std::size_t i = 0; i < passes.size(); ++i)
            state.counters[kSeconds[i]] = median(std::move(passes[i]));
    }

    void check(CodecPass& pass, const Codec& codec, BenchRow& row) {
        const ChangeStats& stats = pass.stats();
        const CodecCheck checked = pass.check(codec);
        const auto words = static_cast<double>(stats.words);
        row.words = stats.words;
        row.changed = static_cast<double>(stats.changed) / words;
        row.bits_per_parameter = static_cast<double>(checked.container_bytes) * 8 / words;
        row.bound_bits_per_parameter = stats.bound_bits / words;
        row.exact = checked.exact();
        row.failure = checked.failure;
        if (checked.mismatches > 0)
            row.failure = std::to_string(checked.mismatches) + " decoded words differ";
    }

    CodecPass& pass_of(std::size_t sample) {
        if (pass_ == nullptr || pass_sample_ != sample) {
            pass_.reset();
            pass_ = std::make_unique<CodecPass>(device_, samples_[sample].make());
            pass_sample_ = sample;
        }
        return *pass_;
    }

    std::vector<BenchRow> collect(const std::vector<std::string>& names, Collector& collector) {
        std::vector<BenchRow> rows;
        for (std::size_t sample = 0; sample < samples_.size(); ++sample) {
            std::vector<double> compares;
            std::vector<double> copies;
            const std::size_t first = rows.size();
            for (const std::string& name : names) {
                BenchRow& row = rows_.at(name);
                if (row.sample != sample || row.words == 0) continue;
                row.rates = rates_of(row, collector.seconds_of(name));
                if (row.rates.compare > 0) compares.push_back(row.rates.compare);
                if (row.rates.copy > 0) copies.push_back(row.rates.copy);
                rows.push_back(row);
            }
            if (compares.empty()) continue;
            rows.push_back(machine_row(BenchRowKind::compare, rows[first]));
            rows.back().rates.compare = median(compares);
            rows.push_back(machine_row(BenchRowKind::copy, rows[first]));
            rows.back().rates.copy = median(copies);
        }
        return rows;
    }

    static BytesPerSecondRates rates_of(const BenchRow& row, const Collector::Seconds& seconds) {
        const double bytes = static_cast<double>(row.words) * 2;
        const auto rate = [&](std::size_t i) {
            const double middle = median(seconds[i]);
            return middle > 0 ? bytes / middle : 0;
        };
        return {.encode = rate(0), .decode = rate(2), .compare = rate(1), .copy = rate(3)};
    }

    BenchRow machine_row(BenchRowKind kind, const BenchRow& like) const {
        const bool compare = kind == BenchRowKind::compare;
        BenchRow row;
        row.kind = kind;
        row.name = (compare ? "compare/" : "copy/") + samples_[like.sample].name;
        row.sample = like.sample;
        row.words = like.words;
        row.changed = like.changed;
        row.exact = (compare ? compare_is_right_ : copy_is_right_).at(like.sample);
        return row;
    }

    const Console& console_;
    Device& device_;
    const std::vector<BenchSample>& samples_;
    std::map<std::string, BenchRow> rows_;
    std::unique_ptr<CodecPass> pass_;  // of the sample whose rows run now
    std::size_t pass_sample_ = 0;
    std::map<std::size_t, bool> compare_is_right_;
    std::map<std::size_t, bool> copy_is_right_;
};

}  // namespace

std::vector<BenchRow> measure_codecs(const Console& console,
                                     Device& device,
                                     const std::vector<BenchSample>& samples,
                                     const std::vector<const Codec*>& codecs,
                                     const std::vector<std::string>& flags) {
    CodecRows rows(console, device, samples);
    for (std::size_t sample = 0; sample < samples.size(); ++sample)
        for (const Codec* codec : codecs) rows.add(sample, *codec);
    return rows.run(flags);
}

}  // namespace refit
