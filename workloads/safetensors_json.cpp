#include "workloads/safetensors_json.hpp"

#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_set>
#include <vector>

#include "engine/coords/catalog.hpp"

namespace refit {

namespace {

constexpr std::size_t kLevelsMax = 32;
constexpr std::size_t kShownMax = 80;

/// The parser's callbacks. They return false to stop it; the reason is then in error().
class Walker final : public nlohmann::json_sax<nlohmann::json> {
public:
    Walker(std::string_view subject, const JsonVisitor& visit) : subject_(subject), visit_(visit) {}

    Error error() const {
        REFIT_ASSERT(error_.has_value());
        return *error_;
    }

    bool null() override { return scalar({path_, JsonKind::null}); }
    bool boolean(bool truth) override { return scalar({path_, JsonKind::boolean, 0, {}, truth}); }
    bool number_integer(number_integer_t) override { return scalar({path_, JsonKind::number}); }
    bool number_unsigned(number_unsigned_t value) override {
        return scalar({path_, JsonKind::natural, value});
    }
    bool number_float(number_float_t, const string_t&) override {
        return scalar({path_, JsonKind::number});
    }
    bool string(string_t& text) override { return scalar({path_, JsonKind::text, 0, text}); }
    bool binary(binary_t&) override { return stop("is not text"); }

    bool start_object(std::size_t) override { return open(JsonKind::object); }
    bool end_object() override { return close(); }
    bool start_array(std::size_t) override { return open(JsonKind::array); }
    bool end_array() override { return close(); }

    bool key(string_t& name) override {
        if (!keys_.back().insert(name).second) return stop("has the key " + shown(name) + " twice");
        path_.back() = name;
        return true;
    }

    bool parse_error(std::size_t byte,
                     const std::string&,
                     const nlohmann::json::exception&) override {
        return stop("is not valid JSON at byte " + std::to_string(byte));
    }

private:
    bool stop(const std::string& reason) {
        error_ = Error{ErrorCode::invalid_input, std::string(subject_) + " " + reason};
        return false;
    }

    bool scalar(const JsonValue& value) {
        Status status = visit_(value);
        if (!status.has_value()) error_ = status.error();
        return status.has_value();
    }

    bool open(JsonKind kind) {
        if (!scalar({path_, kind})) return false;
        if (keys_.size() == kLevelsMax)
            return stop("is nested deeper than " + std::to_string(kLevelsMax) + " levels");
        keys_.emplace_back();
        path_.emplace_back();
        return true;
    }

    bool close() {
        keys_.pop_back();
        path_.pop_back();
        return true;
    }

    std::string_view subject_;
    const JsonVisitor& visit_;
    std::vector<std::string> path_;
    std::vector<std::unordered_set<std::string>> keys_;  // of the open levels
    std::optional<Error> error_;
};

}  // namespace

Status walk_json(std::string_view json, std::string_view subject, const JsonVisitor& visit) {
    // The parser takes a zero byte for the end and would accept anything behind it.
    if (const std::size_t zero = json.find('\0'); zero != json.npos) {
        return Error{
            ErrorCode::invalid_input,
            std::string(subject) + " is not valid JSON at byte " + std::to_string(zero + 1)};
    }
    Walker walker(subject, visit);
    if (!nlohmann::json::sax_parse(json, &walker)) return walker.error();
    return Done{};
}

std::string shown(std::string_view name) {
    return quoted_name(name.substr(0, kShownMax)) + (name.size() > kShownMax ? "..." : "");
}

}  // namespace refit
