#include "app/bench/net_bench.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/format.hpp"
#include "app/host.hpp"
#include "engine/collective/nccl_collective.hpp"
#include "engine/collective/socket_collective.hpp"
#include "scenarios/scenario.hpp"

namespace refit {
namespace {

using Json = nlohmann::ordered_json;

constexpr Nanoseconds kDeadline = 60_s;
constexpr unsigned kNetRanksMax = 16;
constexpr std::string_view kRow = "{:<10} {:>10} {:>7} {:>12} {:>9} {:>9} {:>7}";

NetWorld socket_world(SocketMesh mesh) {
    NetWorld world;
    world.memory = make_host_memory();
    world.sockets = std::make_unique<SocketCollective>(std::move(mesh), kDeadline);
    return world;
}

/// Ranks of one GPU must look like several machines to NCCL, which then goes over the loopback.
void pretend_hosts(unsigned rank) {
    setenv("NCCL_HOSTID", fmt::format("refit-rank-{}", rank).c_str(), 1);
    setenv("NCCL_P2P_DISABLE", "1", 1);
    setenv("NCCL_NET", "Socket", 1);
    setenv("NCCL_SOCKET_IFNAME", "lo", 1);
}

NetWorld nccl_world(SocketMesh mesh, const NetFlags& flags) {
    const unsigned rank = mesh.self();
    if (flags.share_gpu) pretend_hosts(rank);
    const auto library = open_nccl(flags.libraries);
    const int devices = cuda_device_count();
    const unsigned needed = flags.share_gpu ? 1 : flags.ranks;
    if (devices < static_cast<int>(needed))
        throw MachineError(fmt::format("{} ranks need {} GPUs, this machine has {}", flags.ranks,
                                       needed, devices));
    NetWorld world;
    world.version = nccl_version(*library);
    world.memory = make_cuda_memory(flags.share_gpu ? 0 : static_cast<int>(rank));
    world.sockets = std::make_unique<SocketCollective>(std::move(mesh), kDeadline);
    world.nccl = make_nccl_collective(library, *world.sockets, *world.memory, kDeadline);
    return world;
}

std::string microseconds(double seconds) { return fmt::format("{:.1f} us", seconds * 1e6); }

std::string giga(double rate) { return fmt::format("{:.3f}", rate / 1e9); }

}  // namespace

void add_net_flags(CLI::App& command, NetFlags& flags) {
    command.add_option("--ranks", flags.ranks, "Of net: processes that exchange, 1 to 16")
        ->check(CLI::Range(1U, kNetRanksMax))
        ->capture_default_str();
    command.add_option("--max", flags.largest, "Of net: largest message, 1KiB to 256MiB")
        ->type_name("SIZE")
        ->capture_default_str();
    command.add_flag("--nccl", flags.nccl, "Of net: NCCL, a GPU a rank; else sockets of the CPU");
    command
        .add_option("--cuda-libs", flags.libraries,
                    "Of net: the folder of libnccl.so.2, instead of a search")
        ->type_name("DIR");
    command.add_flag("--share-gpu", flags.share_gpu,
                     "Of net --nccl: all ranks on the first GPU; checks bits, speeds mean nothing");
}

std::string net_transport(const NetFlags& flags) {
    if (!flags.nccl) return "Unix sockets between processes, host memory; no GPU figure";
    if (flags.share_gpu) return "NCCL over loopback, all ranks on one GPU; a check, no figure";
    return "NCCL between the GPUs of one machine";
}

std::vector<std::string> net_table(const NetFlags& flags,
                                   const NetRows& net,
                                   const BenchHost& host) {
    std::vector<std::string> lines;
    lines.push_back(fmt::format("{} ranks: {}", flags.ranks, net_transport(flags)));
    lines.emplace_back();
    lines.push_back(
        fmt::format(kRow, "operation", "message", "rounds", "time", "algbw", "busbw", "wrong"));
    for (const NetRow& row : net.rows)
        lines.push_back(fmt::format(kRow, row.operation, format_bytes(Bytes{row.bytes}), row.rounds,
                                    microseconds(row.seconds), giga(row.algbw), giga(row.busbw),
                                    row.wrong));
    lines.emplace_back();
    lines.emplace_back(
        "time     from the first rank in the call to the last with its result; median");
    lines.emplace_back("algbw    message / time, GB/s; busbw as nccl-tests define it: of a gather");
    lines.emplace_back("         x (ranks - 1) / ranks");
    lines.emplace_back("wrong    words that arrived with other bits, of all in all rounds");
    lines.push_back(fmt::format("machine  {}; {}; NCCL {}; measured, this machine's", host.cpu,
                                net.memory, net.version));
    return lines;
}

nlohmann::ordered_json net_document(const NetFlags& flags,
                                    const NetRows& net,
                                    const BenchHost& host) {
    Json rows = Json::array();
    for (const NetRow& row : net.rows) {
        Json entry = {{"operation", row.operation},
                      {"bytes", row.bytes},
                      {"rounds", row.rounds},
                      {"seconds", row.seconds},
                      {"device_seconds", nullptr},
                      {"algbw_bytes_per_second", row.algbw},
                      {"busbw_bytes_per_second", row.busbw},
                      {"checked", row.checked},
                      {"wrong", row.wrong}};
        if (row.device_seconds) entry["device_seconds"] = *row.device_seconds;
        rows.push_back(std::move(entry));
    }
    return {{"schema", "refit.bench/1"},
            {"rows", Json::array()},
            {"net",
             {{"collective", flags.nccl ? "nccl" : "cpu"},
              {"nccl_version", flags.nccl ? Json(net.version) : Json()},
              {"transport", net_transport(flags)},
              {"memory", net.memory},
              {"ranks", flags.ranks},
              {"provenance", "measured"},
              {"rows", std::move(rows)}}},
            {"host", host_json(host)}};
}

Result<ExitCode> bench_net(const Console& console, const NetFlags& flags, std::uint64_t seed) {
    const Nanoseconds start = host_now();
    REFIT_TRY(largest, parse_bytes(flags.largest));
    if (largest.count < kNetSmallest || largest > 256_MiB)
        return Error{ErrorCode::invalid_input, "takes 1 KiB to 256 MiB, not " + flags.largest,
                     "--max"};
    const NetPlan plan{flags.ranks, largest.count, seed};
    const NetSetup setup = [&flags](SocketMesh mesh) {
        return flags.nccl ? nccl_world(std::move(mesh), flags) : socket_world(std::move(mesh));
    };
    const NetRows net = measure_net(console, plan, setup);
    const BenchHost host{cpu_name(), net.memory, flags.ranks, to_seconds(host_now() - start)};
    for (const std::string& line : net_table(flags, net, host)) console.say(line);
    console.document(net_document(flags, net, host));
    return net.exact() ? ExitCode::success : ExitCode::mismatch;
}

}  // namespace refit
