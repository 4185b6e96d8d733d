// What this machine is called, for records, and its clock.
#pragma once

#include <string>

#include "engine/base/units.hpp"

namespace refit {

/// "AMD EPYC 9655", as the kernel names the first processor; "unknown" where it does not.
std::string cpu_name();

/// A clock that never goes back, for measurements that stand under `host`.
Nanoseconds host_now();

/// CPU time of the calling thread.
Nanoseconds host_thread_time();

}  // namespace refit
