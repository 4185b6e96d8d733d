#include "app/console.hpp"

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

namespace refit {
namespace {

void put_line(std::FILE* stream, std::string_view line) {
    std::fwrite(line.data(), 1, line.size(), stream);
    std::fputc('\n', stream);
}

}  // namespace

void Console::say(std::string_view line) const {
    if (!json) put_line(stdout, line);
}

void Console::document(const nlohmann::ordered_json& document) const {
    // File names may hold any bytes; a document holds UTF-8.
    constexpr auto kReplace = nlohmann::ordered_json::error_handler_t::replace;
    if (json) put_line(stdout, document.dump(2, ' ', false, kReplace));
}

void Console::note(std::string_view line) const {
    if (!quiet) put_line(stderr, line);
}

std::filesystem::path find_data_root() {
    namespace fs = std::filesystem;
    if (const char* given = std::getenv("REFIT_DATA"); given != nullptr && *given != '\0')
        return given;
    std::error_code failure;
    const fs::path program = fs::read_symlink("/proc/self/exe", failure);
    const fs::path installed = program.parent_path().parent_path() / "share" / "refit";
    if (!failure && fs::is_directory(installed / "scenarios", failure)) return installed;
    return REFIT_SOURCE_DIR;
}

}  // namespace refit
