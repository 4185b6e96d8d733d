// What this machine is called, for records.
#pragma once

#include <string>

namespace refit {

/// "AMD EPYC 9655", as the kernel names the first processor; "unknown" where it does not.
std::string cpu_name();

}  // namespace refit
