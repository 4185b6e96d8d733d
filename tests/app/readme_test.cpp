// Every block of commands for the program in README.md, run as a reader would paste it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
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

bool draws(const std::string& block) {
    return block.find("build/refit view ") != std::string::npos;
}

/// A folder that looks to the page's commands like the project's.
class ReadersFolder {
public:
    ReadersFolder() {
        fs::create_directories(folder_ / "build");
        fs::create_symlink(REFIT_PROGRAM, folder_ / "build/refit");
        for (const char* name : {"scenarios", "workloads", "results"})
            fs::create_directory_symlink(fs::path(REFIT_SOURCE_DIR) / name, folder_ / name);
        ::setenv("XDG_STATE_HOME", (folder_ / "state").c_str(), 1);
    }

    /// What the commands said when one failed.
    std::optional<std::string> complaint_of(const std::string& block) const {
        write_text_file(folder_ / "block.sh",
                        "set -e\ncd '" + folder_.path().string() + "'\n" + block);
        const std::string log = (folder_ / "log").string();
        const std::string run = "sh '" + (folder_ / "block.sh").string() + "' >'" + log + "' 2>&1";
        if (std::system(run.c_str()) == 0) return std::nullopt;
        return read_text_file(log);
    }

private:
    TestFolder folder_;
};

std::vector<std::string> blocks_of_readme() {
    return command_blocks(read_text_file(fs::path(REFIT_SOURCE_DIR) / "README.md"));
}

TEST(Readme, EveryCommandOfTheProgramSucceedsInItsOrder) {
    const ReadersFolder folder;
    std::size_t run = 0;
    for (const std::string& block : blocks_of_readme()) {
        if (draws(block)) continue;
        const auto complaint = folder.complaint_of(block);
        EXPECT_FALSE(complaint.has_value()) << block << complaint.value_or("");
        ++run;
    }
    EXPECT_GE(run, 2u);
}

TEST(Readme, EveryPictureIsDrawnByItsCommand) {
    const ReadersFolder folder;
    std::size_t run = 0;
    for (const std::string& block : blocks_of_readme()) {
        if (!draws(block)) continue;
        const auto complaint = folder.complaint_of(block);
        if (complaint && complaint->find("no picture can be drawn here") != std::string::npos)
            GTEST_SKIP() << *complaint;
        EXPECT_FALSE(complaint.has_value()) << block << complaint.value_or("");
        ++run;
    }
    EXPECT_GE(run, 1u);
}

}  // namespace
}  // namespace refit
