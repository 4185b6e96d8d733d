// Progress on stderr: a bar on a terminal after one second, plain lines elsewhere for long work.
//
// Modes    auto: the bar if stderr is a terminal that can redraw a line, else a plain line every
//          ten seconds. plain: plain lines. off, or --quiet: nothing.
// Threads  one thread.
#pragma once

#include <chrono>
#include <string>

#include "app/console.hpp"
#include "engine/base/units.hpp"

namespace refit {

class Progress {
public:
    /// `what`: "encode". Shows bytes done, rate and time left of `total`.
    Progress(const Console& console, std::string what, Bytes total);
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    /// Also the place where Ctrl-C is noticed: throws Interrupted.
    void advance(Bytes done);

private:
    using Time = std::chrono::steady_clock::time_point;
    enum class Style : std::uint8_t { none, bar, lines };

    const Console& console_;
    std::string what_;
    Bytes total_;
    Bytes done_;
    Style style_;
    Time start_;
    Time next_;
    bool drawn_ = false;
};

/// "encode  42 %  1.23 GiB  512 MiB/s  3.4 s left"; no rate before anything is done.
std::string progress_text(const std::string& what, Bytes done, Bytes total, double seconds);

}  // namespace refit
