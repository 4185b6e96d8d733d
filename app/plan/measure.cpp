#include "app/plan/measure.hpp"

#include <fmt/format.h>

#include "app/output_file.hpp"
#include "app/reproduce/study.hpp"
#include "engine/codec/codec.hpp"
#include "scenarios/shipped.hpp"
#include "workloads/payloads.hpp"

namespace refit {
namespace {

// One step's changes at the rates that were published and those around them.
constexpr const char* kProfiles[] = {"adam", "real", "uniform", "constant-density", "clustered"};
constexpr double kRates[] = {0.003, 0.01, 0.03, 0.05, 0.1};
constexpr Words kBudget{std::uint64_t{16} << 20};  // two tiles a stratum are more
constexpr std::uint64_t kSeed = 1;

}  // namespace

Status measure_payloads(const Console& console, Device& device, const std::filesystem::path& file) {
    REFIT_TRY(output, OutputFile::create(file));
    REFIT_TRY(shipped, find_scenario("model", console.data_root));
    REFIT_TRY(scenario, load_scenario(shipped, console.data_root, {}));
    Study study(console, device, scenario, kBudget);
    std::vector<PayloadRow> rows;
    for (const char* profile : kProfiles) {
        for (const double changed : kRates) {
            for (const auto& codec : builtin_codecs()) {
                REFIT_TRY(delta, study.bits(std::string(kPayloadModel), {profile, changed, kSeed},
                                            std::string(codec->name())));
                rows.push_back({profile, changed, std::string(codec->name()),
                                delta->row.bits_per_parameter()});
            }
            console.note(fmt::format("{} at {:g} %", profile, 100 * changed));
        }
    }
    output->write(as_byte_span(payloads_csv(rows)));
    output->commit();
    return Done{};
}

}  // namespace refit
