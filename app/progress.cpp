#include "app/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "app/format.hpp"

namespace refit {
namespace {

constexpr auto kFirstBar = std::chrono::seconds(1);
constexpr auto kNextBar = std::chrono::milliseconds(100);
constexpr auto kLines = std::chrono::seconds(10);

bool can_redraw_line() {
    const char* terminal = std::getenv("TERM");
    return isatty(STDERR_FILENO) == 1 && terminal != nullptr &&
           std::string_view(terminal) != "dumb";
}

double share_of(Bytes done, Bytes total) {
    if (total.count == 0) return 1;
    return std::min(1.0, static_cast<double>(done.count) / static_cast<double>(total.count));
}

}  // namespace

std::string progress_text(const std::string& what, Bytes done, Bytes total, double seconds) {
    const double share = share_of(done, total);
    std::string text = fmt::format("{}  {:.0f} %  {}", what, share * 100, format_bytes(done));
    if (done.count == 0 || seconds <= 0) return text;
    const auto rate = static_cast<std::uint64_t>(static_cast<double>(done.count) / seconds);
    return text + fmt::format("  {}/s  {} left", format_bytes(Bytes{rate}),
                              format_seconds(seconds * (1 / share - 1)));
}

Progress::Progress(const Console& console, std::string what, Bytes total)
    : console_(console), what_(std::move(what)), total_(total), style_(Style::lines) {
    if (console.quiet || console.progress == ProgressMode::off) {
        style_ = Style::none;
    } else if (console.progress == ProgressMode::automatic && can_redraw_line()) {
        style_ = Style::bar;
    }
    start_ = std::chrono::steady_clock::now();
    next_ = start_ + (style_ == Style::bar ? Time::duration(kFirstBar) : Time::duration(kLines));
}

Progress::~Progress() {
    if (drawn_) std::fputs("\r\x1b[K", stderr);
}

void Progress::advance(Bytes done) {
    console_.check_interrupt();
    done_ += done;
    const Time now = std::chrono::steady_clock::now();
    if (style_ == Style::none || now < next_) return;
    const double seconds = std::chrono::duration<double>(now - start_).count();
    const std::string text = progress_text(what_, done_, total_, seconds);
    if (style_ == Style::lines) {
        std::fprintf(stderr, "%s\n", text.c_str());
        next_ = now + kLines;
        return;
    }
    constexpr std::size_t kCells = 24;
    const auto full = static_cast<std::size_t>(share_of(done_, total_) * kCells);
    const std::string bar = std::string(full, '#') + std::string(kCells - full, '.');
    std::fprintf(stderr, "\r\x1b[K[%s] %s", bar.c_str(), text.c_str());
    next_ = now + kNextBar;
    drawn_ = true;
}

}  // namespace refit
