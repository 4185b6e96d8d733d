// In builds without CUDA no GPU has memory.
#include "engine/base/result.hpp"
#include "engine/collective/memory.hpp"

namespace refit {
namespace {

constexpr const char* kAbsent = "no GPU: this program was built without CUDA";

}  // namespace

std::unique_ptr<CollectiveMemory> make_cuda_memory(int) { throw MachineError(kAbsent); }

int cuda_device_count() { throw MachineError(kAbsent); }

}  // namespace refit
