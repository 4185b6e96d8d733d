// The field cases of ../shared/cases: their manifest, and their files as sharded directories.
//
// Independent   of our reader and writer: JSON through nlohmann, bytes through streams.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace refit {

/// How a checkpoint of a case is given on the command line.
enum class Form { file, shards };

/// What the address sanitizer adds to a program's memory: mostly blocks freed and kept back.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr std::uint64_t kSanitizerMemory = std::uint64_t{400} << 20;
#elif defined(__has_feature)
inline constexpr std::uint64_t kSanitizerMemory =
    std::uint64_t{__has_feature(address_sanitizer) ? 400 : 0} << 20;
#else
inline constexpr std::uint64_t kSanitizerMemory = 0;
#endif

/// The folder with manifest.json, whether it exists or not.
std::filesystem::path cases_folder();

/// The checks of one kind ("roundtrip"), in the manifest's order; none without the manifest.
std::vector<nlohmann::json> checks_of(const std::string& kind);

/// Spreads the tensors of a safetensors file over `shards` files of a new directory, with an
/// index. Metadata, order of keys, escapes and trailing spaces of the header are kept in each.
void write_sharded(const std::filesystem::path& file,
                   const std::filesystem::path& folder,
                   std::size_t shards);

/// A directory of one sound shard, one that is `file`, and an index that names both.
void write_with_shard(const std::filesystem::path& file, const std::filesystem::path& folder);
/// The name `file` has in it.
inline constexpr const char* kGivenShard = "model-00001-of-00002.safetensors";

/// Every name below a folder with its bytes; of a file only the bytes, under "".
std::vector<std::pair<std::string, std::string>> contents(const std::filesystem::path& path);

}  // namespace refit
