#include <cctype>

#include "tests/house/rules.hpp"

namespace refit::house {
namespace {

/// Walks C++ text and blanks what is not code.
class Blanker {
public:
    explicit Blanker(std::string_view text) : text_(text) {}

    std::string run() {
        while (at_ < text_.size()) step();
        return std::move(out_);
    }

private:
    bool next_is(std::string_view what) const { return text_.substr(at_).starts_with(what); }
    void keep() { out_ += text_[at_++]; }
    void blank() { out_ += text_[at_++] == '\n' ? '\n' : ' '; }

    void step() {
        if (next_is("//")) {
            while (at_ < text_.size() && text_[at_] != '\n') blank();
        } else if (next_is("/*")) {
            blank_past("*/");
        } else if (next_is("R\"")) {
            const std::size_t open = text_.find('(', at_);
            if (open == std::string_view::npos) return keep();
            const std::string close =
                ")" + std::string(text_.substr(at_ + 2, open - at_ - 2)) + "\"";
            blank_past(close);
        } else if (text_[at_] == '"') {
            blank_literal('"');
        } else if (text_[at_] == '\'' && !is_separator()) {
            blank_literal('\'');
        } else {
            keep();
        }
    }

    /// The ' of 1'000 is no literal.
    bool is_separator() const {
        return at_ > 0 && std::isalnum(static_cast<unsigned char>(text_[at_ - 1])) != 0;
    }

    void blank_past(std::string_view close) {
        const std::size_t found = text_.find(close, at_ + 1);
        const std::size_t end =
            found == std::string_view::npos ? text_.size() : found + close.size();
        while (at_ < end) blank();
    }

    void blank_literal(char quote) {
        keep();
        while (at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n') {
            if (text_[at_] == '\\' && at_ + 1 < text_.size()) blank();
            blank();
        }
        if (at_ < text_.size() && text_[at_] == quote) keep();
    }

    std::string_view text_;
    std::size_t at_ = 0;
    std::string out_;
};

}  // namespace

std::string blank_out(std::string_view text) { return Blanker(text).run(); }

}  // namespace refit::house
