// Numbers with units, requirements and name hints: exact, and refused when they are anything else.
#include <gtest/gtest.h>

#include "scenarios/nearest.hpp"
#include "scenarios/requirement.hpp"
#include "scenarios/scenario.hpp"

namespace refit {
namespace {

TEST(Quantities, AreExactInEveryUnit) {
    EXPECT_EQ(parse_bytes("4096 B").value(), Bytes{4096});
    EXPECT_EQ(parse_bytes("1KiB").value(), 1_KiB);
    EXPECT_EQ(parse_bytes("8 MiB").value(), 8_MiB);
    EXPECT_EQ(parse_bytes("1.5 GB").value(), Bytes{1'500'000'000});
    EXPECT_EQ(parse_bit_rate("3.128 Gbit/s").value(), BitsPerSecond{3'128'000'000});
    EXPECT_EQ(parse_bit_rate("2.6Tbit/s").value(), BitsPerSecond{2'600'000'000'000});
    EXPECT_EQ(parse_byte_rate("400 GB/s").value(), BytesPerSecond{400'000'000'000});
    EXPECT_EQ(parse_byte_rate("2 MiB/s").value(), BytesPerSecond{2u << 20});
    EXPECT_EQ(parse_duration("84.9 ms").value(), Nanoseconds{84'900'000});
    EXPECT_EQ(parse_duration("250 us").value(), Nanoseconds{250'000});
    EXPECT_EQ(parse_duration("1.5 min").value(), Nanoseconds{90'000'000'000});
    EXPECT_EQ(parse_duration("0 s").value(), Nanoseconds{0});
}

TEST(Quantities, RefuseWhatIsNoNumberWithOneKnownUnit) {
    for (const char* text : {"", "8", "MiB", "8 mib", "8 Mib", "-8 MiB", "+8 MiB", "8 MiB ", " 8 B",
                             "8,5 MiB", ".5 MiB", "5. MiB", "1.2.3 MiB", "1e3 B", "0x10 B", "nan B",
                             "8 GB/s", "8 Gbit/s", "1234567890123456789 B"}) {
        EXPECT_FALSE(parse_bytes(text).has_value()) << text;
    }
    EXPECT_FALSE(parse_bit_rate("3 Gb/s").has_value());  // bits or bytes? nobody guesses here
    EXPECT_FALSE(parse_byte_rate("3 Gbit/s").has_value());
    EXPECT_FALSE(parse_duration("3").has_value());
}

TEST(Quantities, RefuseRoundingAndOverflow) {
    EXPECT_FALSE(parse_bytes("0.5 B").has_value());
    EXPECT_FALSE(parse_bytes("0.3 KiB").has_value());
    EXPECT_FALSE(parse_duration("0.5 ns").has_value());
    EXPECT_TRUE(parse_duration("0.5 us").has_value());
    EXPECT_FALSE(parse_bytes("999999999999999999 TB").has_value());
    EXPECT_FALSE(parse_duration("3000000 h").has_value());  // 2^63 ns are 2,562,047 h
    EXPECT_TRUE(parse_duration("2562047 h").has_value());
}

TEST(Quantities, NameTheUnitsInTheError) {
    EXPECT_EQ(parse_duration("3 parsec").error().what,
              "\"3 parsec\" is not a duration; write a number and one of ns, us, ms, s, min, h");
}

TEST(Requirement, ReadsEveryOperatorAndUnit) {
    const Requirement speedup = parse_requirement("speedup>=12x").value();
    EXPECT_EQ(speedup.figure, "speedup");
    EXPECT_TRUE(speedup.holds(12));
    EXPECT_FALSE(speedup.holds(11.999));
    EXPECT_TRUE(parse_requirement("changed <= 3 %").value().holds(0.03));
    EXPECT_FALSE(parse_requirement("changed<=3%").value().holds(0.031));
    EXPECT_TRUE(parse_requirement("verify.mismatches == 0").value().holds(0));
    EXPECT_FALSE(parse_requirement("verify.mismatches==0").value().holds(1));
    EXPECT_FALSE(parse_requirement("a>1").value().holds(1));
    EXPECT_FALSE(parse_requirement("a<1").value().holds(1));
}

TEST(Requirement, NeverHoldsForANan) {
    for (const char* text : {"a>=0", "a<=0", "a>0", "a<0", "a==0"})
        EXPECT_FALSE(parse_requirement(text).value().holds(0.0 / 0.0)) << text;
}

TEST(Requirement, RefusesEverythingElse) {
    for (const char* text :
         {"", "speedup", "speedup>=", ">=12", "speedup=12", "speedup=>12", "speedup>=12y",
          "speedup>=inf", "speedup>=nan", ".a>=1", "a.>=1", "Speed up>=1", "a>=1>=2"}) {
        EXPECT_FALSE(parse_requirement(text).has_value()) << text;
    }
}

TEST(Nearest, DistanceIsTheFewestEdits) {
    EXPECT_EQ(edit_distance("", "abc"), 3u);
    EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
    EXPECT_EQ(edit_distance("chunk", "chunk"), 0u);
}

TEST(Nearest, HintsOnlyWhatIsNear) {
    const std::vector<std::string> known{"encode", "apply", "verify"};
    EXPECT_EQ(nearest_name("enocde", known), "encode");
    EXPECT_EQ(nearest_name("aply", known), "apply");
    EXPECT_EQ(nearest_name("demo", known), "");
    EXPECT_EQ(nearest_name("x", {}), "");
}

}  // namespace
}  // namespace refit
