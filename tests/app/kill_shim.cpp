// Preloaded into a program: counts the calls that change what a disk holds, and kills the process
// with SIGKILL at the one that REFIT_KILL_AT names, just before it or, with REFIT_KILL_AFTER set,
// just after. Without a kill the number of calls goes to the file REFIT_KILL_COUNT at exit.
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace {

std::atomic<long>& calls() {
    static std::atomic<long> count = 0;
    return count;
}

long kill_at() {
    static const long at = [] {
        const char* text = std::getenv("REFIT_KILL_AT");
        return text == nullptr ? 0L : std::strtol(text, nullptr, 10);
    }();
    return at;
}

bool kill_after() {
    static const bool after = std::getenv("REFIT_KILL_AFTER") != nullptr;
    return after;
}

void die() { ::kill(::getpid(), SIGKILL); }

template <class Function>
Function next(const char* name) {
    return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

/// Calls the real function under the count.
template <class Function, class... Arguments>
auto counted(const char* name, Arguments... arguments) {
    const long number = ++calls();
    if (number == kill_at() && !kill_after()) die();
    const auto result = next<Function>(name)(arguments...);
    if (number == kill_at() && kill_after()) die();
    return result;
}

__attribute__((destructor)) void write_count() {
    const char* file = std::getenv("REFIT_KILL_COUNT");
    std::FILE* out = file == nullptr ? nullptr : std::fopen(file, "w");
    if (out == nullptr) return;
    std::fprintf(out, "%ld\n", calls().load());
    std::fclose(out);
}

}  // namespace

extern "C" {

int fsync(int file) { return counted<int (*)(int)>("fsync", file); }
int fdatasync(int file) { return counted<int (*)(int)>("fdatasync", file); }

int rename(const char* from, const char* to) noexcept {
    return counted<int (*)(const char*, const char*)>("rename", from, to);
}
int unlink(const char* path) noexcept { return counted<int (*)(const char*)>("unlink", path); }

ssize_t pwrite(int file, const void* bytes, size_t size, off_t offset) {
    return counted<ssize_t (*)(int, const void*, size_t, off_t)>("pwrite", file, bytes, size,
                                                                 offset);
}
ssize_t pwrite64(int file, const void* bytes, size_t size, off64_t offset) {
    return counted<ssize_t (*)(int, const void*, size_t, off64_t)>("pwrite64", file, bytes, size,
                                                                   offset);
}
int ftruncate(int file, off_t size) noexcept {
    return counted<int (*)(int, off_t)>("ftruncate", file, size);
}
int posix_fallocate(int file, off_t offset, off_t size) {
    return counted<int (*)(int, off_t, off_t)>("posix_fallocate", file, offset, size);
}

}  // extern "C"
