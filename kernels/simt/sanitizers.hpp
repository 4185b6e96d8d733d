// What the sanitizers and valgrind are told of fibers and of order; nothing in a plain build.
//
// Thread     sanitizer: REFIT_SIMT_TSAN says that kernels are instrumented. The executor itself
//            must not be: switching fibers inside an instrumented function breaks its call stack,
//            and the accesses to watch are the kernels', not ours.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define REFIT_SIMT_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define REFIT_SIMT_ASAN 1
#endif
#endif

#if defined(REFIT_SIMT_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(REFIT_SIMT_TSAN)
#include <sanitizer/tsan_interface.h>
#endif
#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#define REFIT_SIMT_VALGRIND 1
#endif

namespace refit::simt {

#if defined(REFIT_SIMT_TSAN)
inline constexpr bool kThreadSanitizer = true;
inline void release_order(void* at) { __tsan_release(at); }
inline void acquire_order(void* at) { __tsan_acquire(at); }
#else
inline constexpr bool kThreadSanitizer = false;
inline void release_order(void* /*at*/) {}
inline void acquire_order(void* /*at*/) {}
#endif

#if defined(REFIT_SIMT_ASAN)
inline void forbid_memory(void* at, std::size_t bytes) { __asan_poison_memory_region(at, bytes); }
inline void allow_memory(void* at, std::size_t bytes) { __asan_unpoison_memory_region(at, bytes); }
#else
inline void forbid_memory(void* /*at*/, std::size_t /*bytes*/) {}
inline void allow_memory(void* /*at*/, std::size_t /*bytes*/) {}
#endif

#if defined(REFIT_SIMT_VALGRIND)
inline unsigned register_stack(char* low, char* high) { return VALGRIND_STACK_REGISTER(low, high); }
inline void deregister_stack(unsigned id) { VALGRIND_STACK_DEREGISTER(id); }
inline void make_undefined(void* at, std::size_t bytes) { VALGRIND_MAKE_MEM_UNDEFINED(at, bytes); }
#else
inline unsigned register_stack(char* /*low*/, char* /*high*/) { return 0; }
inline void deregister_stack(unsigned /*id*/) {}
inline void make_undefined(void* /*at*/, std::size_t /*bytes*/) {}
#endif

}  // namespace refit::simt
