// The synchronisations of the kernels, as their sources name them.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

namespace refit {

inline std::string text_of(const std::filesystem::path& file) {
    std::ifstream stream(file);
    return {std::istreambuf_iterator<char>(stream), {}};
}

/// The .cuh files of a folder below the project, sorted.
inline std::vector<std::filesystem::path> kernel_files(const std::string& folder) {
    std::vector<std::filesystem::path> files;
    for (const auto& entry :
         std::filesystem::directory_iterator(std::filesystem::path(REFIT_SOURCE_DIR) / folder))
        if (entry.path().extension() == ".cuh") files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    return files;
}

/// Every first group of `pattern` in `text`.
inline std::vector<std::string> matches(const std::string& text, const char* pattern) {
    const std::regex regex(pattern);
    std::vector<std::string> found;
    for (std::sregex_iterator it(text.begin(), text.end(), regex), end; it != end; ++it)
        found.push_back((*it)[1]);
    return found;
}

/// Names of all SIMT_SYNC and SIMT_ORDER in the kernels of a folder, in the order of the files.
inline std::vector<std::string> sync_names(const std::string& folder) {
    std::vector<std::string> names;
    for (const std::filesystem::path& file : kernel_files(folder))
        for (const std::string& name : matches(text_of(file), R"(SIMT_(?:SYNC|ORDER)\((\w+))"))
            names.push_back(name);
    return names;
}

}  // namespace refit
