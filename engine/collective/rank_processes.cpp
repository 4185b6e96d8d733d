#include "engine/collective/rank_processes.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "engine/base/result.hpp"

namespace refit {
namespace {

constexpr std::size_t kTextMax = std::size_t{64} << 20;

[[noreturn]] void fail(const char* what) {
    throw MachineError(std::string("a rank's process: ") + what + ": " + std::strerror(errno));
}

void write_all(int pipe, const std::string& text) {
    std::size_t done = 0;
    while (done < text.size()) {
        const ssize_t wrote = write(pipe, text.data() + done, text.size() - done);
        if (wrote < 0 && errno != EINTR) return;  // nobody listens any more
        if (wrote > 0) done += static_cast<std::size_t>(wrote);
    }
}

/// The main of a child: nothing of the parent's is unwound, flushed or run.
[[noreturn]] void child_main(SocketMesh mesh, int pipe, const RankBody& body) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int status = 0;
    try {
        write_all(pipe, body(std::move(mesh)));
    } catch (const std::exception& error) {
        write_all(pipe, error.what());
        status = 1;
    }
    _exit(status);
}

/// The children that are left; those still running when it ends are killed.
class Children {
public:
    explicit Children(std::size_t ranks) : children_(ranks) {}
    Children(const Children&) = delete;
    Children& operator=(const Children&) = delete;
    ~Children() {
        for (Child& child : children_) {
            if (child.pipe >= 0) close(child.pipe);
            if (child.process <= 0) continue;
            kill(child.process, SIGKILL);
            waitpid(child.process, nullptr, 0);
        }
    }

    void start(std::vector<SocketMesh>& meshes, std::size_t rank, const RankBody& body) {
        std::array<int, 2> ends{};
        if (pipe2(ends.data(), O_CLOEXEC) != 0) fail("pipe");
        const pid_t process = fork();
        if (process == 0) {
            SocketMesh mine = std::move(meshes[rank]);
            meshes.clear();
            for (const Child& child : children_)
                if (child.pipe >= 0) close(child.pipe);
            child_main(std::move(mine), ends[1], body);
        }
        close(ends[1]);
        children_[rank] = {process, ends[0], {}};
        if (process < 0) fail("fork");
    }

    /// Takes what has come; false once all have closed their pipes.
    bool read_some() {
        std::vector<pollfd> polled;
        for (const Child& child : children_)
            if (child.pipe >= 0) polled.push_back({child.pipe, POLLIN, 0});
        if (polled.empty()) return false;
        poll(polled.data(), polled.size(), 100);
        for (const pollfd& ready : polled) {
            if (ready.revents == 0) continue;
            for (Child& child : children_)
                if (child.pipe == ready.fd) read_from(child);
        }
        return true;
    }

    std::vector<RankEnd> ends() {
        std::vector<RankEnd> ends;
        for (Child& child : children_) {
            int status = 0;
            while (waitpid(child.process, &status, 0) < 0 && errno == EINTR) continue;
            child.process = -1;
            const bool clean = WIFEXITED(status) && WEXITSTATUS(status) == 0;
            const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
            ends.push_back({clean, signal, std::move(child.text)});
        }
        return ends;
    }

private:
    struct Child {
        pid_t process = -1;
        int pipe = -1;
        std::string text;
    };

    static void read_from(Child& child) {
        std::array<char, 65536> bytes{};
        const ssize_t got = read(child.pipe, bytes.data(), bytes.size());
        if (got < 0 && errno == EINTR) return;
        if (got > 0 && child.text.size() < kTextMax) {
            child.text.append(bytes.data(), static_cast<std::size_t>(got));
            return;
        }
        close(child.pipe);
        child.pipe = -1;
    }

    std::vector<Child> children_;
};

}  // namespace

std::vector<RankEnd> run_ranks(unsigned ranks,
                               const RankBody& body,
                               const std::function<void()>& meanwhile) {
    std::vector<SocketMesh> meshes = SocketMesh::make(ranks);
    Children children(ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank) children.start(meshes, rank, body);
    meshes.clear();  // or no end would ever close
    while (children.read_some())
        if (meanwhile) meanwhile();
    return children.ends();
}

}  // namespace refit
