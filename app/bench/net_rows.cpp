#include "app/bench/net_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "app/host.hpp"
#include "engine/base/result.hpp"
#include "engine/base/rng.hpp"
#include "engine/collective/rank_processes.hpp"

namespace refit {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kSlice = std::size_t{1} << 20;
constexpr std::byte kPoison{0xA5};

/// Random bytes that no other rank or round has, a slice at a time.
void make_slice(std::uint64_t key, std::uint64_t offset, std::span<std::byte> slice) {
    for (std::size_t i = 0; i < slice.size(); i += sizeof(std::uint64_t)) {
        const std::uint64_t bits = mix64(key + (offset + i) * 0x9E3779B97F4A7C15u);
        std::memcpy(&slice[i], &bits, std::min(sizeof bits, slice.size() - i));
    }
}

std::uint64_t wrong_words(std::span<const std::byte> a, std::span<const std::byte> b) {
    if (std::ranges::equal(a, b)) return 0;
    std::uint64_t wrong = 0;
    for (std::size_t i = 0; i < a.size(); i += 2)
        wrong += a[i] != b[i] || a[i + 1] != b[i + 1] ? 1 : 0;
    return wrong;
}

void must(const MaybeLoss& loss) {
    if (loss) throw MachineError(loss->text());
}

/// One rank of the bench: it makes, moves and compares.
class NetRank {
public:
    NetRank(NetWorld world, const NetPlan& plan)
        : world_(std::move(world)),
          all_(world_.all()),
          memory_(*world_.memory),
          plan_(plan),
          slice_(std::min<std::uint64_t>(kSlice, plan.largest)),
          expected_(slice_.size()) {}

    std::string run() {
        Json rows = Json::array();
        for (const bool gathers : {false, true})
            for (std::uint64_t bytes = kNetSmallest; bytes <= plan_.largest; bytes *= 4)
                rows.push_back(row(gathers, bytes));
        must(all_.finish());
        const Json text = {
            {"version", world_.version}, {"memory", memory_.detail()}, {"rows", rows}};
        return text.dump();
    }

private:
    struct Span {
        Nanoseconds start;
        Nanoseconds end;
    };

    Json row(bool gathers, std::uint64_t bytes) {
        constexpr std::uint64_t kEnough = std::uint64_t{32} << 20;
        const std::uint64_t rounds = std::clamp<std::uint64_t>(kEnough / bytes, 3, 25);
        checked_ = 0;
        wrong_ = 0;
        Json starts = Json::array();
        Json ends = Json::array();
        Json device = Json::array();
        for (std::uint64_t round = 0; round <= rounds; ++round) {
            const unsigned owner = all_.ranks()[round % plan_.ranks];
            const Span time = gathers ? gather(owner, round, bytes) : fan_out(owner, round, bytes);
            if (round == 0) continue;
            starts.push_back(time.start.count);
            ends.push_back(time.end.count);
            if (const auto marked = memory_.marked_seconds()) device.push_back(*marked);
        }
        return {{"operation", gathers ? "gather" : "fan-out"},
                {"bytes", bytes},
                {"starts", starts},
                {"ends", ends},
                {"device", device},
                {"checked", checked_},
                {"wrong", wrong_}};
    }

    Span fan_out(unsigned owner, std::uint64_t round, std::uint64_t bytes) {
        const MemoryBlock block(memory_, bytes);
        const std::uint64_t words = key(owner, round, bytes);
        fill(block.bytes(), all_.self() == owner, words);
        const Span time = timed([&] { return all_.fan_out(owner, block.bytes()); });
        if (all_.self() != owner) compare(block.bytes(), words);
        return time;
    }

    Span gather(unsigned owner, std::uint64_t round, std::uint64_t bytes) {
        const auto start = [&](unsigned rank) { return bytes / 2 * rank / plan_.ranks * 2; };
        const auto size = [&](unsigned rank) { return start(rank + 1) - start(rank); };
        const MemoryBlock mine(memory_, size(all_.self()));
        fill(mine.bytes(), true, key(all_.self(), round, bytes));
        const bool owns = all_.self() == owner;
        const MemoryBlock whole(memory_, owns ? bytes : 0);
        fill(whole.bytes(), false, 0);
        std::vector<std::span<std::byte>> parts;
        for (unsigned rank = 0; owns && rank < plan_.ranks; ++rank)
            parts.push_back(whole.bytes().subspan(start(rank), size(rank)));
        const Span time = timed([&] { return all_.gather(owner, mine.bytes(), parts); });
        for (unsigned rank = 0; rank < parts.size(); ++rank)
            compare(parts[rank], key(rank, round, bytes));
        return time;
    }

    std::uint64_t key(unsigned rank, std::uint64_t round, std::uint64_t bytes) const {
        return draw(plan_.seed + bytes, rank, round);
    }

    Span timed(const std::function<MaybeLoss()>& call) {
        must(all_.barrier());
        const Nanoseconds start = host_now();
        must(call());
        return {start, host_now()};
    }

    void fill(std::span<std::byte> block, bool random, std::uint64_t words) {
        if (!random) std::ranges::fill(slice_, kPoison);
        for (std::size_t at = 0; at < block.size(); at += slice_.size()) {
            const auto slice = std::span(slice_).first(std::min(slice_.size(), block.size() - at));
            if (random) make_slice(words, at, slice);
            memory_.write(&block[at], slice);
        }
    }

    void compare(std::span<const std::byte> block, std::uint64_t words) {
        for (std::size_t at = 0; at < block.size(); at += slice_.size()) {
            const std::size_t size = std::min(slice_.size(), block.size() - at);
            const auto got = std::span(slice_).first(size);
            const auto expected = std::span(expected_).first(size);
            memory_.read(got, &block[at]);
            make_slice(words, at, expected);
            wrong_ += wrong_words(got, expected);
        }
        checked_ += block.size() / 2;
    }

    NetWorld world_;
    Collective& all_;
    CollectiveMemory& memory_;
    NetPlan plan_;
    std::vector<std::byte> slice_;
    std::vector<std::byte> expected_;
    std::uint64_t checked_ = 0;
    std::uint64_t wrong_ = 0;
};

/// What a rank says of itself is worth more than what the others saw of it.
void throw_failure(const std::vector<RankEnd>& ends) {
    std::string found;
    for (std::size_t rank = 0; rank < ends.size(); ++rank) {
        if (ends[rank].clean) continue;
        const std::string text =
            ends[rank].signal == 0
                ? ends[rank].text
                : fmt::format("rank {} was ended by signal {}", rank, ends[rank].signal);
        const bool of_another = text.starts_with("rank ") && ends[rank].signal == 0;
        if (found.empty() || !of_another) found = text;
        if (!of_another) break;
    }
    if (!found.empty()) throw MachineError("bench net: " + found);
}

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    return *middle;
}

/// One number of each round from those of the ranks.
template <class Number, class Choose>
std::vector<Number> each_round(const std::vector<Json>& ranks,
                               std::size_t row,
                               const char* what,
                               Choose choose) {
    auto rounds = ranks.front()["rows"][row][what].get<std::vector<Number>>();
    for (const Json& rank : ranks)
        for (std::size_t i = 0; i < rounds.size(); ++i)
            rounds[i] = choose(rounds[i], rank["rows"][row][what][i].get<Number>());
    return rounds;
}

constexpr auto kLeast = [](auto a, auto b) { return std::min(a, b); };
constexpr auto kMost = [](auto a, auto b) { return std::max(a, b); };

/// The clock is one for all processes of the machine.
double median_seconds(const std::vector<Json>& ranks, std::size_t row) {
    const auto starts = each_round<std::int64_t>(ranks, row, "starts", kLeast);
    const auto ends = each_round<std::int64_t>(ranks, row, "ends", kMost);
    std::vector<double> rounds;
    for (std::size_t i = 0; i < starts.size(); ++i)
        rounds.push_back(to_seconds(Nanoseconds{ends[i] - starts[i]}));
    return median(std::move(rounds));
}

NetRow joined(const std::vector<Json>& ranks, std::size_t index) {
    const Json& first = ranks.front()["rows"][index];
    NetRow row;
    row.operation = first["operation"];
    row.bytes = first["bytes"];
    row.rounds = first["starts"].size();
    row.seconds = median_seconds(ranks, index);
    auto device = each_round<double>(ranks, index, "device", kMost);
    if (!device.empty()) row.device_seconds = median(std::move(device));
    row.algbw = static_cast<double>(row.bytes) / row.seconds;
    const auto count = static_cast<double>(ranks.size());
    row.busbw = row.operation == "gather" ? row.algbw * (count - 1) / count : row.algbw;
    for (const Json& rank : ranks) {
        row.checked += rank["rows"][index]["checked"].get<std::uint64_t>();
        row.wrong += rank["rows"][index]["wrong"].get<std::uint64_t>();
    }
    return row;
}

}  // namespace

bool NetRows::exact() const {
    return std::ranges::all_of(rows, [](const NetRow& row) { return row.wrong == 0; });
}

NetRows measure_net(const Console& console, const NetPlan& plan, const NetSetup& setup) {
    REFIT_ASSERT(plan.largest >= kNetSmallest);
    const auto body = [&](SocketMesh mesh) { return NetRank(setup(std::move(mesh)), plan).run(); };
    const auto ends = run_ranks(plan.ranks, body, [&console] { console.check_interrupt(); });
    throw_failure(ends);
    std::vector<Json> ranks;
    for (const RankEnd& end : ends) ranks.push_back(Json::parse(end.text));
    NetRows net;
    net.version = ranks.front()["version"];
    net.memory = ranks.front()["memory"];
    for (std::size_t i = 0; i < ranks.front()["rows"].size(); ++i)
        net.rows.push_back(joined(ranks, i));
    return net;
}

}  // namespace refit
