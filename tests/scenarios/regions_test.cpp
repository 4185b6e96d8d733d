// What must hold for regions: the shipped file is the reference link by link, a topology has what
// was measured in the direction of the delta, names are suggested, and a bad file is refused by
// field.
#include "scenarios/regions.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/base/rng.hpp"
#include "scenarios/shipped.hpp"
#include "tests/support/files.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

const fs::path kRoot = REFIT_SOURCE_DIR;

const Regions& shipped() {
    static const Regions regions = load_regions(regions_file(kRoot)).value();
    return regions;
}

Topology defaults() { return load_topology(find_topology("one-link", {}, kRoot).value()).value(); }

/// Three regions; from b to a, from c to b and out of c nothing is like the other way.
Json small() {
    const auto link = [](const char* from, const char* to, double gbps, double rtt, Json usd) {
        return Json{{"from", from},
                    {"to", to},
                    {"gbps_64conn", gbps},
                    {"rtt_ms", rtt},
                    {"usd_per_gb", std::move(usd)}};
    };
    const Json quote = {{"usd_per_hour", {1.5, 2}},
                        {"gpu", "G"},
                        {"tier", "list"},
                        {"date", "2026"},
                        {"source", "a page"}};
    const Json egress = {{"usd_per_gb", {0.02}},
                         {"provider", "p"},
                         {"what", "out"},
                         {"date", "2026"},
                         {"source", "a page"}};
    return {{"schema", "refit.regions/1"},
            {"read_on", "2026-11-29"},
            {"sources", {{"grid", "where"}, {"link", "how"}}},
            {"regions", {"x:a", "x:b", "x:c"}},
            {"links",
             {link("x:a", "x:b", 4, 80, 0.02), link("x:b", "x:a", 2, 81, 0.09),
              link("x:a", "x:c", 1.5, 10.5, nullptr), link("x:b", "x:c", 8, 20, 0.01),
              link("x:c", "x:b", 6, 22, 0.05)}},
            {"egress", {egress}},
            {"gpu_hour", {quote}},
            {"gpu_defaults", {{{"gpu", "G"}, {"usd_per_hour", 1.75}, {"source", "ours"}}}}};
}

std::string failure_of(const Json& json) {
    const auto regions = parse_regions(json.dump());
    if (regions.has_value()) return "";
    EXPECT_EQ(regions.error().code, ErrorCode::invalid_input);
    return regions.error().what;
}

TEST(Regions, ShippedFileIsTheReferenceLinkByLink) {
    EXPECT_EQ(shipped().names.size(), 14u);
    EXPECT_EQ(shipped().links.size(), 182u);
    const fs::path reference = kRoot / "../shared/reference/regions.json";
    if (!fs::exists(reference)) GTEST_SKIP() << "no reference beside the repository";
    std::ifstream stream(reference);
    const Json json = Json::parse(stream);
    EXPECT_EQ(json["regions"].get<std::vector<std::string>>(), shipped().names);
    ASSERT_EQ(json["links"].size(), shipped().links.size());
    // Spelled in pieces: the words are not ours.
    const char* const from =
        "s"
        "rc";
    const char* const to =
        "d"
        "st";
    for (std::size_t i = 0; i < shipped().links.size(); ++i) {
        const RegionLink& ours = shipped().links[i];
        const Json& theirs = json["links"][i];
        EXPECT_EQ(ours.from, theirs[from]);
        EXPECT_EQ(ours.to, theirs[to]);
        EXPECT_NEAR(static_cast<double>(ours.rate.count), theirs["gbps_64conn"].get<double>() * 1e9,
                    1);
        EXPECT_NEAR(to_seconds(ours.rtt) * 1e3, theirs["rtt_ms"].get<double>(), 1e-6);
        EXPECT_EQ(ours.usd_per_gb, theirs["usd_per_gb"].get<double>());
    }
    for (const GpuPrice& price : shipped().gpu_defaults)
        EXPECT_EQ(price.usd_per_hour, json["planning_defaults"]["gpu_hour_usd"][price.gpu]);
    EXPECT_EQ(shipped().gpu_quotes.size(), json["gpu_hour"].size());
}

TEST(Regions, EveryFieldIsRead) {
    const auto parsed = parse_regions(small().dump());
    ASSERT_TRUE(parsed.has_value()) << parsed.error().what;
    const Regions& regions = parsed.value();
    const RegionLink* link = regions.find_link("x:b", "x:a");
    ASSERT_NE(link, nullptr);
    EXPECT_EQ(link->rate, 2_Gbps);
    EXPECT_EQ(link->rtt, 81_ms);
    EXPECT_EQ(link->usd_per_gb, 0.09);
    EXPECT_EQ(regions.find_link("x:a", "x:c")->usd_per_gb, std::nullopt);
    EXPECT_EQ(regions.find_link("x:a", "x:c")->rtt, Nanoseconds{10'500'000});
    EXPECT_EQ(regions.find_link("x:c", "x:a"), nullptr);
    EXPECT_EQ(regions.link_source, "how");
    EXPECT_EQ(regions.gpu_quotes.front().name, "G, list");
    EXPECT_EQ(regions.gpu_quotes.front().usd, (std::vector<double>{1.5, 2}));
    EXPECT_EQ(regions.egress_quotes.front().name, "p, out");
    EXPECT_EQ(regions.find_gpu("G")->usd_per_hour, 1.75);
    EXPECT_EQ(regions.find_gpu("H"), nullptr);
}

TEST(Regions, ATopologyHasWhatWasMeasuredFromTheTrainer) {
    const Regions regions = parse_regions(small().dump()).value();
    const auto made =
        region_topology(regions, "x:a", {{"x:b", 0, 2}, {"x:c", 0, 1}}, 3, defaults());
    ASSERT_TRUE(made.has_value()) << made.error().what;
    const Topology& topology = made.value();
    ASSERT_EQ(topology.sites.size(), 3u);
    EXPECT_TRUE(topology.sites[0].trainer);
    EXPECT_TRUE(topology.sites[0].replicas.empty());
    EXPECT_EQ(topology.sites[1].replicas.size(), 2u);
    EXPECT_EQ(topology.sites[2].replicas.size(), 1u);
    EXPECT_EQ(topology.sites[1].relay_nic, defaults().sites[0].relay_nic);
    ASSERT_EQ(topology.links.size(), 3u);
    EXPECT_EQ(topology.links[0].rate, 12_Gbps);  // three pairs of the way out
    EXPECT_EQ(topology.links[0].rtt, 80_ms);
    EXPECT_EQ(topology.links[0].source, "how");
    EXPECT_EQ(topology.links[1].rate, BitsPerSecond{4'500'000'000});
    EXPECT_EQ(topology.links[2].rate, 18_Gbps);  // between targets the worse of both ways
    EXPECT_EQ(topology.links[2].rtt, 22_ms);
    // The other way out of b; to c nothing leads back.
    const auto back = region_topology(regions, "x:b", {{"x:a", 0, 1}}, 1, defaults());
    ASSERT_TRUE(back.has_value()) << back.error().what;
    EXPECT_EQ(back.value().links.at(0).rate, 2_Gbps);
}

TEST(Regions, RolloutsMayBeWhereTheTrainerIs) {
    const auto home =
        region_topology(shipped(), "aws:us-east-1",
                        {{"aws:us-east-1", 0, 2}, {"gcp:us-west1-a", 0, 1}}, 1, defaults());
    ASSERT_TRUE(home.has_value()) << home.error().what;
    EXPECT_EQ(home.value().sites.size(), 2u);
    EXPECT_EQ(home.value().sites[0].replicas.size(), 2u);
    EXPECT_EQ(home.value().links.size(), 1u);
}

TEST(Regions, PlacesThatAreNoneAreRefusedWithTheNearest) {
    const auto refused = [](const Regions& regions, const std::string& from,
                            const std::vector<RegionTarget>& to) {
        const auto made = region_topology(regions, from, to, 1, defaults());
        return made.has_value() ? std::string() : made.error().what;
    };
    EXPECT_EQ(refused(shipped(), "aws:us-est-1", {{"aws:us-west-2", 0, 1}}),
              "there is no region aws:us-est-1; did you mean aws:us-east-1?");
    EXPECT_EQ(refused(shipped(), "aws:us-east-1", {{"us-west-2", 0, 1}}),
              "there is no region us-west-2; did you mean aws:us-west-2?");
    EXPECT_NE(refused(shipped(), "the moon", {{"aws:us-west-2", 0, 1}})
                  .find("there is no region the moon; known are aws:us-east-1, "),
              std::string::npos);
    EXPECT_EQ(refused(shipped(), "azure:eastus", {{"azure:westus", 0, 1}, {"azure:westus", 0, 2}}),
              "the region azure:westus is there twice");
    const Regions regions = parse_regions(small().dump()).value();
    EXPECT_EQ(refused(regions, "x:c", {{"x:b", 0, 1}, {"x:a", 0, 1}}),
              "no link was measured from x:c to x:a; from there to x:b");
}

TEST(Regions, TargetsAreReadStrictly) {
    const auto plain = parse_region_target("aws:us-east-1").value();
    EXPECT_EQ(plain.name, "aws:us-east-1");
    EXPECT_EQ(plain.gpus, 0u);
    EXPECT_EQ(plain.replicas, 1u);
    for (const char* text : {"r,gpus=64,replicas=4", "r,replicas=4,gpus=64"}) {
        const auto target = parse_region_target(text).value();
        EXPECT_EQ(target.name, "r");
        EXPECT_EQ(target.gpus, 64u);
        EXPECT_EQ(target.replicas, 4u);
    }
    for (const char* text :
         {"", ",gpus=1", "r,", "r,gpus", "r,gpus=", "r,gpus=0", "r,gpus=-1", "r,gpus=1.5",
          "r,gpus=1000001", "r,gpus=99999999999", "r,replicas=1001", "r,gpus=1,gpus=2", "r,cpus=1",
          "r,gpus=1 ", "r,gpus=1,"})
        EXPECT_FALSE(parse_region_target(text).has_value()) << text;
}

/// Every field taken away, of another type, out of range; and one nobody knows.
TEST(Regions, BadFilesAreRefusedByField) {
    EXPECT_EQ(failure_of(small()), "");
    EXPECT_EQ(parse_regions("{").error().what, "is not JSON");
    EXPECT_EQ(parse_regions("").error().what, "is not JSON");
    EXPECT_NE(failure_of(Json::array()), "");
    const std::vector<std::string> places = {"",          "/sources",    "/links/3",
                                             "/egress/0", "/gpu_hour/0", "/gpu_defaults/0"};
    for (const std::string& place : places) {
        const Json whole = small();
        for (const auto& [key, value] : whole[Json::json_pointer(place)].items()) {
            Json json = whole;
            json[Json::json_pointer(place)].erase(key);
            EXPECT_NE(failure_of(json).find(key + ": is missing"), std::string::npos)
                << place << "/" << key << ": " << failure_of(json);
            json[Json::json_pointer(place)][key] = true;
            EXPECT_NE(failure_of(json).find(key), std::string::npos) << place << "/" << key;
        }
        Json json = whole;
        json[Json::json_pointer(place)]["extra"] = 1;
        EXPECT_NE(failure_of(json).find("extra: is unknown"), std::string::npos) << place;
    }
    const auto with = [](const char* place, Json value) {
        Json json = small();
        json[Json::json_pointer(place)] = std::move(value);
        return failure_of(json);
    };
    EXPECT_EQ(with("/links/3/rtt_ms", 1e5),
              "links[3].rtt_ms: must be a number over 0 or 0, at most 10000");
    EXPECT_EQ(with("/links/3/rtt_ms", 0), "");
    EXPECT_NE(with("/links/3/gbps_64conn", 0), "");
    EXPECT_NE(with("/links/3/gbps_64conn", -1), "");
    EXPECT_NE(with("/links/3/usd_per_gb", -0.1), "");
    EXPECT_EQ(with("/links/3/to", "x:b"), "links[3].to: is where the link begins");
    EXPECT_EQ(with("/links/3/to", "x:a"), "links[3].to: the link is there twice");
    EXPECT_EQ(with("/links/3/to", "x:d"), "links[3].to: is not among the regions");
    EXPECT_EQ(with("/regions/2", "x:a"), "regions: x:a is there twice");
    EXPECT_NE(with("/regions/2", "x,a"), "");
    EXPECT_NE(with("/regions/2", 5), "");
    EXPECT_NE(with("/schema", "refit.regions/2"), "");
    EXPECT_NE(with("/egress", Json::array()), "");
    EXPECT_NE(with("/gpu_hour/0/usd_per_hour", {1, "2"}), "");
    const TestFolder folder;
    EXPECT_EQ(load_regions(folder / "none.json").error().code, ErrorCode::not_found);
}

TEST(Regions, DamageIsRefusedOrLeavesSoundNumbers) {
    constexpr std::uint64_t kSeed = 5;
    SCOPED_TRACE(kSeed);
    const std::string text = small().dump();
    for (std::uint64_t i = 0; i < 5'000; ++i) {
        std::string damaged = text;
        const std::uint64_t random = draw(kSeed, 1, i);
        damaged[random % text.size()] = static_cast<char>(random >> 32);
        if (random >> 60 == 0) damaged.resize(random % text.size());
        const auto regions = parse_regions(damaged);
        if (!regions.has_value()) continue;
        for (const RegionLink& link : regions.value().links) {
            EXPECT_GT(link.rate.count, 0u);
            EXPECT_LE(link.rate.count, 10'000'000'000'000u);
            EXPECT_LE(link.rtt.count, 10'000'000'000);
        }
    }
}

}  // namespace
}  // namespace refit
