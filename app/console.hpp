// What every command shares: where output goes, what the user asked of it, and Ctrl-C.
//
// Streams   stdout carries the result: text, or with --json exactly one document. stderr carries
//           progress, remarks and errors.
// Ctrl-C    main's handler raises a flag. Commands poll: check_interrupt() throws Interrupted and
//           destructors clean up; interrupted() is for those that keep partial results.
#pragma once

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace refit {

enum class ProgressMode : std::uint8_t { automatic, plain, off };

/// Thrown by check_interrupt(); main turns it into exit code 130.
struct Interrupted {};

class Console {
public:
    // Set by main from flags and environment, before any command runs.
    bool json = false;
    bool quiet = false;
    bool color = false;  // stdout is a terminal that wants it
    ProgressMode progress = ProgressMode::automatic;
    std::filesystem::path data_root;  // scenarios/, workloads/traces/ are below it

    explicit Console(const volatile std::sig_atomic_t& interrupt) : interrupt_(interrupt) {}

    bool interrupted() const { return interrupt_ != 0; }
    void check_interrupt() const {
        if (interrupted()) throw Interrupted{};
    }

    /// A line of the text result; nothing under --json.
    void say(std::string_view line) const;
    /// The one document; nothing without --json. Keys stay in the order they were added.
    void document(const nlohmann::ordered_json& document) const;
    /// A remark on stderr; nothing under --quiet.
    void note(std::string_view line) const;

private:
    const volatile std::sig_atomic_t& interrupt_;
};

/// REFIT_DATA if set; else share/refit beside the program's folder; else the source tree.
std::filesystem::path find_data_root();

}  // namespace refit
