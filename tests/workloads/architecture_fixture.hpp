// What tests of architectures share: the shipped ones, and their catalogs.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "workloads/architecture.hpp"

#ifndef REFIT_SOURCE_DIR
#error "REFIT_SOURCE_DIR names the root of the repository"
#endif

namespace refit::test {

inline std::filesystem::path shipped_folder() {
    return std::filesystem::path(REFIT_SOURCE_DIR) / "workloads/architectures";
}

inline Architecture shipped(const std::string& name) {
    auto loaded = load_architecture(shipped_folder() / (name + ".toml"));
    EXPECT_TRUE(loaded.has_value()) << loaded.error().where << ": " << loaded.error().what;
    return loaded.value();
}

inline Catalog catalog_of(const Architecture& architecture, MtpLayers mtp = MtpLayers::left_out) {
    auto catalog = make_catalog(architecture, mtp);
    EXPECT_TRUE(catalog.has_value()) << catalog.error().what;
    return std::move(catalog).value();
}

inline std::vector<std::uint64_t> shape_of(const Catalog& catalog, const std::string& name) {
    const auto id = catalog.find(name);
    EXPECT_TRUE(id.has_value()) << name;
    return id ? catalog.tensor(*id).shape : std::vector<std::uint64_t>{};
}

}  // namespace refit::test
