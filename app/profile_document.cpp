#include <nlohmann/json.hpp>

#include "app/profile_report.hpp"
#include "engine/observe/figure.hpp"
#include "workloads/one_step.hpp"

namespace refit {
namespace {

using Json = nlohmann::ordered_json;

Json figure(double value, const char* unit, Provenance provenance) {
    return {{"value", value}, {"unit", unit}, {"provenance", provenance_name(provenance)}};
}

Json measured(double value, const char* unit) { return figure(value, unit, Provenance::measured); }

Json share(std::uint64_t part, std::uint64_t whole) {
    return measured(whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole), "1");
}

/// `entry` and what its words did.
Json with_counts(Json entry, const KindChange& counts) {
    entry["words"] = counts.words;
    entry["changed_words"] = counts.changed;
    entry["changed"] = share(counts.changed, counts.words);
    return entry;
}

Json codec_json(const ProfileReport& report, std::size_t i) {
    const ChangeProfile& profile = report.profile;
    const CodecPayload& codec = profile.codecs[i];
    const double bits = bits_per_parameter(profile, codec);
    const double bound = profile.bound_bits_per_parameter;
    const std::uint64_t bytes = delta_bytes(profile, codec);
    const Provenance of_bytes = profile.whole() ? Provenance::measured : Provenance::extrapolated;
    const Nanoseconds time = transmit_time(Bytes{bytes}, report.link);
    return {{"name", codec.name},
            {"container_bytes", codec.container_bytes},
            {"bits_per_parameter", measured(bits, "bit/parameter")},
            {"ratio_to_bound", bound > 0 ? measured(bits / bound, "1") : Json()},
            {"payload_bytes", figure(static_cast<double>(bytes), "B", of_bytes)},
            {"link_seconds", figure(to_seconds(time), "s", Provenance::extrapolated)},
            {"exact", report.proofs[i].exact}};
}

Json jumps_json(const ChangeProfile& profile) {
    const Jumps& jumps = profile.jumps;
    return {{"one", share(jumps.one, profile.changed)},
            {"two", share(jumps.two, profile.changed)},
            {"three_to_eight", share(jumps.three_to_eight, profile.changed)},
            {"more", share(jumps.more, profile.changed)},
            {"sign_flips", share(jumps.sign_flips, profile.changed)}};
}

Json exponent_json(const ExponentChange& exponent, const ChangeProfile& profile) {
    const auto power = power_of_two(exponent);
    Json json = with_counts({{"type", exponent.type == WordType::f16 ? "f16" : "bf16"},
                             {"exponent", exponent.exponent},
                             {"power_of_two", power ? Json(*power) : Json()}},
                            {exponent.words, exponent.changed});
    json["share"] = share(exponent.words, profile.words);
    json["one_step"] = profile.steps == 1 ? Json()
                                          : figure(one_step_changed(exponent, profile.steps), "1",
                                                   Provenance::extrapolated);
    return json;
}

Json one_step_json(const ChangeProfile& profile) {
    if (profile.steps == 1) return nullptr;
    return {{"changed", figure(one_step_changed(profile), "1", Provenance::extrapolated)},
            {"growth", figure(net_growth(profile.steps), "1", Provenance::extrapolated)}};
}

Json others_json(const ProfileReport& report) {
    const ChangeProfile& profile = report.profile;
    const bool all = profile.other_coded_bytes == profile.other_bytes;
    return {{"tensors", report.other_tensors},
            {"bytes", profile.other_bytes},
            {"coded_bytes", profile.other_coded_bytes},
            {"payload_bytes", figure(static_cast<double>(profile.other_payload_bytes), "B",
                                     all ? Provenance::measured : Provenance::extrapolated)}};
}

}  // namespace

nlohmann::ordered_json profile_document(const ProfileReport& report) {
    const ChangeProfile& profile = report.profile;
    Json json{
        {"schema", kProfileSchema},
        {"base", profile.base},
        {"next", profile.next},
        {"seed", report.seed},
        {"words", profile.words},
        {"checkpoint_words", profile.checkpoint_words},
        {"sampled_fraction", profile.sampled_fraction()},
        {"steps", profile.steps},
        {"changed", share(profile.changed, profile.words)},
        {"one_step", one_step_json(profile)},
        {"jumps", jumps_json(profile)},
        {"bound_bits_per_parameter", measured(profile.bound_bits_per_parameter, "bit/parameter")},
        {"link",
         {{"bits_per_second",
           figure(static_cast<double>(report.link.count), "bit/s", Provenance::extrapolated)},
          {"source", report.link_source}}}};
    for (const char* list : {"codecs", "kinds", "layers", "exponents"}) json[list] = Json::array();
    for (std::size_t i = 0; i < profile.codecs.size(); ++i)
        json["codecs"].push_back(codec_json(report, i));
    for (const auto& [name, counts] : profile.kinds)
        json["kinds"].push_back(with_counts({{"name", name}}, counts));
    for (const auto& [layer, counts] : profile.layers)
        json["layers"].push_back(with_counts({{"layer", layer}}, counts));
    for (const ExponentChange& exponent : profile.exponents)
        json["exponents"].push_back(exponent_json(exponent, profile));
    json["outside_layers"] = with_counts(Json::object(), profile.outside_layers);
    json["others"] = others_json(report);
    json["header_bytes"] = profile.header_bytes;
    json["host"] = {{"cpu", report.cpu},
                    {"device", report.device},
                    {"version", REFIT_VERSION},
                    {"wall_seconds", report.wall_seconds}};
    return json;
}

}  // namespace refit
