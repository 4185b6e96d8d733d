// Every synchronisation in a kernel has a name of its own, so that none escapes the mutants.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "tests/simt/sync_names.hpp"

namespace refit {
namespace {

/// Barriers, and ordered loads and stores, that a mutant cannot take away.
std::vector<std::string> unnamed(const std::string& text) {
    std::vector<std::string> found;
    for (const std::string& call : matches(text, R"(\n([^\n/]*__sync(?:threads|warp)\())"))
        if (call.find("SIMT_SYNC(") == std::string::npos) found.push_back(call);
    for (const std::string& call : matches(text, R"((simt::(?:load|store)\([^;]*;))"))
        if (call.find("SIMT_ORDER(") == std::string::npos &&
            call.find(", false)") == std::string::npos)
            found.push_back(call);
    return found;
}

TEST(SyncNames, NoSynchronisationIsWithout) {
    for (const char* folder : {"kernels/cuda", "tests/simt"}) {
        ASSERT_FALSE(kernel_files(folder).empty());
        for (const std::filesystem::path& file : kernel_files(folder)) {
            const std::vector<std::string> found = unnamed(text_of(file));
            EXPECT_TRUE(found.empty()) << file << ": " << found.front();
        }
    }
    EXPECT_EQ(unnamed("\n    __syncthreads();\n").empty(), false);
    EXPECT_EQ(unnamed("\n    if (x) __syncwarp(mask);\n").empty(), false);
    EXPECT_EQ(unnamed("\n    simt::store(at, 1u, true);\n").empty(), false);
    EXPECT_EQ(unnamed("\n    x = simt::load(at, ordered);\n").empty(), false);
    EXPECT_EQ(unnamed("\n    SIMT_SYNC(a, __syncwarp());\n    simt::load(at, false);\n"
                      "    simt::store(at, 1u, SIMT_ORDER(b));\n")
                  .empty(),
              true);
}

TEST(SyncNames, AreUnique) {
    std::vector<std::string> names = sync_names("kernels/cuda");
    EXPECT_GE(names.size(), 4u);
    for (const std::string& name : sync_names("tests/simt")) names.push_back(name);
    EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
}

}  // namespace
}  // namespace refit
