#include "viz/codec_view.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "viz/report/html.hpp"

namespace refit {

namespace {

using Json = nlohmann::ordered_json;

CodecBar refit_bar(const Json& refit, double words) {
    const double bits = 8 * refit["payload_bytes"].get<double>();
    CodecBar bar{"refit " + refit["version"].dump(), bits / words, "", {}, CodecBar::Of::refit};
    bar.note = report::bytes_text(bits / 8);
    const double changed = refit.value("changed_words", 0.0);
    if (changed > 0) bar.note += ", " + report::number(bits / changed) + " bits a change";
    return bar;
}

}  // namespace

CodecView view_codec(const Json& record) {
    const Json& codec = record["codec"];
    const Json& bits = codec["bits_per_parameter"];
    const Json& bound = codec["bound_bits_per_parameter"];
    const double words = record["model"]["parameters"];
    CodecView view;
    view.bound = bound["value"];
    view.bound_provenance = bound["provenance"];
    view.provenance = bits["provenance"];
    view.ratio_to_bound = codec["ratio_to_bound"]["value"];
    for (const Json& full : record["full"]["baselines"]) {
        const double bytes = full["payload_bytes"];
        view.bars.push_back({full["codec"], 8 * bytes / words, report::bytes_text(bytes), {}});
    }
    CodecBar ours{codec["name"], bits["value"], "", {}, CodecBar::Of::run};
    if (view.bound > 0) ours.note = report::number(view.ratio_to_bound) + " x the bound";
    if (bits.contains("ci95")) ours.ci95 = {bits["ci95"][0], bits["ci95"][1]};
    view.bars.push_back(ours);
    // One refit is the run.
    if (record["refits"].size() > 1)
        for (const Json& refit : record["refits"]) view.bars.push_back(refit_bar(refit, words));
    double low = view.bound > 0 ? view.bound : 1e300;
    double high = view.bound;
    for (const CodecBar& bar : view.bars) {
        if (bar.bits <= 0) continue;
        low = std::min(low, bar.bits);
        high = std::max(high, bar.bits);
    }
    if (high > 0) view.axis = log_axis(low, high);
    return view;
}

}  // namespace refit
