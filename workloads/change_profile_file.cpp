// The file form of a change profile: profile_toml(), parse_profile(), load_profile().
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "engine/codec/codec.hpp"
#include "engine/store/file_io.hpp"
#include "workloads/change_profile.hpp"
#include "workloads/one_step.hpp"
#include "workloads/safetensors_json.hpp"
#include "workloads/toml_parser.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kWordsMax = std::uint64_t{1} << 48;  // as a catalog's
constexpr std::uint64_t kBytesMax = std::uint64_t{1} << 56;
constexpr double kBoundMax = 64;  // bits; no word costs as much
constexpr std::string_view kTypeNames[] = {"bf16", "f16"};

std::string_view type_name(WordType type) { return kTypeNames[type == WordType::f16 ? 1 : 0]; }

/// A TOML basic string: JSON's escapes are all TOML's, which wants one more.
std::string quoted(const std::string& text) {
    const std::string json =
        nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    std::string out;
    for (const char c : json) {
        if (c == '\x7F') {
            out += "\\u007F";
        } else {
            out += c;
        }
    }
    return out;
}

/// With a point or an exponent, without which TOML reads an integer. The same double comes back.
std::string decimal(double value) {
    std::string text = fmt::format("{}", value);
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    return text;
}

std::string counts_text(std::uint64_t words, std::uint64_t changed) {
    return fmt::format("words = {}, changed = {}", words, changed);
}

/// name = [ one entry a line ]
template <class Entries, class Text>
std::string list_text(std::string_view name, const Entries& entries, const Text& text) {
    std::string out = fmt::format("{} = [\n", name);
    for (const auto& entry : entries) out += "  {" + text(entry) + "},\n";
    return out + "]\n";
}

Error invalid(const toml::node& node, const std::string& what) {
    return Error{ErrorCode::invalid_input,
                 fmt::format("line {}: {}", node.source().begin.line, what)};
}

/// A table of which every key is asked for once. After a failure getters yield nothing of worth;
/// the first one is what finish() returns.
class StrictTable {
public:
    explicit StrictTable(const toml::table& table) : table_(table) {}

    std::uint64_t natural(std::string_view key, std::uint64_t most) {
        const toml::node* const node = find(key);
        if (node == nullptr) return 0;
        const auto value = node->value_exact<std::int64_t>();
        if (value && *value >= 0 && static_cast<std::uint64_t>(*value) <= most)
            return static_cast<std::uint64_t>(*value);
        fail(*node, fmt::format("{} must be a whole number of at most {}", key, most));
        return 0;
    }

    double decimal(std::string_view key, double most) {
        const toml::node* const node = find(key);
        if (node == nullptr) return 0;
        const auto value = node->value_exact<double>();
        if (value && std::isfinite(*value) && *value >= 0 && *value <= most) return *value;
        fail(*node, fmt::format("{} must be a decimal from 0 to {}", key, most));
        return 0;
    }

    std::string text(std::string_view key) {
        const toml::node* const node = find(key);
        if (node == nullptr) return {};
        if (const auto value = node->value_exact<std::string>()) return *value;
        fail(*node, fmt::format("{} must be a text", key));
        return {};
    }

    /// Calls `read` with every table of a list, until it fails.
    void list(std::string_view key, const std::function<Status(const toml::table&)>& read) {
        const toml::node* const node = find(key);
        if (node == nullptr) return;
        const toml::array* const array = node->as_array();
        if (array == nullptr) return fail(*node, fmt::format("{} must be a list", key));
        for (const toml::node& entry : *array) {
            const toml::table* const table = entry.as_table();
            if (table == nullptr)
                return fail(entry, fmt::format("{} must be a list of tables", key));
            if (const Status status = read(*table); !status.has_value())
                return keep(status.error());
        }
    }

    void table(std::string_view key, const std::function<Status(const toml::table&)>& read) {
        const toml::node* const node = find(key);
        if (node == nullptr) return;
        const toml::table* const table = node->as_table();
        if (table == nullptr) return fail(*node, fmt::format("{} must be a table", key));
        if (const Status status = read(*table); !status.has_value()) keep(status.error());
    }

    void fail(const std::string& what) { fail(table_, what); }

    Status finish() {
        for (const auto& [key, value] : table_) {
            if (std::ranges::find(asked_, key.str()) == asked_.end())
                return invalid(value, "unknown key " + shown(key.str()));
        }
        if (error_) return *error_;
        return Done{};
    }

private:
    const toml::node* find(std::string_view key) {
        asked_.push_back(key);
        const toml::node* const node = table_.get(key);
        if (node == nullptr) fail(fmt::format("{} is missing", key));
        return node;
    }

    void fail(const toml::node& node, const std::string& what) { keep(invalid(node, what)); }

    void keep(const Error& error) {
        if (!error_) error_ = error;
    }

    const toml::table& table_;
    std::vector<std::string_view> asked_;
    std::optional<Error> error_;
};

/// Words and changed words of entries that must add up to those of all words.
class Sum {
public:
    explicit Sum(const ChangeProfile& profile) : profile_(profile) {}

    /// False when there are more of them than words in all.
    bool add(std::uint64_t words, std::uint64_t changed) {
        if (changed > words || words > profile_.words - words_) return false;
        if (changed > profile_.changed - changed_) return false;
        words_ += words;
        changed_ += changed;
        return true;
    }
    bool complete() const { return words_ == profile_.words && changed_ == profile_.changed; }

private:
    const ChangeProfile& profile_;
    std::uint64_t words_ = 0;
    std::uint64_t changed_ = 0;
};

KindChange read_counts(StrictTable& entry, Sum& sum) {
    KindChange counts;
    counts.words = entry.natural("words", kWordsMax);
    counts.changed = entry.natural("changed", kWordsMax);
    if (!sum.add(counts.words, counts.changed)) entry.fail("more words or changes than there are");
    return counts;
}

/// Takes the entry if it comes behind those that are there.
template <class Key>
void insert(StrictTable& entry, Key key, KindChange counts, std::map<Key, KindChange>& entries) {
    if (!entries.empty() && !(entries.rbegin()->first < key)) entry.fail("is out of order");
    entries.emplace(std::move(key), counts);
}

void read_kinds(StrictTable& root, ChangeProfile& profile) {
    Sum sum(profile);
    root.list("kinds", [&](const toml::table& table) {
        StrictTable entry(table);
        std::string name = entry.text("name");
        insert(entry, std::move(name), read_counts(entry, sum), profile.kinds);
        return entry.finish();
    });
    if (!sum.complete()) root.fail("kinds do not add up to all words");
}

void read_layers(StrictTable& root, ChangeProfile& profile) {
    Sum sum(profile);
    root.list("layers", [&](const toml::table& table) {
        StrictTable entry(table);
        const std::uint64_t layer = entry.natural("layer", 999'999'999);
        insert(entry, layer, read_counts(entry, sum), profile.layers);
        return entry.finish();
    });
    root.table("outside_layers", [&](const toml::table& table) {
        StrictTable entry(table);
        profile.outside_layers = read_counts(entry, sum);
        return entry.finish();
    });
    if (!sum.complete()) root.fail("layers do not add up to all words");
}

void read_exponents(StrictTable& root, ChangeProfile& profile) {
    Sum sum(profile);
    root.list("exponents", [&](const toml::table& table) {
        StrictTable entry(table);
        ExponentChange exponent;
        const std::string type = entry.text("type");
        if (std::ranges::find(kTypeNames, type) == std::end(kTypeNames))
            entry.fail("type must be bf16 or f16, not " + shown(type));
        exponent.type = type == type_name(WordType::f16) ? WordType::f16 : WordType::bf16;
        exponent.exponent = static_cast<std::uint32_t>(
            entry.natural("exponent", exponent.type == WordType::f16 ? 31 : 255));
        const KindChange counts = read_counts(entry, sum);
        exponent.words = counts.words;
        exponent.changed = counts.changed;
        if (exponent.words == 0) entry.fail("has no words");
        const auto place = [](const ExponentChange& e) { return std::pair(e.type, e.exponent); };
        if (!profile.exponents.empty() && place(profile.exponents.back()) >= place(exponent))
            entry.fail("is out of order");
        profile.exponents.push_back(exponent);
        return entry.finish();
    });
    if (!sum.complete()) root.fail("exponents do not add up to all words");
}

void read_jumps(StrictTable& root, ChangeProfile& profile) {
    root.table("jumps", [&](const toml::table& table) {
        StrictTable entry(table);
        Jumps& jumps = profile.jumps;
        jumps.one = entry.natural("one", kWordsMax);
        jumps.two = entry.natural("two", kWordsMax);
        jumps.three_to_eight = entry.natural("three_to_eight", kWordsMax);
        jumps.more = entry.natural("more", kWordsMax);
        jumps.sign_flips = entry.natural("sign_flips", kWordsMax);
        if (jumps.one + jumps.two + jumps.three_to_eight + jumps.more != profile.changed)
            entry.fail("jumps do not add up to the changed words");
        if (jumps.sign_flips > profile.changed) entry.fail("more sign flips than changed words");
        return entry.finish();
    });
}

void read_codecs(StrictTable& root, ChangeProfile& profile) {
    root.list("codecs", [&](const toml::table& table) {
        StrictTable entry(table);
        CodecPayload codec;
        codec.name = entry.text("name");
        codec.container_bytes = entry.natural("container_bytes", kBytesMax);
        __extension__ using Wide = unsigned __int128;
        const Wide whole = Wide{codec.container_bytes} * profile.checkpoint_words;
        if (whole > Wide{kBytesMax} * profile.words) entry.fail("container_bytes is too large");
        if (!find_codec(codec.name).has_value()) entry.fail("unknown codec " + shown(codec.name));
        if (std::ranges::find(profile.codecs, codec.name, &CodecPayload::name) !=
            profile.codecs.end())
            entry.fail("the codec " + shown(codec.name) + " comes twice");
        profile.codecs.push_back(std::move(codec));
        return entry.finish();
    });
}

}  // namespace

std::string profile_toml(const ChangeProfile& profile) {
    const auto counts = [](const KindChange& kind) {
        return counts_text(kind.words, kind.changed);
    };
    const Jumps& jumps = profile.jumps;
    std::string text = fmt::format(
        "# What changed between two checkpoints: refit profile. The counts are exact.\n"
        "schema = \"{}\"\nbase = {}\nnext = {}\nsteps = {}\ncheckpoint_words = {}\nwords = {}\n"
        "changed = {}\nbound_bits_per_parameter = {}\n",
        kProfileSchema, quoted(profile.base), quoted(profile.next), profile.steps,
        profile.checkpoint_words, profile.words, profile.changed,
        decimal(profile.bound_bits_per_parameter));
    text += fmt::format(
        "other_bytes = {}\nother_coded_bytes = {}\nother_payload_bytes = {}\nheader_bytes = {}\n",
        profile.other_bytes, profile.other_coded_bytes, profile.other_payload_bytes,
        profile.header_bytes);
    text += fmt::format(
        "jumps = {{one = {}, two = {}, three_to_eight = {}, more = {}, sign_flips = {}}}\n",
        jumps.one, jumps.two, jumps.three_to_eight, jumps.more, jumps.sign_flips);
    text += list_text("codecs", profile.codecs, [](const CodecPayload& codec) {
        return fmt::format("name = {}, container_bytes = {}", quoted(codec.name),
                           codec.container_bytes);
    });
    text += list_text("kinds", profile.kinds, [&](const auto& kind) {
        return fmt::format("name = {}, {}", quoted(kind.first), counts(kind.second));
    });
    text += list_text("layers", profile.layers, [&](const auto& layer) {
        return fmt::format("layer = {}, {}", layer.first, counts(layer.second));
    });
    text += fmt::format("outside_layers = {{{}}}\n", counts(profile.outside_layers));
    text += list_text("exponents", profile.exponents, [](const ExponentChange& exponent) {
        return fmt::format("type = \"{}\", exponent = {}, {}", type_name(exponent.type),
                           exponent.exponent, counts_text(exponent.words, exponent.changed));
    });
    return text;
}

Result<ChangeProfile> parse_profile(std::string_view text) {
    if (text.size() > kProfileTextMax) {
        return Error{ErrorCode::invalid_input, fmt::format("the file has {} bytes, the limit is {}",
                                                           text.size(), kProfileTextMax)};
    }
    const toml::parse_result parsed = toml::parse(text);
    if (!parsed) {
        return Error{ErrorCode::invalid_input,
                     fmt::format("line {}: {}", parsed.error().source().begin.line,
                                 toml_reason(parsed.error()))};
    }
    StrictTable root(parsed.table());
    if (root.text("schema") != kProfileSchema)  // other schemas have other keys
        return Error{ErrorCode::invalid_input,
                     fmt::format("schema must be \"{}\"", kProfileSchema)};
    ChangeProfile profile;
    profile.base = root.text("base");
    profile.next = root.text("next");
    profile.steps = static_cast<std::uint32_t>(root.natural("steps", kNetStepsMax));
    profile.checkpoint_words = root.natural("checkpoint_words", kWordsMax);
    profile.words = root.natural("words", profile.checkpoint_words);
    if (profile.steps == 0 || profile.words == 0) root.fail("steps and words must be above 0");
    profile.changed = root.natural("changed", profile.words);
    profile.bound_bits_per_parameter = root.decimal("bound_bits_per_parameter", kBoundMax);
    profile.other_bytes = root.natural("other_bytes", kBytesMax);
    profile.other_coded_bytes = root.natural("other_coded_bytes", profile.other_bytes);
    profile.other_payload_bytes = root.natural("other_payload_bytes", kBytesMax);
    profile.header_bytes = root.natural("header_bytes", kBytesMax);
    read_jumps(root, profile);
    read_codecs(root, profile);
    read_kinds(root, profile);
    read_layers(root, profile);
    read_exponents(root, profile);
    REFIT_CHECK(root.finish());
    return profile;
}

Result<ChangeProfile> load_profile(const fs::path& path) {
    const std::string name = path.string();
    std::error_code ignored;
    if (!fs::exists(path, ignored)) return Error{ErrorCode::not_found, "no such file", name};
    if (!fs::is_regular_file(path, ignored))
        return Error{ErrorCode::invalid_input, "this is not a regular file", name};
    const File file(path, O_RDONLY);
    // One byte more than the limit is as wrong as many more.
    std::string text(std::min(file.bytes(), kProfileTextMax + 1), '\0');
    file.read_at(0, std::as_writable_bytes(std::span(text)));
    auto profile = parse_profile(text);
    if (!profile.has_value()) return in_file(profile.error(), name);
    return profile;
}

}  // namespace refit
