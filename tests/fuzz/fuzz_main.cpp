// libFuzzer's entry points for the targets of one layer, REFIT_FUZZ_TARGETS():
// refit_fuzz_LAYER list | refit_fuzz_LAYER TARGET [libFuzzer flags] [CORPUS...]
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "tests/fuzz/targets.hpp"

namespace refit::fuzz {
namespace {

/// What the command line chose. libFuzzer hands nothing from the one entry point to the other.
struct Chosen {
    Target target;
    std::string max_len;
    std::vector<char*> arguments;
};
std::unique_ptr<Chosen> chosen;  // NOLINT(*-avoid-non-const-global-variables)

[[noreturn]] void list_targets(int code) {
    for (const Target& target : REFIT_FUZZ_TARGETS()) std::printf("%s\n", target.name.c_str());
    std::exit(code);
}

void choose(int* argc, char*** argv) {
    if (*argc < 2) list_targets(2);
    const std::string_view name = (*argv)[1];
    if (name == "list") list_targets(0);
    for (Target& target : REFIT_FUZZ_TARGETS()) {
        if (target.name == name)
            chosen = std::make_unique<Chosen>(Chosen{std::move(target), {}, {}});
    }
    if (!chosen) list_targets(2);
    chosen->max_len = "-max_len=" + std::to_string(chosen->target.max_bytes);
    chosen->arguments = {(*argv)[0], chosen->max_len.data()};
    chosen->arguments.insert(chosen->arguments.end(), *argv + 2, *argv + *argc);
    *argc = static_cast<int>(chosen->arguments.size());
    chosen->arguments.push_back(nullptr);
    *argv = chosen->arguments.data();
}

}  // namespace
}  // namespace refit::fuzz

extern "C" const char* __asan_default_options();
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

// Where memory came from, and filling it, are worth a quarter of the speed only once something was
// found: then ask for it with ASAN_OPTIONS=malloc_context_size=30:max_malloc_fill_size=4096.
extern "C" const char* __asan_default_options() {
    return "malloc_context_size=0:max_malloc_fill_size=0:quarantine_size_mb=4";
}

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
    refit::fuzz::choose(argc, argv);
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return refit::fuzz::chosen->target.run(std::as_bytes(std::span(data, size)));
}
