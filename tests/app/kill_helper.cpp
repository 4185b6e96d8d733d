// The next thing a program does with an in-place update, on the real disk: completes one that was
// interrupted, else makes it. Arguments: the number of the case, the folder.
#include <cstdio>
#include <cstdlib>

#include "tests/engine/in_place_fixture.hpp"

int main(int count, char** arguments) {
    if (count != 3) return 2;
    const std::vector<refit::UpdateCase> cases = refit::update_cases();
    const refit::UpdateCase& files = cases.at(std::strtoul(arguments[1], nullptr, 10));
    const std::filesystem::path folder = arguments[2];
    const auto disk = refit::make_posix_disk();
    const auto check = refit::check_of(*disk, files);
    const auto recovered = refit::recover(*disk, files.target(folder).path, check);
    if (!recovered.has_value()) {
        std::fprintf(stderr, "%s\n", recovered.error().what.c_str());
        return 3;
    }
    if (refit::FolderReader(files, folder).holds(files.new_files)) return 0;
    const refit::Status updated = refit::update_files(*disk, folder, files);
    if (!updated.has_value()) std::fprintf(stderr, "%s\n", updated.error().what.c_str());
    return updated.has_value() ? 0 : 3;
}
