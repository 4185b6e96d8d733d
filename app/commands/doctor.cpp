#include <fmt/format.h>
#include <openssl/crypto.h>
#include <sqlite3.h>
#include <sys/sysinfo.h>
#include <unistd.h>
#include <zstd.h>

#include <CLI/Version.hpp>
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/commands/commands.hpp"
#include "app/format.hpp"
#include "app/late_libraries.hpp"
#include "kernels/cuda/cuda_device.hpp"
#include "kernels/cuda/driver.hpp"
#include "kernels/device.hpp"
#include "kernels/gemm.hpp"
#include "viz/picture.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;

/// One thing a machine has or lacks.
struct Finding {
    std::string name;
    std::string state;
    std::string use;  // what it is for, or what its absence costs
};

std::string first_line(const fs::path& file) {
    std::ifstream stream(file);
    std::string line;
    std::getline(stream, line);
    return line;
}

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

/// "150000 100000" in cpu.max is one and a half cores.
std::string cpu_quota() {
    std::ifstream stream("/sys/fs/cgroup/cpu.max");
    std::string quota;
    double period = 0;
    if (!(stream >> quota >> period) || quota == "max" || period <= 0) return "none";
    return fmt::format("{:.2f} cores", std::strtod(quota.c_str(), nullptr) / period);
}

std::string memory() {
    struct sysinfo info = {};
    if (sysinfo(&info) != 0) return "unknown";
    const std::string installed =
        format_bytes(Bytes{std::uint64_t{info.totalram} * info.mem_unit}) + " installed";
    const std::string limit = first_line("/sys/fs/cgroup/memory.max");
    if (limit.empty() || limit == "max") return installed + ", no limit";
    return installed + ", limit " + format_bytes(Bytes{std::strtoull(limit.c_str(), nullptr, 10)});
}

std::string free_disk() {
    std::error_code failure;
    const fs::space_info space = fs::space(fs::current_path(failure), failure);
    return failure ? "unknown" : format_bytes(Bytes{space.available}) + " free here";
}

std::string gpu() {
    const std::string driver = first_line("/proc/driver/nvidia/version");
    std::error_code failure;
    const bool node = fs::exists("/dev/nvidia0", failure);
    if (driver.empty() && !node) return "no driver, no device";
    return (driver.empty() ? "no driver" : driver) + (node ? ", device node" : ", no device node");
}

std::string display() {
    const std::string wayland = environment("WAYLAND_DISPLAY");
    const std::string x11 = environment("DISPLAY");
    if (!wayland.empty()) return "Wayland " + wayland;
    return x11.empty() ? "none" : "X11 " + x11;
}

std::string onednn() {
    if (!built_with_onednn()) return "built without";
    const auto gemm = make_onednn_gemm();
    return gemm == nullptr ? "not here" : gemm->detail();
}

std::string driver_state(const CudaDriver& driver) {
    if (driver.state == CudaState::refused) return "does not start";
    if (driver.version == 0) return driver.present ? "does not open" : "not here";
    const std::string version = cuda_version_text(driver.version);
    return driver.state == CudaState::older ? version + ", too old" : version;
}

std::string gpu_names(const CudaDriver& driver) {
    std::string text;
    for (const CudaGpu& one : driver.gpus)
        text += (text.empty() ? "" : ", ") + one.name + " " + format_bytes(Bytes{one.memory_bytes});
    return text.empty() ? "none" : text;
}

std::string cuda_use(const CudaDriver& driver) {
    const std::string trouble = cuda_trouble(driver);
    return trouble.empty() ? "backend cuda, chosen by auto"
                           : trouble + "; the CPU runs every kernel, GPU rates are declared";
}

/// What the backend cuda stands on.
std::vector<Finding> examine_cuda() {
    const CudaDriver driver = find_cuda_driver(cuda_runtime_version());
    const std::string runtime = built_with_cuda()
                                    ? cuda_version_text(cuda_runtime_version()) + ", built in"
                                    : "built without";
    return {
        {"gpu", gpu(), "what the system says of it"},
        {"CUDA driver", driver_state(driver), cuda_use(driver)},
        {"CUDA runtime", runtime, "backend cuda; without nvcc at build time it is left out"},
        {"CUDA devices", gpu_names(driver), "chosen by --devices; weights go there tile by tile"},
        {"NCCL", late_library_state(LateLibrary::nccl),
         "shards inside a cluster of GPUs; without it through the memory of the host"},
        {"cuBLASLt", late_library_state(LateLibrary::cublaslt),
         "compute loads on GPUs; without it they run on the CPU"},
        {"NVML", late_library_state(LateLibrary::nvml),
         "clocks and use of GPUs; without it only the events of this program"},
    };
}

std::string ffmpeg() {
    const char* folders = std::getenv("PATH");
    std::istringstream list(folders == nullptr ? "" : folders);
    for (std::string folder; std::getline(list, folder, ':');) {
        const fs::path file = fs::path(folder) / "ffmpeg";
        if (::access(file.c_str(), X_OK) == 0) return file.string();
    }
    return "not on PATH";
}

std::vector<Finding> examine(const Console& console) {
    std::string levels;
    for (const std::string& level : cpu_device_levels())
        levels += (levels.empty() ? "" : ", ") + level;
    std::vector<Finding> findings{
        {"cpu", make_cpu_device()->detail(), "runs every kernel; levels here: " + levels},
        {"cpu quota", cpu_quota(), "threads beyond it only wait"},
        {"memory", memory(), "checkpoints are mapped; a unit of 16 Mi words is held at a time"},
        {"disk", free_disk(), "encode and apply write a whole file beside the old one"},
        {"display", display(), "not used: this version opens no window"},
        {"pictures", built_with_pictures() ? "built in" : "built without",
         "refit view; without Dear ImGui at build time it is left out"},
        {"ffmpeg", ffmpeg(), "refit view --mp4; GIFs need none"},
        {"network rights", "not needed", "this version simulates every link"},
        {"data", console.data_root.string(), "shipped scenarios, topologies and traces"},
        {"libzstd", ZSTD_versionString(), "the -zstd codecs, file headers in a delta"},
        {"OpenSSL", OpenSSL_version(OPENSSL_VERSION_STRING), "SHA-256 of chunks and records"},
        {"SQLite", sqlite3_libversion(), "the register that decides a version"},
        {"oneDNN", onednn(), "compute loads; without it (libdnnl-dev) the built-in product"},
        {"xxHash", REFIT_XXHASH_VERSION, "built in: local record hashes"},
        {"Highway", REFIT_HWY_VERSION, "built in: vector kernels at every level"},
        {"fmt", REFIT_FMT_VERSION, "built in: text"},
        {"toml++", REFIT_TOML_VERSION, "built in: scenarios"},
        {"nlohmann-json", REFIT_JSON_VERSION, "built in: documents, safetensors headers"},
        {"CLI11", CLI11_VERSION, "built in: the command line"},
        {"benchmark", REFIT_BENCHMARK_VERSION, "built in: timing of refit bench"},
    };
    const std::vector<Finding> cuda = examine_cuda();
    const auto display_row = std::ranges::find(findings, "display", &Finding::name);
    findings.insert(display_row, cuda.begin(), cuda.end());
    return findings;
}

Result<ExitCode> doctor(const Console& console) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const Finding& finding : examine(console)) {
        console.say(fmt::format("{:<15} {:<28} {}", finding.name, finding.state, finding.use));
        rows.push_back({{"name", finding.name}, {"state", finding.state}, {"use", finding.use}});
    }
    console.document({{"schema", "refit.doctor/1"}, {"findings", rows}});
    return ExitCode::success;
}

}  // namespace

Command add_doctor(CLI::App& program, const Console& console) {
    CLI::App* command =
        program.add_subcommand("doctor", "Say what this machine has and what each absence costs");
    return {command, [&console] { return doctor(console); }};
}

}  // namespace refit
