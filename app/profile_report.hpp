// The result of `refit profile` as tables for people and as a `refit.profile/1` document.
//
// Seconds     bytes x 8 / rate of a declared link, nothing else: no latency, no ramp, no coding.
//             Always extrapolated.
// Provenance  rates, jumps and bits per parameter are measured, of the words that were looked at;
//             bytes of a whole delta are extrapolated unless all of it was coded; what one step of
//             several changes is extrapolated.
// Text        at most 100 columns, but for names of files and of the link's source.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "engine/base/units.hpp"
#include "workloads/change_profile.hpp"

namespace refit {

/// Whether what a codec made was decoded again to the same words.
struct CodecProof {
    bool exact = false;
    std::string failure;  // why not
};

struct ProfileReport {
    ChangeProfile profile;
    std::vector<CodecProof> proofs;  // one for each of the profile's codecs
    BitsPerSecond link;
    std::string link_source;
    std::uint64_t other_tensors = 0;
    std::uint64_t seed = 0;  // of the draw
    bool limited = false;    // more words were asked for than are measured at most
    std::string cpu;
    std::string device;
    double wall_seconds = 0;

    bool exact() const;
};

std::vector<std::string> profile_lines(const ProfileReport& report);
nlohmann::ordered_json profile_document(const ProfileReport& report);

/// Time to push bytes through a link: "73.2 us", "4.21 ms", "150 s".
std::string link_time_text(double seconds);

}  // namespace refit
