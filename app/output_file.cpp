#include "app/output_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace refit {
namespace {

namespace fs = std::filesystem;

fs::path folder_of(const fs::path& target) {
    return target.has_parent_path() ? target.parent_path() : fs::path(".");
}

[[noreturn]] void fail_machine(const fs::path& target, const char* doing, int error) {
    throw MachineError(target.string() + ": cannot " + doing + ": " + std::strerror(error));
}

}  // namespace

Result<std::unique_ptr<OutputFile>> OutputFile::create(const fs::path& target) {
    const std::string name = target.string();
    std::error_code failure;
    const fs::file_status status = fs::status(target, failure);
    if (fs::exists(status) && !fs::is_regular_file(status))
        return Error{ErrorCode::invalid_input, "exists and is not a plain file", name};
    if (!target.has_filename())
        return Error{ErrorCode::invalid_input, "names a folder, not a file", name};
    if (!fs::is_directory(folder_of(target), failure))
        return Error{ErrorCode::not_found, "there is no folder to write it into", name};
    const fs::path temporary = folder_of(target) / ("." + target.filename().string() + ".refit-" +
                                                    std::to_string(getpid()));
    const int file = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0) fail_machine(target, "create", errno);
    return std::unique_ptr<OutputFile>(new OutputFile(target, temporary, file));
}

OutputFile::OutputFile(fs::path target, fs::path temporary, int file)
    : target_(std::move(target)), temporary_(std::move(temporary)), file_(file) {}

OutputFile::~OutputFile() {
    if (file_ < 0) return;
    close(file_);
    unlink(temporary_.c_str());
}

void OutputFile::fail(const char* doing) const { fail_machine(target_, doing, errno); }

void OutputFile::write(ByteSpan bytes) {
    while (!bytes.empty()) {
        const ssize_t count = ::write(file_, bytes.data(), bytes.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) fail("write");
        bytes = bytes.subspan(static_cast<std::size_t>(count));
        written_ += Bytes{static_cast<std::uint64_t>(count)};
    }
}

void OutputFile::commit() {
    if (fsync(file_) != 0) fail("sync");
    if (rename(temporary_.c_str(), target_.c_str()) != 0) fail("rename");
    close(file_);
    file_ = -1;
    // The name itself is durable only once its folder is.
    const int folder = open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) fail("sync the folder of");
    const int synced = fsync(folder);
    close(folder);
    if (synced != 0) fail("sync the folder of");
}

}  // namespace refit
