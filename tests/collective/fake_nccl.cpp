// A library of NCCL's interface without a GPU: ranks are processes over a shared file, a stream is
// the queue of host memory (engine/collective/memory.hpp). It exists to be strict about the calls.
//
// Strict   a size, type, kind or root that differs between two ends, a peer that is none, a group
//          that was not started: errors. What nobody answers stays in progress for good.
// Faults   REFIT_FAKE_NCCL="KIND,RANK,GROUP[,MS]": at its GROUP-th group, counted from 1, rank
//          RANK of the first communicator does KIND: kill (the process), error (of the library),
//          stall (for good), delay (by MS). Kind init: GROUP counts communicators.
#include <fcntl.h>
#include <nccl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

constexpr unsigned kRanks = 8;
constexpr std::size_t kBoxBytes = 8192;

enum Kind : std::uint32_t { kSend = 1, kBroadcast = 2 };

struct Box {  // from one rank to another; one piece at a time
    std::atomic<std::uint32_t> full;
    std::uint32_t kind, type, root;
    std::uint64_t total, bytes;
    std::array<unsigned char, kBoxBytes> data;
};

struct Shared {
    std::atomic<std::uint32_t> size, attached, error;
    std::array<std::array<Box, kRanks>, kRanks> boxes;  // [from][to]
};

struct Move {
    bool out;
    std::uint32_t kind, type, root;
    unsigned peer;
    unsigned char* at;
    std::uint64_t total, moved;
    bool complete;
};

struct Group {
    std::vector<Move> moves;
    std::atomic<unsigned>* queue;
    unsigned long number = 0;
};

struct Fault {
    std::string kind;
    int rank = -1;
    unsigned long at = 0;
    long milliseconds = 0;
};

Fault read_fault() {
    Fault fault;
    const char* text = std::getenv("REFIT_FAKE_NCCL");
    std::array<char, 16> kind{};
    if (text != nullptr && std::sscanf(text, "%15[a-z],%d,%lu,%ld", kind.data(), &fault.rank,
                                       &fault.at, &fault.milliseconds) >= 3)
        fault.kind = kind.data();
    return fault;
}

struct Process {
    unsigned long groups = 0;
    unsigned long comms = 0;
    int depth = 0;
    bool broken = false;  // a call in the open group was refused
    std::vector<std::pair<ncclComm_t, Group>> open;
};

Process& process() {
    static Process only;
    return only;
}

std::size_t width(ncclDataType_t type) {
    switch (type) {
        case ncclInt8:
        case ncclUint8:
            return 1;
        case ncclFloat16:
        case ncclBfloat16:
            return 2;
        case ncclInt32:
        case ncclUint32:
        case ncclFloat32:
            return 4;
        default:
            return 8;
    }
}

void sleep_microseconds(long count) {
    std::this_thread::sleep_for(std::chrono::microseconds(count));
}

}  // namespace

struct ncclComm {
    Shared* shared = nullptr;
    unsigned rank = 0;
    unsigned size = 0;
    unsigned long number = 0;  // of the process
    std::atomic<bool> aborted{false};
    std::atomic<int> state{ncclInProgress};
    std::atomic<unsigned> unfinished{0};
    bool finalized = false;
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<Group> groups;
    std::thread worker;

    void set_error(ncclResult_t result) {
        int none = ncclSuccess;
        if (!state.compare_exchange_strong(none, result)) {
            none = ncclInProgress;
            state.compare_exchange_strong(none, result);
        }
    }

    void run();
    void run_group(Group& group);
    bool step(Move& move);
    void misuse() {
        shared->error.store(ncclInvalidUsage);
        set_error(ncclInvalidUsage);
    }
};

/// True if something moved.
bool ncclComm::step(Move& move) {
    Box& box = move.out ? shared->boxes[rank][move.peer] : shared->boxes[move.peer][rank];
    const bool full = box.full.load(std::memory_order_acquire) != 0;
    if (full == move.out) return false;
    const std::uint64_t rest = move.total - move.moved;
    if (move.out) {
        box.kind = move.kind;
        box.type = move.type;
        box.root = move.root;
        box.total = move.total;
        box.bytes = std::min<std::uint64_t>(rest, kBoxBytes);
        std::memcpy(box.data.data(), move.at + move.moved, box.bytes);
    } else {
        if (box.kind != move.kind || box.type != move.type || box.root != move.root ||
            box.total != move.total) {
            misuse();
            return false;
        }
        std::memcpy(move.at + move.moved, box.data.data(), box.bytes);
    }
    move.moved += box.bytes;
    move.complete = move.moved == move.total;
    box.full.store(move.out ? 1 : 0, std::memory_order_release);
    return true;
}

void ncclComm::run_group(Group& group) {
    while (!aborted.load() && state.load() == ncclSuccess) {
        bool all = true;
        bool moved = false;
        std::array<std::array<bool, 2>, kRanks> busy{};  // in order between two ranks
        for (Move& move : group.moves) {
            if (move.complete || busy[move.peer][move.out ? 1 : 0]) continue;
            moved = step(move) || moved;
            busy[move.peer][move.out ? 1 : 0] = !move.complete;
            all = all && move.complete;
        }
        if (all) break;
        if (shared->error.load() != 0) set_error(ncclInvalidUsage);
        if (!moved) sleep_microseconds(20);
    }
}

void ncclComm::run() {
    while (!aborted.load() && shared->attached.load() < size) sleep_microseconds(50);
    int starting = ncclInProgress;
    if (!aborted.load()) state.compare_exchange_strong(starting, ncclSuccess);
    while (true) {
        Group group;
        {
            std::unique_lock lock(mutex);
            changed.wait(lock, [&] { return aborted.load() || finalized || !groups.empty(); });
            if (groups.empty()) return;
            group = std::move(groups.front());
            groups.pop_front();
        }
        const Fault fault = read_fault();
        const bool here =
            fault.rank == static_cast<int>(rank) && group.number == fault.at && number == 1;
        if (here && fault.kind == "kill") raise(SIGKILL);
        if (here && fault.kind == "delay") sleep_microseconds(fault.milliseconds * 1000);
        if (here && fault.kind == "error") set_error(ncclInternalError);
        if (here && fault.kind == "stall") {
            shared->boxes[rank][rank].full = 1;  // and nobody ever takes it
            group.moves.push_back({true, kSend, 0, 0, rank, nullptr, 1, 0, false});
        }
        run_group(group);
        unfinished.fetch_sub(1);
        group.queue->fetch_sub(1, std::memory_order_release);
    }
}

namespace {

void stop(ncclComm_t comm) {
    {
        const std::lock_guard lock(comm->mutex);
        comm->finalized = true;
    }
    comm->changed.notify_all();
    comm->worker.join();
    munmap(comm->shared, sizeof(Shared));
    delete comm;
}

ncclResult_t launch(ncclComm_t comm, Group group) {
    const auto state = static_cast<ncclResult_t>(comm->state.load());
    if (state != ncclSuccess && state != ncclInProgress) return state;
    group.number = ++process().groups;
    group.queue->fetch_add(1);
    comm->unfinished.fetch_add(1);
    {
        const std::lock_guard lock(comm->mutex);
        comm->groups.push_back(std::move(group));
    }
    comm->changed.notify_all();
    return ncclInProgress;
}

/// Joins the open group, or is one of its own.
ncclResult_t add(ncclComm_t comm, cudaStream_t stream, std::vector<Move> moves) {
    auto* const queue = reinterpret_cast<std::atomic<unsigned>*>(stream);
    if (process().depth == 0) return launch(comm, Group{std::move(moves), queue, 0});
    auto& open = process().open;
    const auto found = std::find_if(open.begin(), open.end(),
                                    [&](const auto& entry) { return entry.first == comm; });
    if (found == open.end()) {
        open.emplace_back(comm, Group{std::move(moves), queue, 0});
    } else {
        found->second.moves.insert(found->second.moves.end(), moves.begin(), moves.end());
    }
    return ncclSuccess;
}

ncclResult_t refuse(ncclResult_t result) {
    process().broken = process().depth > 0;
    return result;
}

bool is_peer(ncclComm_t comm, int peer) {
    return comm != nullptr && peer >= 0 && static_cast<unsigned>(peer) < comm->size;
}

Move make_move(bool out, const void* at, std::size_t count, ncclDataType_t type, int peer) {
    auto* const bytes = static_cast<unsigned char*>(const_cast<void*>(at));
    const std::uint64_t total = count * width(type);
    return {out,
            kSend,
            static_cast<std::uint32_t>(type),
            0,
            static_cast<unsigned>(peer),
            bytes,
            total,
            0,
            total == 0};
}

}  // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
    *version = NCCL_VERSION(2, 18, 5);
    return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
    switch (result) {
        case ncclSuccess:
            return "no error";
        case ncclSystemError:
            return "unhandled system error";
        case ncclInternalError:
            return "internal error";
        case ncclInvalidArgument:
            return "invalid argument";
        case ncclInvalidUsage:
            return "invalid usage";
        default:
            return "another error";
    }
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
    const char* folder = std::getenv("REFIT_FAKE_NCCL_FOLDER");
    std::string name = std::string(folder == nullptr ? "/tmp" : folder) + "/nccl-XXXXXX";
    if (name.size() >= sizeof id->internal) return ncclInvalidArgument;
    const int file = mkstemp(name.data());
    if (file < 0 || ftruncate(file, sizeof(Shared)) != 0) return ncclSystemError;
    close(file);
    *id = {};
    std::memcpy(id->internal, name.data(), name.size());
    return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(
    ncclComm_t* comm, int size, ncclUniqueId id, int rank, ncclConfig_t* config) {
    if (comm == nullptr || config == nullptr || config->blocking != 0) return ncclInvalidArgument;
    if (size < 1 || size > static_cast<int>(kRanks) || rank < 0 || rank >= size)
        return ncclInvalidArgument;
    const Fault fault = read_fault();
    if (++process().comms == fault.at && fault.kind == "init" && fault.rank == rank)
        return ncclSystemError;
    id.internal[sizeof id.internal - 1] = 0;
    const int file = open(id.internal, O_RDWR | O_CLOEXEC);
    if (file < 0) return ncclInvalidArgument;
    void* const at = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (at == MAP_FAILED) return ncclSystemError;
    auto made = new ncclComm;
    made->shared = static_cast<Shared*>(at);
    made->rank = static_cast<unsigned>(rank);
    made->size = static_cast<unsigned>(size);
    made->number = process().comms;
    std::uint32_t unset = 0;
    if (!made->shared->size.compare_exchange_strong(unset, made->size) && unset != made->size)
        made->misuse();
    if (++made->shared->attached == made->size) unlink(id.internal);
    made->worker = std::thread([made] { made->run(); });
    *comm = made;
    return ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* result) {
    if (comm == nullptr || result == nullptr) return ncclInvalidArgument;
    const int state = comm->state.load();
    *result = static_cast<ncclResult_t>(state);
    return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
    if (comm == nullptr || process().depth > 0) return ncclInvalidUsage;
    return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
    if (comm == nullptr || comm->unfinished.load() > 0) return ncclInvalidUsage;
    stop(comm);
    return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
    if (comm == nullptr) return ncclInvalidArgument;
    comm->aborted.store(true);
    stop(comm);
    return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
    ++process().depth;
    return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
    Process& mine = process();
    if (mine.depth == 0) return ncclInvalidUsage;
    if (--mine.depth > 0) return ncclSuccess;
    const auto open = std::exchange(mine.open, {});
    if (std::exchange(mine.broken, false)) return ncclInvalidUsage;
    ncclResult_t result = ncclSuccess;
    for (const auto& [comm, group] : open) result = launch(comm, group);
    return result;
}

ncclResult_t ncclSend(const void* from,
                      size_t count,
                      ncclDataType_t type,
                      int peer,
                      ncclComm_t comm,
                      cudaStream_t stream) {
    if (!is_peer(comm, peer) || from == nullptr || stream == nullptr)
        return refuse(ncclInvalidArgument);
    return add(comm, stream, {make_move(true, from, count, type, peer)});
}

ncclResult_t ncclRecv(
    void* to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream) {
    if (!is_peer(comm, peer) || to == nullptr || stream == nullptr)
        return refuse(ncclInvalidArgument);
    return add(comm, stream, {make_move(false, to, count, type, peer)});
}

ncclResult_t ncclBroadcast(const void* from,
                           void* to,
                           size_t count,
                           ncclDataType_t type,
                           int root,
                           ncclComm_t comm,
                           cudaStream_t stream) {
    if (!is_peer(comm, root) || from == nullptr || to == nullptr || stream == nullptr)
        return refuse(ncclInvalidArgument);
    std::vector<Move> moves;
    const bool out = comm->rank == static_cast<unsigned>(root);
    for (unsigned rank = 0; rank < comm->size; ++rank) {
        if (rank == comm->rank || (!out && rank != static_cast<unsigned>(root))) continue;
        Move move = make_move(out, out ? from : to, count, type, static_cast<int>(rank));
        move.kind = kBroadcast;
        move.root = static_cast<std::uint32_t>(root);
        moves.push_back(move);
    }
    return add(comm, stream, std::move(moves));
}

}  // extern "C"
