#include "scenarios/toml_document.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <limits>
#include <set>

#include "scenarios/nearest.hpp"
#include "scenarios/scenario.hpp"
#include "workloads/toml_parser.hpp"

namespace refit {
namespace {

constexpr std::uintmax_t kFileMax = 1 << 20;  // a scenario is written by hand
constexpr std::string_view kOverride = "--set ";

/// Where a node was written; `fallback` when it has no place of its own.
std::string place_of(const toml::source_region& region, const std::string& fallback) {
    if (!region.path) return fallback;
    if (region.path->starts_with(kOverride)) return *region.path;
    if (!region.begin) return *region.path;
    return *region.path + ":" + std::to_string(region.begin.line);
}

std::string type_name(const toml::node& node) {
    switch (node.type()) {
        case toml::node_type::table:
            return "a table";
        case toml::node_type::array:
            return "an array";
        case toml::node_type::string:
            return "text";
        case toml::node_type::integer:
            return "an integer";
        case toml::node_type::floating_point:
            return "a decimal";
        case toml::node_type::boolean:
            return "a boolean";
        default:
            return "a date";
    }
}

std::vector<std::string> split_key(std::string_view key) {
    std::vector<std::string> parts(1);
    for (const char c : key) {
        if (c == '.')
            parts.emplace_back();
        else
            parts.back() += c;
    }
    return parts;
}

/// The child `part` of a table or array, nullptr if there is none.
toml::node* child_of(toml::node& parent, const std::string& part) {
    if (toml::table* table = parent.as_table()) return table->get(part);
    toml::array* array = parent.as_array();
    std::size_t index = 0;
    const auto [end, failure] = std::from_chars(part.data(), part.data() + part.size(), index);
    const bool number = failure == std::errc{} && end == part.data() + part.size();
    return array != nullptr && number ? array->get(index) : nullptr;
}

/// `text` as a TOML string: parsing it, rather than making a node, gives the node its place.
std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7F) {
            constexpr std::string_view kHex = "0123456789ABCDEF";
            out += "\\u00";
            out += kHex[byte >> 4];
            out += kHex[byte & 15];
        } else {
            if (c == '"' || c == '\\') out += '\\';
            out += c;
        }
    }
    return out + '"';
}

Error bad_override(const std::string& place, const std::string& what) {
    return Error{ErrorCode::invalid_input, what, place};
}

}  // namespace

struct TomlDocument::State {
    toml::table root;
    std::string file;
    std::shared_ptr<std::vector<Error>> errors = std::make_shared<std::vector<Error>>();
};

struct TomlTable::State {
    toml::table* table;  // nullptr: the table is absent
    std::string key;     // dotted, empty for the root
    std::string place;
    std::shared_ptr<std::vector<Error>> errors;
    std::set<std::string, std::less<>> asked;

    std::string full_key(std::string_view name) const {
        if (key.empty() || name.empty()) return key + std::string(name);
        return key + "." + std::string(name);
    }
    toml::node* find(std::string_view name) {
        asked.emplace(name);
        return table == nullptr ? nullptr : table->get(name);
    }
};

TomlDocument::TomlDocument(std::unique_ptr<State> state) : state_(std::move(state)) {}
TomlDocument::TomlDocument(TomlDocument&&) noexcept = default;
TomlDocument& TomlDocument::operator=(TomlDocument&&) noexcept = default;
TomlDocument::~TomlDocument() = default;

Result<TomlDocument> TomlDocument::parse_file(const std::filesystem::path& file) {
    const std::string name = file.string();
    std::error_code failure;
    if (!std::filesystem::exists(file, failure)) {
        return Error{ErrorCode::not_found, "no such file", name};
    }
    if (!std::filesystem::is_regular_file(file, failure)) {
        return Error{ErrorCode::invalid_input, "is not a file", name};
    }
    if (std::filesystem::file_size(file, failure) > kFileMax) {
        return Error{ErrorCode::invalid_input, "is over 1 MiB: not a scenario", name};
    }
    std::ifstream stream(file, std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(stream), {});
    if (!stream) return Error{ErrorCode::invalid_input, "cannot be read", name};
    return parse(text, name);
}

Result<TomlDocument> TomlDocument::parse(std::string_view text, const std::string& name) {
    toml::parse_result parsed = toml::parse(text, name);
    if (!parsed) {
        return Error{ErrorCode::invalid_input, toml_reason(parsed.error()),
                     place_of(parsed.error().source(), name)};
    }
    auto state = std::make_unique<State>();
    state->root = std::move(parsed).table();
    state->file = name;
    return TomlDocument(std::move(state));
}

Status TomlDocument::set(std::string_view key, std::string_view value) {
    const std::string place = std::string(kOverride) + std::string(key) + "=" + std::string(value);
    toml::parse_result parsed = toml::parse("v = " + std::string(value), place);
    if (!parsed || parsed.table().size() != 1) parsed = toml::parse("v = " + quoted(value), place);
    if (!parsed) return bad_override(place, "the value is not UTF-8 text");
    toml::table entry = std::move(parsed).table();
    const std::vector<std::string> parts = split_key(key);
    toml::node* parent = &state_->root;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (parts[i].empty()) return bad_override(place, "the key has an empty part");
        const bool last = i + 1 == parts.size();
        toml::node* next = child_of(*parent, parts[i]);
        toml::table* table = parent->as_table();
        if (table == nullptr && next == nullptr) {
            return bad_override(place, parts[i] + " is not an entry of " + type_name(*parent));
        }
        if (!last) {
            if (next == nullptr) {
                table->insert_or_assign(parts[i], toml::table{});
                next = table->get(parts[i]);
            }
            parent = next;
        } else if (table != nullptr) {
            table->insert_or_assign(parts[i], std::move(*entry.get("v")));
        } else {
            toml::array& array = *parent->as_array();
            const auto at = array.cbegin() + std::stol(parts[i]);
            array.replace(at, std::move(*entry.get("v")));
        }
    }
    return Done{};
}

void TomlDocument::graft(std::string_view key, TomlDocument other) {
    state_->root.insert_or_assign(key, std::move(other.state_->root));
}

TomlTable TomlDocument::root() {
    auto state = std::make_shared<TomlTable::State>();
    state->table = &state_->root;
    state->place = state_->file;
    state->errors = state_->errors;
    return TomlTable(std::move(state));
}

Status TomlDocument::status() const {
    if (state_->errors->empty()) return Done{};
    return state_->errors->front();
}

TomlTable::TomlTable(std::shared_ptr<State> state) : state_(std::move(state)) {}

bool TomlTable::has(std::string_view key) const { return state_->find(key) != nullptr; }

bool TomlTable::is_text(std::string_view key) const {
    const toml::node* node = state_->find(key);
    return node != nullptr && node->is_string();
}

void TomlTable::fail(std::string_view key, const std::string& reason) {
    const toml::node* node = state_->find(key);
    std::string place = state_->place;
    if (node != nullptr) place = place_of(node->source(), place);
    const std::string name = state_->full_key(key);
    state_->errors->push_back(
        Error{ErrorCode::invalid_input, name.empty() ? reason : name + ": " + reason, place});
}

void TomlTable::finish() {
    if (state_->table == nullptr || !state_->errors->empty()) return;
    const std::vector<std::string> known(state_->asked.begin(), state_->asked.end());
    for (const auto& [key, node] : *state_->table) {
        const std::string name(key.str());
        if (std::find(known.begin(), known.end(), name) != known.end()) continue;
        const std::string hint = nearest_name(name, known);
        fail(name, "unknown key" + (hint.empty() ? "" : "; did you mean " + hint + "?"));
        return;
    }
}

TomlTable TomlTable::table(std::string_view key) {
    auto state = std::make_shared<State>();
    toml::node* node = state_->find(key);
    if (node != nullptr && !node->is_table()) fail(key, "must be a table, not " + type_name(*node));
    state->table = node == nullptr ? nullptr : node->as_table();
    state->key = state_->full_key(key);
    state->place = node == nullptr ? state_->place : place_of(node->source(), state_->place);
    state->errors = state_->errors;
    return TomlTable(std::move(state));
}

std::vector<TomlTable> TomlTable::tables(std::string_view key) {
    std::vector<TomlTable> found;
    toml::node* node = state_->find(key);
    if (node == nullptr) return found;
    toml::array* array = node->as_array();
    if (array == nullptr) {
        fail(key, "must be an array of tables, not " + type_name(*node));
        return found;
    }
    for (std::size_t i = 0; i < array->size(); ++i) {
        toml::node& entry = *array->get(i);
        auto state = std::make_shared<State>();
        state->table = entry.as_table();
        state->key = state_->full_key(key) + "[" + std::to_string(i) + "]";
        state->place = place_of(entry.source(), place_of(node->source(), state_->place));
        state->errors = state_->errors;
        TomlTable table(std::move(state));
        if (!entry.is_table()) table.fail("", "must be a table, not " + type_name(entry));
        found.push_back(std::move(table));
    }
    return found;
}

void TomlTable::read(std::string_view key, std::string& out) {
    const toml::node& node = *state_->find(key);
    const auto text = node.value_exact<std::string>();
    if (!text) return fail(key, "must be text, not " + type_name(node));
    out = *text;
}

void TomlTable::read(std::string_view key, bool& out) {
    const toml::node& node = *state_->find(key);
    const auto flag = node.value_exact<bool>();
    if (!flag) return fail(key, "must be true or false, not " + type_name(node));
    out = *flag;
}

void TomlTable::read(std::string_view key, std::uint64_t& out) {
    const toml::node& node = *state_->find(key);
    const auto number = node.value_exact<std::int64_t>();
    if (!number) return fail(key, "must be an integer, not " + type_name(node));
    if (*number < 0) return fail(key, "must not be negative");
    out = static_cast<std::uint64_t>(*number);
}

void TomlTable::read(std::string_view key, std::uint32_t& out) {
    const std::size_t errors = state_->errors->size();
    std::uint64_t wide = out;
    read(key, wide);
    if (state_->errors->size() > errors) return;
    if (wide > std::numeric_limits<std::uint32_t>::max()) return fail(key, "is too large");
    out = static_cast<std::uint32_t>(wide);
}

void TomlTable::read(std::string_view key, double& out) {
    const toml::node& node = *state_->find(key);
    if (!node.is_number()) return fail(key, "must be a number, not " + type_name(node));
    out = *node.value<double>();
}

void TomlTable::read(std::string_view key, std::vector<std::string>& out) {
    const toml::node& node = *state_->find(key);
    if (!node.is_array()) return fail(key, "must be an array of text, not " + type_name(node));
    out.clear();
    for (const toml::node& entry : *node.as_array()) {
        const auto text = entry.value_exact<std::string>();
        if (!text) return fail(key, "must be an array of text, but holds " + type_name(entry));
        out.push_back(*text);
    }
}

namespace {

/// Hands the text of a quantity to its parser; what goes wrong is told through `fail`.
template <class T, class Parse, class Fail>
void read_quantity(const toml::node& node, T& out, Parse parse, Fail fail) {
    const auto text = node.value_exact<std::string>();
    if (!text) return fail("must be text with a unit, not " + type_name(node));
    auto quantity = parse(*text);
    if (!quantity.has_value()) return fail(quantity.error().what);
    out = quantity.value();
}

}  // namespace

void TomlTable::read(std::string_view key, Bytes& out) {
    read_quantity(*state_->find(key), out, parse_bytes,
                  [&](const std::string& reason) { fail(key, reason); });
}

void TomlTable::read(std::string_view key, BitsPerSecond& out) {
    read_quantity(*state_->find(key), out, parse_bit_rate,
                  [&](const std::string& reason) { fail(key, reason); });
}

void TomlTable::read(std::string_view key, BytesPerSecond& out) {
    read_quantity(*state_->find(key), out, parse_byte_rate,
                  [&](const std::string& reason) { fail(key, reason); });
}

void TomlTable::read(std::string_view key, FlopPerSecond& out) {
    read_quantity(*state_->find(key), out, parse_flop_rate,
                  [&](const std::string& reason) { fail(key, reason); });
}

void TomlTable::read(std::string_view key, Nanoseconds& out) {
    read_quantity(*state_->find(key), out, parse_duration,
                  [&](const std::string& reason) { fail(key, reason); });
}

}  // namespace refit
