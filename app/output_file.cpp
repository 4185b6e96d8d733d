#include "app/output_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace refit {

namespace fs = std::filesystem;

Result<std::unique_ptr<OutputFile>> OutputFile::create(const fs::path& target) {
    const std::string name = target.string();
    std::error_code failure;
    const fs::file_status status = fs::status(target, failure);
    if (fs::exists(status) && !fs::is_regular_file(status))
        return Error{ErrorCode::invalid_input, "exists and is not a plain file", name};
    if (!target.has_filename())
        return Error{ErrorCode::invalid_input, "names a folder, not a file", name};
    if (target.has_parent_path() && !fs::is_directory(target.parent_path(), failure))
        return Error{ErrorCode::not_found, "there is no folder to write it into", name};
    return std::unique_ptr<OutputFile>(new OutputFile(target));
}

// Not a File of engine/store: its errors would name the temporary, which no user knows of.
OutputFile::OutputFile(fs::path target)
    : target_(std::move(target)),
      temporary_(temporary_beside(target_)),
      descriptor_(open(temporary_.path().c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)) {
    if (descriptor_ < 0) throw_file_error(target_, "create", errno);
}

OutputFile::~OutputFile() {
    if (descriptor_ >= 0) close(descriptor_);
}

void OutputFile::write(ByteSpan bytes) {
    while (!bytes.empty()) {
        const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) throw_file_error(target_, "write", errno);
        bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
}

void OutputFile::commit() {
    if (fsync(descriptor_) != 0) throw_file_error(target_, "sync", errno);
    temporary_.rename_to(target_);
}

}  // namespace refit
