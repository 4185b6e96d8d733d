// The TOML form of an architecture.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "workloads/architecture.hpp"
#include "workloads/safetensors_json.hpp"
#include "workloads/text_file.hpp"
#include "workloads/toml_parser.hpp"

namespace refit {
namespace {

constexpr std::string_view kSchema = "refit.architecture/1";

Error invalid(std::string what) { return Error{ErrorCode::invalid_input, std::move(what)}; }

/// One table, key by key. After a failure nothing more is read; the first one is the status.
class Table {
public:
    Table(const toml::table& table, std::string prefix)
        : table_(table), prefix_(std::move(prefix)) {}

    void number(std::string_view key, std::uint64_t& out) {
        read<std::int64_t>(key, "a natural number", [&](std::int64_t value) {
            if (value < 0) return false;
            out = static_cast<std::uint64_t>(value);
            return true;
        });
    }
    void real(std::string_view key, double& out) {
        read<double>(key, "a number above 0 with a decimal point", [&](double value) {
            out = value;
            return value > 0 && value < std::numeric_limits<double>::max();
        });
    }
    void text(std::string_view key, std::string& out) {
        read<std::string>(key, "a text", [&](const std::string& value) {
            out = value;
            return !value.empty();
        });
    }
    /// A fact that most architectures lack: absent is false.
    void flag(std::string_view key, bool& out) {
        if (!table_.contains(key)) return known(key);
        read<bool>(key, "true or false", [&](bool value) {
            out = value;
            return true;
        });
    }
    void optional_number(std::string_view key, std::uint64_t& out) {
        if (!table_.contains(key)) return known(key);
        number(key, out);
    }
    void optional_text(std::string_view key, std::string& out) {
        if (!table_.contains(key)) return known(key);
        text(key, out);
    }

    /// Null without such a table.
    const toml::table* table(std::string_view key) {
        known(key);
        if (!table_.contains(key)) return nullptr;
        const toml::table* const inner = table_[key].as_table();
        if (inner == nullptr) fail(key, "must be a table");
        return inner;
    }

    Status finish() {
        if (error_) return *error_;
        for (const auto& [key, value] : table_) {
            if (std::ranges::find(known_, key.str()) == known_.end())
                return invalid("unknown key " + shown(prefix_ + std::string(key.str())));
        }
        return Done{};
    }

private:
    void known(std::string_view key) { known_.emplace_back(key); }

    void fail(std::string_view key, std::string_view reason) {
        if (!error_) error_ = invalid(fmt::format("{}{}: {}", prefix_, key, reason));
    }

    template <class T, class Accept>
    void read(std::string_view key, std::string_view kind, const Accept& accept) {
        known(key);
        if (!table_.contains(key)) return fail(key, "is missing");
        const auto value = table_[key].value_exact<T>();
        if (!value || !accept(*value)) fail(key, fmt::format("must be {}", kind));
    }

    const toml::table& table_;
    std::string prefix_;
    std::vector<std::string> known_;
    std::optional<Error> error_;
};

Status read_experts(const toml::table& toml, Experts& experts) {
    Table table(toml, "experts.");
    table.number("count", experts.count);
    table.number("per_token", experts.per_token);
    table.number("intermediate", experts.intermediate);
    table.optional_number("shared", experts.shared);
    table.optional_number("dense_layers", experts.dense_layers);
    table.flag("fused", experts.fused);
    table.flag("router_bias", experts.router_bias);
    table.flag("router_correction", experts.router_correction);
    return table.finish();
}

Status read_latent(const toml::table& toml, LatentAttention& latent) {
    Table table(toml, "latent.");
    table.number("q_rank", latent.q_rank);
    table.number("kv_rank", latent.kv_rank);
    table.number("plain", latent.plain);
    table.number("rotary", latent.rotary);
    table.number("value", latent.value);
    return table.finish();
}

Status read_published(const toml::table& toml, Architecture& architecture) {
    Table table(toml, "published.");
    table.real("billion", architecture.published_billion);
    table.real("active_billion", architecture.published_active_billion);
    return table.finish();
}

Status check_totals(const toml::table& toml, const Architecture& architecture) {
    const ArchitectureTotals sums = totals(architecture);
    struct Sum {
        std::string_view key;
        std::uint64_t counted;
    };
    Table table(toml, "totals.");
    std::vector<std::pair<Sum, std::uint64_t>> pairs{{{"parameters", sums.all.parameters}, 0},
                                                     {{"active", sums.all.active}, 0},
                                                     {{"tensors", sums.all.tensors}, 0},
                                                     {{"mtp_parameters", sums.mtp.parameters}, 0},
                                                     {{"mtp_tensors", sums.mtp.tensors}, 0}};
    for (auto& [sum, written] : pairs) table.number(sum.key, written);
    REFIT_CHECK(table.finish());
    for (const auto& [sum, written] : pairs) {
        if (written == sum.counted) continue;
        return invalid(fmt::format("totals.{}: {} is written, the tensors give {}", sum.key,
                                   written, sum.counted));
    }
    return Done{};
}

Status read_bias(const std::string& text, AttentionBias& bias) {
    constexpr std::pair<std::string_view, AttentionBias> kBiases[] = {
        {"none", AttentionBias::none}, {"qkv", AttentionBias::qkv}, {"qkvo", AttentionBias::qkvo}};
    for (const auto& [name, value] : kBiases) {
        if (name != text) continue;
        bias = value;
        return Done{};
    }
    return invalid("attention_bias: must be none, qkv or qkvo");
}

}  // namespace

Result<Architecture> parse_architecture(std::string_view text) {
    const toml::parse_result parsed = toml::parse(text);
    if (!parsed) {
        return invalid(fmt::format("line {}: {}", parsed.error().source().begin.line,
                                   toml_reason(parsed.error())));
    }
    Architecture a;
    std::string schema;
    std::string bias = "none";
    Table root(parsed.table(), "");
    root.text("schema", schema);
    if (!schema.empty() && schema != kSchema)
        return invalid(fmt::format("schema: must be {}", kSchema));
    root.text("name", a.name);
    root.text("source", a.source);
    root.flag("recalled", a.recalled);
    root.number("hidden", a.hidden);
    root.number("layers", a.layers);
    root.number("heads", a.heads);
    const toml::table* const latent = root.table("latent");
    if (latent == nullptr) {
        root.number("kv_heads", a.kv_heads);
        root.number("head_dim", a.head_dim);
    }
    root.number("intermediate", a.intermediate);
    root.number("vocabulary", a.vocabulary);
    root.optional_number("mtp_layers", a.mtp_layers);
    root.flag("tied_embeddings", a.tied_embeddings);
    root.flag("qk_norm", a.qk_norm);
    root.flag("sinks", a.sinks);
    root.optional_text("attention_bias", bias);
    const toml::table* const experts = root.table("experts");
    const toml::table* const published = root.table("published");
    const toml::table* const written = root.table("totals");
    REFIT_CHECK(root.finish());
    REFIT_CHECK(read_bias(bias, a.attention_bias));
    if (latent != nullptr) REFIT_CHECK(read_latent(*latent, a.latent.emplace()));
    if (experts != nullptr) REFIT_CHECK(read_experts(*experts, a.experts.emplace()));
    if (published != nullptr) REFIT_CHECK(read_published(*published, a));
    REFIT_CHECK(check_architecture(a));
    if (written == nullptr) return invalid("totals: is missing");
    REFIT_CHECK(check_totals(*written, a));
    return a;
}

Result<Architecture> load_architecture(const std::filesystem::path& file) {
    if (file.extension() == ".json") return architecture_of_config(file);
    auto text = load_text_file(file);
    if (!text.has_value()) return in_file(text.error(), file.string());
    auto architecture = parse_architecture(text.value());
    if (!architecture.has_value()) return in_file(architecture.error(), file.string());
    return architecture;
}

}  // namespace refit
