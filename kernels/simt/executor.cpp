#include "kernels/simt/executor.hpp"

#include "kernels/check.hpp"
#include "kernels/simt/launch.hpp"

namespace refit::simt {
namespace {

/// CUDA's names carry no context, so the launch this OS thread is in has to be found by itself.
thread_local Launch* running = nullptr;

class Running {
public:
    explicit Running(Launch& launch) {
        REFIT_KERNEL_CHECK(running == nullptr);
        running = &launch;
    }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    ~Running() { running = nullptr; }
};

}  // namespace

void launched_thread_main() { running->thread_main(); }

void run(Queue& queue, const LaunchShape& shape, const std::function<void()>& thread_body) {
    Launch launch(queue, shape, thread_body);
    const Running guard(launch);
    launch.run();
}

const Ids& ids() { return running->ids(); }
void barrier(Place place) { running->barrier(place); }
std::uint64_t warp_call(const WarpCall& call, Place place) {
    return running->warp_call(call, place);
}
void yield(Place place) { running->yield(place); }
void* shared_memory(std::size_t bytes, Place place) { return running->shared_memory(bytes, place); }
void check_aligned(const void* at, std::size_t bytes, Place place) {
    running->check_aligned(at, bytes, place);
}
bool removed(const char* name) { return running->removed(name); }

}  // namespace refit::simt
