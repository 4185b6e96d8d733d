// A CUDA driver that does what REFIT_FAKE_CUDA says: older, refused, no-device, ready; loud: it
// says when it is opened. It knows the calls that ask for devices, and none that works on one.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

std::string asked() {
    const char* const text = std::getenv("REFIT_FAKE_CUDA");
    return text == nullptr ? "" : text;
}

__attribute__((constructor)) void say_that_it_is_opened() {
    if (asked() == "loud") std::fputs("a CUDA driver was opened\n", stderr);
}

}  // namespace

// The names below are CUDA's, so they follow its spelling.
extern "C" {

int cuDriverGetVersion(int* version) {
    *version = asked() == "older" ? 12080 : 99020;
    return 0;
}

int cuInit(unsigned /*flags*/) {
    if (asked() == "refused") return 999;
    return asked() == "no-device" ? 100 : 0;
}

int cuDeviceGetCount(int* count) {
    *count = asked() == "ready" ? 2 : 0;
    return 0;
}

int cuDeviceGet(int* device, int number) {
    *device = number;
    return 0;
}

int cuDeviceGetName(char* name, int size, int device) {
    std::strncpy(name, device == 0 ? "Fake One" : "Fake Two", static_cast<std::size_t>(size));
    return 0;
}

int cuDeviceTotalMem_v2(std::size_t* bytes, int /*device*/) {
    *bytes = std::size_t{80} << 30;
    return 0;
}

int cuGetErrorString(int /*code*/, const char** text) {
    *text = "a fault that is made up";
    return 0;
}

}  // extern "C"
