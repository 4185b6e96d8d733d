// What the tests of collectives share: bytes that say whose they are, and ranks as processes whose
// bodies report what they found.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "engine/base/rng.hpp"
#include "engine/collective/collective.hpp"
#include "engine/collective/memory.hpp"
#include "engine/collective/rank_processes.hpp"
#include "engine/collective/socket_collective.hpp"

namespace refit {

/// Bytes that no other rank, round or place has.
inline std::vector<std::byte> pattern(unsigned rank, std::uint64_t round, std::size_t size) {
    std::vector<std::byte> bytes(size);
    for (std::size_t i = 0; i < size; ++i)
        bytes[i] = static_cast<std::byte>(draw(round, rank, i / 8) >> (8 * (i % 8)));
    return bytes;
}

/// Ragged on purpose: rank r of a round has so many bytes, sometimes none.
inline std::size_t ragged(unsigned rank, std::uint64_t round, std::size_t limit) {
    const std::uint64_t drawn = draw(round, 1000 + rank, 0);
    return drawn % 5 == 0 ? 0 : drawn / 8 % (limit + 1);
}

/// One gather and one fan-out of the round, in the host's memory or a collective's; "" if exact,
/// else what went wrong. `lost` takes a loss.
inline std::string exchange(Collective& all,
                            CollectiveMemory& memory,
                            std::uint64_t round,
                            std::size_t limit,
                            MaybeLoss& lost) {
    const auto ranks = all.ranks();
    const unsigned owner = ranks[round % ranks.size()];
    const auto mine = pattern(all.self(), round, ragged(all.self(), round, limit));
    const MemoryBlock out(memory, mine.size());
    memory.write(out.bytes().data(), mine);
    std::vector<std::unique_ptr<MemoryBlock>> blocks;
    std::vector<std::span<std::byte>> parts;
    for (const unsigned rank : ranks) {
        if (all.self() != owner) break;
        const std::size_t size = ragged(rank, round, limit);
        blocks.push_back(std::make_unique<MemoryBlock>(memory, size));
        memory.write(blocks.back()->bytes().data(), std::vector<std::byte>(size, std::byte{0xA5}));
        parts.push_back(blocks.back()->bytes());
    }
    if ((lost = all.gather(owner, out.bytes(), parts))) return "";
    for (std::size_t i = 0; i < parts.size(); ++i) {
        std::vector<std::byte> got(parts[i].size());
        memory.read(got, parts[i].data());
        if (got != pattern(ranks[i], round, got.size()))
            return "gather: wrong bytes of rank " + std::to_string(ranks[i]);
    }
    const std::size_t size = ragged(77, round, limit);
    const auto whole = pattern(99, round, size);
    const MemoryBlock fan(memory, size);
    memory.write(fan.bytes().data(),
                 all.self() == owner ? whole : std::vector<std::byte>(size, std::byte{0x5A}));
    if ((lost = all.fan_out(owner, fan.bytes()))) return "";
    std::vector<std::byte> got(size);
    memory.read(got, fan.bytes().data());
    return got == whole ? "" : "fan-out: wrong bytes";
}

inline std::string ranks_text(std::span<const unsigned> ranks) {
    std::string text;
    for (const unsigned rank : ranks) text += (text.empty() ? "" : " ") + std::to_string(rank);
    return text;
}

/// Rounds of exchange until `rounds` are done, going on after every loss. The text: losses, then
/// who is left.
inline std::string rounds_text(Collective& all,
                               CollectiveMemory& memory,
                               std::uint64_t rounds,
                               std::size_t limit,
                               const std::function<void(std::uint64_t)>& before = {}) {
    std::string text;
    std::uint64_t round = 0;
    while (round < rounds) {
        if (before) before(round);
        MaybeLoss lost;
        const std::string wrong = exchange(all, memory, round, limit, lost);
        if (!wrong.empty()) return "round " + std::to_string(round) + ": " + wrong;
        if (lost) {
            text += lost->text() + "\n";
            all.rebuild();
            // Ranks may have been a round apart: the lowest says which one it is.
            std::uint64_t common = round;
            const auto bytes = std::as_writable_bytes(std::span(&common, 1));
            if (const MaybeLoss loss = all.fan_out(all.ranks().front(), bytes)) continue;
            round = common;
            continue;
        }
        ++round;
    }
    if (const MaybeLoss loss = all.finish()) text += loss->text() + "\n";
    return text + "left " + ranks_text(all.ranks());
}

inline void expect_clean(const std::vector<RankEnd>& ends, std::vector<unsigned> killed = {}) {
    for (unsigned rank = 0; rank < ends.size(); ++rank) {
        if (std::ranges::find(killed, rank) != killed.end()) {
            EXPECT_EQ(ends[rank].signal, SIGKILL) << rank << ": " << ends[rank].text;
        } else {
            EXPECT_TRUE(ends[rank].clean)
                << rank << ": " << ends[rank].text << ", signal " << ends[rank].signal;
        }
    }
}

}  // namespace refit
