// What a machine has of CUDA, played by a driver that does as it is told: which line each way of
// being of no use gets, and what --backend then does.
#include <gtest/gtest.h>

#include <cstdlib>

#include "app/backend.hpp"
#include "kernels/cuda/cuda_device.hpp"
#include "kernels/cuda/driver.hpp"
#include "tests/app/driver.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;

/// The driver of this test, in one of its states.
CudaDriver fake_driver(const char* state, int runtime = 13000) {
    ::setenv("REFIT_FAKE_CUDA", state, 1);
    return find_cuda_driver(runtime, {REFIT_FAKE_CUDA_LIBRARY, "/nowhere"});
}

/// The program beside that driver.
Outcome run_beside_driver(const char* state, const std::vector<std::string>& arguments) {
    const std::string folder = fs::path(REFIT_FAKE_CUDA_LIBRARY).parent_path().string();
    return run_refit(arguments, {.extra = {"LD_LIBRARY_PATH=" + folder,
                                           std::string("REFIT_FAKE_CUDA=") + state}});
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

constexpr const char* kStates[] = {"older", "refused", "no-device"};

TEST(CudaDriver, WithoutOneTheLineSaysSo) {
    const CudaDriver driver = find_cuda_driver(13000, {"libnowhere.so.1", "/nowhere"});
    EXPECT_EQ(driver.state, CudaState::no_driver);
    EXPECT_FALSE(driver.present);
    EXPECT_EQ(cuda_trouble(driver), "no CUDA driver: libcuda.so.1 is not here");
    // The node of a GPU whose driver library is missing, as in a container.
    const CudaDriver node = find_cuda_driver(13000, {"libnowhere.so.1", "/dev/null"});
    EXPECT_EQ(node.state, CudaState::no_driver);
    EXPECT_TRUE(node.present);
    EXPECT_NE(cuda_trouble(node), cuda_trouble(driver));
}

TEST(CudaDriver, AnOlderOneIsNamedWithBothVersions) {
    const CudaDriver driver = fake_driver("older");
    EXPECT_EQ(driver.state, CudaState::older);
    EXPECT_TRUE(driver.present);
    EXPECT_EQ(cuda_trouble(driver),
              "the CUDA driver is older than the runtime: the driver has 12.8, this program needs "
              "13.0 or newer (built with 13.0)");
    // Of one major version, newer runtimes work on older drivers.
    EXPECT_EQ(fake_driver("older", 12090).state, CudaState::no_device);
    EXPECT_EQ(fake_driver("older", 12000).state, CudaState::no_device);
}

TEST(CudaDriver, OneWithoutDevicesOrThatFailsSaysWhich) {
    const CudaDriver none = fake_driver("no-device");
    EXPECT_EQ(none.state, CudaState::no_device);
    EXPECT_EQ(cuda_trouble(none), "no CUDA device: the driver (99.2) finds no GPU");
    EXPECT_EQ(fake_driver("none-counted").state, CudaState::no_device);
    const CudaDriver refused = fake_driver("refused");
    EXPECT_EQ(refused.state, CudaState::refused);
    EXPECT_EQ(cuda_trouble(refused),
              "the CUDA driver does not start: cuInit: a fault that is made up");
    // A library of that name that is no driver.
    const CudaDriver other = find_cuda_driver(13000, {"libm.so.6", "/nowhere"});
    EXPECT_EQ(other.state, CudaState::refused);
}

TEST(CudaDriver, ReadyMeansDevicesWithTheirNames) {
    const CudaDriver driver = fake_driver("ready");
    EXPECT_EQ(driver.state, CudaState::ready);
    EXPECT_EQ(cuda_trouble(driver), "");
    ASSERT_EQ(driver.gpus.size(), 2u);
    EXPECT_EQ(driver.gpus[1].name, "Fake Two");
    EXPECT_EQ(driver.gpus[1].memory_bytes, std::uint64_t{80} << 30);
}

TEST(CudaDriver, ABuildWithoutCudaSaysSoWhateverIsHere) {
    for (const char* state : {"older", "no-device", "ready"}) {
        const CudaDriver driver = fake_driver(state, 0);
        EXPECT_EQ(driver.state, CudaState::not_built);
        EXPECT_TRUE(driver.present);
        EXPECT_EQ(cuda_trouble(driver), "this build has no CUDA: it was made without nvcc");
        EXPECT_THROW(choose_backend({.name = "cuda", .devices = {}}, driver), MachineError);
        const BackendChoice choice = choose_backend({}, driver);
        EXPECT_EQ(choice.name, "cpu");
        EXPECT_EQ(choice.trouble, cuda_trouble(driver));
    }
}

TEST(CudaDriver, DevicesAreCountedByName) {
    const std::vector<std::string> same{"A", "A"};
    const std::vector<std::string> mixed{"A", "B", "A", "C"};
    EXPECT_EQ(cuda_devices_text(same), "2 x A");
    EXPECT_EQ(cuda_devices_text(mixed), "2 x A + 1 x B + 1 x C");
}

TEST(Backend, DeviceListsAreNumbersAndRanges) {
    const auto list = [](const char* text) { return parse_device_list(text).value(); };
    EXPECT_EQ(list("0-7"), (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
    EXPECT_EQ(list("0,2,5"), (std::vector<int>{0, 2, 5}));
    EXPECT_EQ(list("5,0-1,1023"), (std::vector<int>{5, 0, 1, 1023}));
    EXPECT_EQ(list("3-3"), std::vector<int>{3});
    for (const char* text :
         {"",    ",",  "0,", ",0", "0,,1", "-1",    "1-",   "-",      "2-1",         "0-1-2", "a",
          "0x1", " 0", "0 ", "+1", "0,0",  "0-3,2", "1024", "0-1024", "99999999999", "1.0",   "0-"})
        EXPECT_FALSE(parse_device_list(text).has_value()) << text;
}

TEST(Backend, DevicesAreOfCudaAlone) {
    for (const std::string backend : {"auto", "cpu", "simt"}) {
        const Outcome outcome = run_refit({"run", "--devices", "0", "--backend", backend});
        EXPECT_EQ(outcome.code, 2) << backend;
        EXPECT_TRUE(outcome.one_line()) << outcome.err;
        EXPECT_NE(outcome.err.find("--backend cuda"), std::string::npos) << outcome.err;
    }
    for (const std::string list : {"1-0", "0,0", "a", "-1", "", "1024"}) {
        for (const char* command : {"run", "encode", "apply", "verify"}) {
            const Outcome outcome = run_refit({command, "--devices=" + list, "--backend", "cuda"});
            EXPECT_EQ(outcome.code, 2) << list;
            EXPECT_TRUE(outcome.one_line()) << outcome.err;
        }
    }
}

TEST(Backend, ADeviceThatIsNotThereIsNamed) {
    const CudaDriver driver = fake_driver("ready");
    BackendFlags flags{.name = "cuda", .devices = "0,2"};
    try {
        choose_backend(flags, driver);
        FAIL() << "chose a device that is not there";
    } catch (const MachineError& error) {
        EXPECT_STREQ(error.what(), "no CUDA device 2: the driver finds 2");
    }
}

TEST(Backend, NamesWithoutCudaAreTakenAsTheyAre) {
    for (const char* name : {"cpu", "simt"}) {
        const BackendChoice choice =
            choose_backend({.name = name, .devices = {}}, fake_driver("older"));
        EXPECT_EQ(choice.name, name);
        EXPECT_EQ(choice.trouble, "");
    }
    // Nobody expects a GPU where there is no trace of one.
    const CudaDriver none = find_cuda_driver(13000, {"libnowhere.so.1", "/nowhere"});
    EXPECT_EQ(choose_backend({}, none).trouble, "");
    EXPECT_EQ(choose_backend({}, none).name, "cpu");
}

TEST(Backend, CudaThatCannotBeHadIsOneLine) {
    for (const char* state : kStates) {
        const Outcome outcome =
            run_beside_driver(state, {"run", "--backend", "cuda", "--devices", "0", "smoke"});
        EXPECT_EQ(outcome.code, 1) << state;
        EXPECT_TRUE(outcome.one_line()) << outcome.err;
        EXPECT_EQ(outcome.out, "");
        const CudaDriver driver = fake_driver(state, cuda_runtime_version());
        EXPECT_EQ(outcome.err, "refit: " + cuda_trouble(driver) + "\n");
    }
}

TEST(Backend, AutoFallsBackWithANotice) {
    for (const char* state : kStates) {
        const std::string trouble = cuda_trouble(fake_driver(state, cuda_runtime_version()));
        const std::string reason = "cpu, not cuda: " + trouble + "; GPU figures are modelled";
        const Outcome json = run_beside_driver(state, {"run", "--json", "smoke"});
        EXPECT_EQ(json.code, 0) << json.err;
        EXPECT_EQ(json.document()["backend"], "cpu");
        EXPECT_EQ(json.document()["backend_reason"], reason);
        EXPECT_EQ(first_line(json.err), reason);
        const std::string tiny = std::string(REFIT_SOURCE_DIR) + "/workloads/traces/dense/v0";
        EXPECT_EQ(first_line(run_beside_driver(state, {"verify", tiny, tiny}).out), reason);
        EXPECT_NE(first_line(run_beside_driver(state, {"verify", "--quiet", tiny, tiny}).out),
                  reason);
    }
}

TEST(Backend, NoDriverIsOpenedBeforeItIsAskedFor) {
    EXPECT_EQ(run_beside_driver("loud", {"--version"}).err, "");
    EXPECT_EQ(run_beside_driver("loud", {"encode", "--help"}).err, "");
    EXPECT_EQ(run_beside_driver("loud", {"list", "backends"}).err, "a CUDA driver was opened\n");
}

TEST(Backend, ADriverThatFailsUnderTheRuntimeIsNoMoreThanAReason) {
    // It counts two devices, and has no call that works on one.
    const Outcome cuda = run_beside_driver("ready", {"run", "--backend", "cuda", "smoke"});
    EXPECT_EQ(cuda.code, 1);
    EXPECT_TRUE(cuda.one_line()) << cuda.err;
    const Outcome chosen = run_beside_driver("ready", {"run", "--json", "smoke"});
    EXPECT_EQ(chosen.code, 0) << chosen.err;
    EXPECT_EQ(chosen.document()["backend"], "cpu");
    EXPECT_EQ("refit: " + chosen.document()["backend_reason"].get<std::string>().substr(15),
              cuda.err.substr(0, cuda.err.size() - 1) + "; GPU figures are modelled");
}

TEST(Doctor, SaysWhatEachStateOfTheDriverCosts) {
    const auto row = [](const char* state, const std::string& name) {
        const auto document = run_beside_driver(state, {"doctor", "--json"}).document();
        for (const auto& finding : document["findings"])
            if (finding["name"] == name) return finding;
        return nlohmann::json();
    };
    EXPECT_EQ(row("no-device", "CUDA driver")["state"], "99.2");
    EXPECT_EQ(row("no-device", "CUDA devices")["state"], "none");
    for (const char* state : kStates) {
        const std::string trouble = cuda_trouble(fake_driver(state, cuda_runtime_version()));
        EXPECT_EQ(first_line(row(state, "CUDA driver")["use"]).find(trouble), 0u) << trouble;
    }
    EXPECT_EQ(row("no-device", "CUDA runtime")["state"] == "built without", !built_with_cuda());
    for (const char* name : {"NCCL", "cuBLASLt", "NVML"})
        EXPECT_FALSE(row("no-device", name).is_null()) << name;
}

}  // namespace
}  // namespace refit
