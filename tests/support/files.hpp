// Files for tests: a folder that goes away, whole-file reading and writing, hand-made safetensors.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/bytes.hpp"

namespace refit {

class TestFolder {
public:
    TestFolder() {
        std::string name = (std::filesystem::temp_directory_path() / "refit-test-XXXXXX").string();
        REFIT_ASSERT(::mkdtemp(name.data()) != nullptr);
        path_ = name;
    }
    TestFolder(const TestFolder&) = delete;
    TestFolder& operator=(const TestFolder&) = delete;
    ~TestFolder() {
        if (mounted_) ::umount(path_.c_str());
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    /// Puts a file system of `bytes` over the folder; false where that is not allowed.
    bool shrink_to(std::size_t bytes) {
        const std::string options = "size=" + std::to_string(bytes);
        mounted_ = ::mount("refit-test", path_.c_str(), "tmpfs", 0, options.c_str()) == 0;
        return mounted_;
    }

    std::filesystem::path operator/(std::string_view name) const { return path_ / name; }
    const std::filesystem::path& path() const { return path_; }

    /// Every name below the folder, hidden ones too, sorted.
    std::vector<std::string> names() const {
        std::vector<std::string> names;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(path_))
            names.push_back(entry.path().lexically_relative(path_).string());
        std::sort(names.begin(), names.end());
        return names;
    }

private:
    std::filesystem::path path_;
    bool mounted_ = false;
};

inline ByteVector to_bytes(std::string_view text) {
    const ByteSpan bytes = as_byte_span(text);
    return {bytes.begin(), bytes.end()};
}

inline std::string read_text_file(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    EXPECT_TRUE(file.good()) << path;
    return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_text_file(const std::filesystem::path& path, std::string_view text) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file.write(text.data(), static_cast<std::streamsize>(text.size()));
    ASSERT_TRUE(file.good()) << path;
}

/// A header's bytes: the length, then the JSON as it is.
inline std::string safetensors_header(std::string_view json) {
    ByteWriter writer;
    writer.write(std::uint64_t{json.size()});
    writer.append(as_byte_span(json));
    return std::string(as_text(writer.bytes()));
}

/// {"name":{"dtype":...,"shape":[n],"data_offsets":[begin,end]}} without the outer braces.
inline std::string tensor_entry(std::string_view name,
                                std::string_view dtype,
                                std::string_view shape,
                                std::uint64_t begin,
                                std::uint64_t end) {
    return fmt::format(R"("{}":{{"dtype":"{}","shape":{},"data_offsets":[{},{}]}})", name, dtype,
                       shape, begin, end);
}

/// A file with one BF16 vector whose word i is first + i.
inline std::string small_safetensors(std::string_view tensor, std::uint16_t first, std::size_t n) {
    std::string file = safetensors_header(
        fmt::format("{{{}}}", tensor_entry(tensor, "BF16", fmt::format("[{}]", n), 0, 2 * n)));
    for (std::size_t i = 0; i < n; ++i) {
        const auto word = static_cast<std::uint16_t>(first + i);
        file += static_cast<char>(word & 0xFF);
        file += static_cast<char>(word >> 8);
    }
    return file;
}

}  // namespace refit
