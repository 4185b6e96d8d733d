// A TOML file read strictly: every key asked for once, every key not asked for is an error.
//
// Use      parse, set() the overrides, then read tables through TomlTable and call finish() on
//          each. A getter after a failure does nothing, so reading code stays a flat list; the
//          first failure is what status() yields.
// Errors   where: "file:line", or the override "--set key=value"; what: "key: reason".
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.hpp"
#include "engine/base/units.hpp"

namespace refit {

/// One table of a document. Cheap to copy; must not outlive the document.
class TomlTable {
public:
    bool has(std::string_view key) const;
    bool is_text(std::string_view key) const;

    /// required(): the key must be there. optional(): `out` keeps its value without it.
    /// Types: std::string, bool, std::uint64_t, std::uint32_t, double, std::vector<std::string>,
    /// Bytes, BitsPerSecond, BytesPerSecond, FlopPerSecond, Nanoseconds (text with a unit).
    template <class T>
    void required(std::string_view key, T& out) {
        if (!has(key)) return fail(key, "is missing");
        read(key, out);
    }
    template <class T>
    void optional(std::string_view key, T& out) {
        if (has(key)) read(key, out);
    }

    /// A table under `key`; empty if the key is absent.
    TomlTable table(std::string_view key);
    /// The tables of an array of tables; none if the key is absent.
    std::vector<TomlTable> tables(std::string_view key);

    /// Records a failure at `key`, or at the table itself for an empty or absent key.
    void fail(std::string_view key, const std::string& reason);
    /// Fails on the first key nobody asked for.
    void finish();

private:
    friend class TomlDocument;
    struct State;
    explicit TomlTable(std::shared_ptr<State> state);

    void read(std::string_view key, std::string& out);
    void read(std::string_view key, bool& out);
    void read(std::string_view key, std::uint64_t& out);
    void read(std::string_view key, std::uint32_t& out);
    void read(std::string_view key, double& out);
    void read(std::string_view key, std::vector<std::string>& out);
    void read(std::string_view key, Bytes& out);
    void read(std::string_view key, BitsPerSecond& out);
    void read(std::string_view key, BytesPerSecond& out);
    void read(std::string_view key, FlopPerSecond& out);
    void read(std::string_view key, Nanoseconds& out);

    std::shared_ptr<State> state_;
};

class TomlDocument {
public:
    static Result<TomlDocument> parse_file(const std::filesystem::path& file);
    /// `name` stands for the text's file in errors.
    static Result<TomlDocument> parse(std::string_view text, const std::string& name);
    TomlDocument(TomlDocument&&) noexcept;
    TomlDocument& operator=(TomlDocument&&) noexcept;
    ~TomlDocument();

    /// Sets a dotted key ("delta.chunk", "fault.0.node") to a TOML value, or to a bare string if
    /// `value` is no TOML. Missing tables are made; missing array entries are an error.
    Status set(std::string_view key, std::string_view value);

    /// Puts the other document's root in place of whatever is under `key`.
    void graft(std::string_view key, TomlDocument other);

    TomlTable root();
    Status status() const;

private:
    struct State;
    explicit TomlDocument(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace refit
