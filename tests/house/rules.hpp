// The house rules that a machine can check, each a function from a source tree to its violations.
//
// Model     a violation is one line: "file:line: what is wrong". An empty list is a clean tree.
//           Every rule is tried against a planted violation, so that it is known to fail.
// Scope     build folders and hidden folders are not looked at.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace refit::house {

using Violations = std::vector<std::string>;

/// Folders are layers, lowest first: kernels, engine, workloads, scenarios, viz, app. A file
/// includes its own layer and lower ones, from the root; kernels only itself; nobody tests.
Violations check_includes(const std::filesystem::path& root);

/// Files of at most 500 lines, lines of at most 100 columns, functions of at most 70 lines.
Violations check_sizes(const std::filesystem::path& root);

/// Every .cpp stands in the CMakeLists.txt of its folder or of one above.
Violations check_build_lists(const std::filesystem::path& root);

/// A header begins with a comment and is included once.
Violations check_headers(const std::filesystem::path& root);

/// Words we do not use, unfinished work, identifiers that are abbreviations.
Violations check_words(const std::filesystem::path& root);

/// The top level holds what the customer asked for and nothing else.
Violations check_top_level(const std::filesystem::path& root);

/// Every folder with sources is in the module list of engine/ARCHITECTURE.md, and the reverse.
Violations check_modules(const std::filesystem::path& root);

/// Every command in README.md's shell blocks is run by a script or test, which names it.
Violations check_readme_commands(const std::filesystem::path& root);

/// The sources of the layers and tests, sorted; for rules that call other programs.
std::vector<std::filesystem::path> sources(const std::filesystem::path& root);

/// `text` with comments and the insides of literals blanked out; lines stay where they are.
std::string blank_out(std::string_view text);

}  // namespace refit::house
