#include "kernels/cuda/nvml.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "kernels/cuda/late_open.hpp"
#include "tests/support/files.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBus = "0000:19:00.0";
const NvmlReading kWhole{"Fake One", 0.98, 1980, 651.5};

int started() {
    void* const handle = dlopen(REFIT_FAKE_NVML, RTLD_NOW | RTLD_LOCAL);
    return reinterpret_cast<int (*)()>(dlsym(handle, "refit_fake_nvml_started"))();
}

/// As long as it lives, an environment variable has this value.
class Setting {
public:
    Setting(const char* name, const std::string& value) : name_(name) {
        const char* const old = std::getenv(name);
        had_ = old != nullptr;
        if (had_) old_ = old;
        setenv(name, value.c_str(), 1);
    }
    Setting(const Setting&) = delete;
    Setting& operator=(const Setting&) = delete;
    ~Setting() {
        if (had_) {
            setenv(name_, old_.c_str(), 1);
        } else {
            unsetenv(name_);
        }
    }

private:
    const char* name_;
    bool had_ = false;
    std::string old_;
};

TEST(Nvml, ReadsADeviceByItsBusAndStopsWhenDone) {
    {
        const auto nvml = open_nvml(REFIT_FAKE_NVML);
        ASSERT_NE(nvml, nullptr);
        EXPECT_EQ(started(), 1);
        EXPECT_EQ(nvml->read(kBus), kWhole);
        EXPECT_EQ(nvml->read("0000:1A:00.0"), NvmlReading{});
    }
    EXPECT_EQ(started(), 0);
}

TEST(Nvml, LeavesOutWhatADeviceDoesNotSupport) {
    const auto nvml = open_nvml(REFIT_FAKE_NVML);
    const auto without = [&](const char* call, auto forget) {
        const Setting failing("REFIT_FAKE_NVML_FAILS", call);
        NvmlReading expected = kWhole;
        forget(expected);
        EXPECT_EQ(nvml->read(kBus), expected) << call;
    };
    without("nvmlDeviceGetName", [](NvmlReading& of) { of.name.clear(); });
    without("nvmlDeviceGetUtilizationRates", [](NvmlReading& of) { of.busy.reset(); });
    without("nvmlDeviceGetClockInfo", [](NvmlReading& of) { of.sm_megahertz.reset(); });
    without("nvmlDeviceGetPowerUsage", [](NvmlReading& of) { of.watts.reset(); });
    without("nvmlDeviceGetHandleByPciBusId_v2", [](NvmlReading& of) { of = NvmlReading{}; });
}

TEST(Nvml, ThatIsMissingAnotherOrDoesNotStartIsNone) {
    EXPECT_EQ(open_nvml("/nowhere/libnvidia-ml.so.1"), nullptr);
    EXPECT_EQ(open_nvml("libm.so.6"), nullptr);
    const Setting failing("REFIT_FAKE_NVML_FAILS", "nvmlInit_v2");
    EXPECT_EQ(open_nvml(REFIT_FAKE_NVML), nullptr);
    EXPECT_EQ(started(), 0);
}

TEST(LateOpen, LooksInWheelsBesideTheInterpretersOnPath) {
    constexpr const char* kName = "librefit-late-test.so.7";
    const std::string names[] = {"librefit-late-test.so.8", kName};
    const TestFolder folder;
    const Setting path("PATH", "/nowhere:" + (folder / "bin").string());
    const LateOpen before = open_late(names);
    EXPECT_EQ(before.handle, nullptr);
    EXPECT_NE(before.trouble.find("librefit-late-test.so.8"), std::string::npos) << before.trouble;
    const fs::path lib = folder / "lib/python3.12/site-packages/nvidia/cu99/lib";
    fs::create_directories(lib);
    fs::copy_file(REFIT_FAKE_NVML, lib / kName);
    const LateOpen after = open_late(names);
    EXPECT_NE(after.handle, nullptr) << after.trouble;
    EXPECT_EQ(after.file, (lib / kName).string());
    EXPECT_EQ(after.trouble, "");
    // A file that is named is the only one.
    const std::string file[] = {"/nowhere/" + std::string(kName)};
    EXPECT_EQ(open_late(file).handle, nullptr);
}

}  // namespace
}  // namespace refit
