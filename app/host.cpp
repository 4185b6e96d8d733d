#include "app/host.hpp"

#include <time.h>

#include <chrono>
#include <fstream>

namespace refit {

std::string cpu_name() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        const std::size_t colon = line.find(": ");
        if (line.starts_with("model name") && colon != std::string::npos)
            return line.substr(colon + 2);
    }
    return "unknown";
}

Nanoseconds host_now() {
    const auto time = std::chrono::steady_clock::now().time_since_epoch();
    return Nanoseconds{std::chrono::duration_cast<std::chrono::nanoseconds>(time).count()};
}

Nanoseconds host_thread_time() {
    timespec time = {};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return Nanoseconds{std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec};
}

}  // namespace refit
