// Every block of commands for the program in README.md, run as a reader would paste it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "tests/support/files.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;

/// The fenced blocks that call build/refit, in order.
std::vector<std::string> command_blocks(const std::string& page) {
    std::vector<std::string> blocks;
    std::istringstream lines(page);
    std::string block;
    bool inside = false;
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("```")) {
            if (inside && block.find("build/refit ") != std::string::npos) blocks.push_back(block);
            inside = !inside;
            block.clear();
        } else if (inside) {
            block += line + "\n";
        }
    }
    return blocks;
}

TEST(Readme, EveryCommandOfTheProgramSucceedsInItsOrder) {
    const fs::path root = REFIT_SOURCE_DIR;
    const TestFolder folder;
    fs::create_directories(folder / "build");
    fs::create_symlink(REFIT_PROGRAM, folder / "build/refit");
    for (const char* name : {"scenarios", "workloads", "results"})
        fs::create_directory_symlink(root / name, folder / name);
    ::setenv("XDG_STATE_HOME", (folder / "state").c_str(), 1);
    const auto blocks = command_blocks(read_text_file(root / "README.md"));
    ASSERT_GE(blocks.size(), 2u);
    for (const std::string& block : blocks) {
        write_text_file(folder / "block.sh",
                        "set -e\ncd '" + folder.path().string() + "'\n" + block);
        const std::string log = (folder / "log").string();
        const std::string run = "sh '" + (folder / "block.sh").string() + "' >'" + log + "' 2>&1";
        EXPECT_EQ(std::system(run.c_str()), 0) << block << read_text_file(log);
    }
}

}  // namespace
}  // namespace refit
