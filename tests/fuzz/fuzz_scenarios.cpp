#include "scenarios/requirement.hpp"
#include "scenarios/scenario.hpp"
#include "tests/fuzz/targets.hpp"

namespace refit::fuzz {

int fuzz_scenario(ByteSpan bytes) {
    const auto scenario = parse_scenario(as_text(bytes), "it");
    if (!scenario.has_value()) {
        REFIT_ASSERT(!scenario.error().what.empty());
        return 0;
    }
    const Status status = validate(scenario.value());
    REFIT_ASSERT(status.has_value() || !status.error().what.empty());
    return 0;
}

int fuzz_quantities(ByteSpan bytes) {
    if (bytes.empty()) return 0;
    const std::string_view text = as_text(bytes.subspan(1));
    const auto check = [](const auto& parsed) {
        REFIT_ASSERT(parsed.has_value() || !parsed.error().what.empty());
        return parsed.has_value();
    };
    switch (std::to_integer<unsigned>(bytes[0]) % 5) {
        case 0:
            check(parse_bytes(text));
            break;
        case 1:
            check(parse_bit_rate(text));
            break;
        case 2:
            check(parse_byte_rate(text));
            break;
        case 3: {
            const auto duration = parse_duration(text);
            if (check(duration)) REFIT_ASSERT(duration.value().count >= 0);
            break;
        }
        default: {
            const auto requirement = parse_requirement(text);
            if (check(requirement)) REFIT_ASSERT(!requirement.value().figure.empty());
            break;
        }
    }
    return 0;
}

std::vector<Target> scenarios_targets() {
    return {{"scenario", 64, fuzz_scenario}, {"quantities", 32, fuzz_quantities}};
}

}  // namespace refit::fuzz
