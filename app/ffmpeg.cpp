#include "app/ffmpeg.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>
#include <vector>

#include "engine/base/result.hpp"

namespace refit {

namespace {

[[noreturn]] void refuse(const std::string& why) { throw MachineError("no MP4: " + why); }

/// Closed with this object.
class Descriptor {
public:
    explicit Descriptor(int number = -1) : number_(number) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() { close(); }

    int number() const { return number_; }
    void reset(int number) {
        close();
        number_ = number;
    }
    void close() {
        if (number_ >= 0) ::close(number_);
        number_ = -1;
    }

private:
    int number_;
};

/// What a child gets: two descriptors, and the signals we ignore as every program expects them.
class SpawnSettings {
public:
    SpawnSettings(int input, int errors) {
        posix_spawn_file_actions_init(&actions_);
        posix_spawn_file_actions_adddup2(&actions_, input, STDIN_FILENO);
        posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
        posix_spawn_file_actions_adddup2(&actions_, errors, STDERR_FILENO);
        posix_spawnattr_init(&attributes_);
        sigset_t as_usual;
        sigemptyset(&as_usual);
        for (const int signal : {SIGPIPE, SIGXFSZ}) sigaddset(&as_usual, signal);
        posix_spawnattr_setsigdefault(&attributes_, &as_usual);
        posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGDEF);
    }
    SpawnSettings(const SpawnSettings&) = delete;
    SpawnSettings& operator=(const SpawnSettings&) = delete;
    ~SpawnSettings() {
        posix_spawnattr_destroy(&attributes_);
        posix_spawn_file_actions_destroy(&actions_);
    }

    /// The process, or minus errno.
    pid_t spawn(std::vector<std::string> words) const {
        std::vector<char*> arguments;
        for (std::string& word : words) arguments.push_back(word.data());
        arguments.push_back(nullptr);
        pid_t process = -1;
        const int failure = posix_spawnp(&process, arguments[0], &actions_, &attributes_,
                                         arguments.data(), environ);
        return failure == 0 ? process : -failure;
    }

private:
    posix_spawn_file_actions_t actions_{};
    posix_spawnattr_t attributes_{};
};

std::vector<std::string> ffmpeg_words(const PixelSize& size,
                                      std::uint32_t rate,
                                      const std::filesystem::path& file) {
    return {"ffmpeg", "-nostdin", "-hide_banner", "-loglevel", "error",
            // what comes
            "-f", "rawvideo", "-pixel_format", "rgb24", "-video_size",
            fmt::format("{}x{}", size.width, size.height), "-framerate", std::to_string(rate), "-i",
            "pipe:0",
            // what goes; without the named colour space players guess, and guess by size
            "-vf", "scale=out_color_matrix=bt709:out_range=tv", "-colorspace", "bt709",
            "-color_primaries", "bt709", "-color_trc", "bt709", "-c:v", "libx264", "-crf", "18",
            "-pix_fmt", "yuv420p", "-movflags", "+faststart", "-fflags", "+bitexact", "-f", "mp4",
            "-y", "file:" + file.string()};
}

class FfmpegWriter final : public FilmWriter {
public:
    FfmpegWriter(const PixelSize& size, std::uint32_t rate, const std::filesystem::path& file)
        : errors_(memfd_create("ffmpeg", MFD_CLOEXEC)) {
        std::array<int, 2> ends{};
        // A socket, because send() can be told to raise no signal when nobody reads.
        if (errors_.number() < 0 ||
            socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
            refuse(std::strerror(errno));
        frames_.reset(ends[0]);
        const Descriptor input(ends[1]);
        const pid_t process =
            SpawnSettings(input.number(), errors_.number()).spawn(ffmpeg_words(size, rate, file));
        if (process == -ENOENT) refuse("it needs ffmpeg, which is not on PATH");
        if (process < 0) refuse(std::string("ffmpeg does not start: ") + std::strerror(-process));
        process_ = process;
    }
    ~FfmpegWriter() override {
        frames_.close();
        if (process_ <= 0) return;
        kill(process_, SIGKILL);
        wait();
    }

    void add(const Image& frame, std::uint32_t ticks) override {
        for (std::uint32_t i = 0; i < ticks; ++i) send_all(frame.pixels);
    }

    void finish() override {
        frames_.close();
        const int status = wait();
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) refuse("ffmpeg: " + complaint(status));
    }

private:
    int wait() {
        int status = 0;
        while (waitpid(process_, &status, 0) < 0 && errno == EINTR) continue;
        process_ = -1;
        return status;
    }

    void send_all(ByteSpan bytes) {
        while (!bytes.empty()) {
            const ssize_t sent = send(frames_.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (sent < 0 && errno == EINTR) continue;
            if (sent < 0) {
                finish();  // it says why it does not read
                refuse("ffmpeg ended before its film did");
            }
            bytes = bytes.subspan(static_cast<std::size_t>(sent));
        }
    }

    /// The first line it wrote, or how it ended.
    std::string complaint(int status) const {
        std::array<char, 512> text{};
        const ssize_t got = pread(errors_.number(), text.data(), text.size(), 0);
        const std::string said(text.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
        if (!said.empty()) return said.substr(0, said.find('\n'));
        if (WIFSIGNALED(status)) return fmt::format("ended by signal {}", WTERMSIG(status));
        return fmt::format("exit code {}", WEXITSTATUS(status));
    }

    Descriptor errors_;  // its stderr, read when it has ended
    Descriptor frames_;
    pid_t process_ = -1;
};

}  // namespace

std::unique_ptr<FilmWriter> open_mp4(const PixelSize& size,
                                     std::uint32_t frames_per_second,
                                     const std::filesystem::path& file) {
    REFIT_ASSERT(size.width % 2 == 0 && size.height % 2 == 0);
    return std::make_unique<FfmpegWriter>(size, frames_per_second, file);
}

}  // namespace refit
