// The tables of `refit reproduce` for people, for programs and for spreadsheets.
//
// JSON     schema "refit.reproduce/1", documented in results/README.md.
// Exact    the same tables give the same bytes; what this machine took stands under `host`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "app/reproduce/tables.hpp"
#include "engine/record.hpp"
#include "workloads/verdicts.hpp"

namespace refit {

struct ReproduceResult {
    ReproduceSpec spec;
    ReproduceTables tables;
    std::vector<Verdict> verdicts;
    std::uint64_t link_bits_per_second = 0;
    std::string link_source;
    std::string declared_rates;
    Words words_sampled;
    HostFacts host;
    std::string commit;  // of the program, where it is known
};

std::vector<std::string> reproduce_text(const ReproduceResult& result);
nlohmann::ordered_json reproduce_json(const ReproduceResult& result);

/// A table each: file name and contents.
struct NamedText {
    std::string name;
    std::string text;
};
std::vector<NamedText> reproduce_csv(const ReproduceResult& result);

/// Table A as a picture: seconds by codec and profile, published marks hollow. One SVG file.
std::string reproduce_picture(const nlohmann::ordered_json& document);

/// All tables as a page, and the few lines README.md shows, from the JSON document.
std::string reproduce_page(const nlohmann::ordered_json& document);
std::string reproduce_summary(const nlohmann::ordered_json& document);

}  // namespace refit
