// The StepSource port: the versions a trainer produces, one after the other.
#pragma once

#include <cstdint>
#include <string>

#include "engine/coords/catalog.hpp"
#include "engine/coords/weights.hpp"

namespace refit {

class StepSource {
public:
    virtual ~StepSource() = default;

    virtual std::string name() const = 0;
    virtual const Catalog& catalog() const = 0;
    virtual std::uint64_t versions() const = 0;  // version 0 is the start; >= 1
    virtual const Weights& version(std::uint64_t number) const = 0;
};

}  // namespace refit
