#include "app/output_file.hpp"

#include <fcntl.h>

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

OutputFile::OutputFile(fs::path target)
    : target_(std::move(target)),
      temporary_(temporary_beside(target_)),
      file_(temporary_.path(), O_WRONLY | O_CREAT | O_EXCL, target_) {}

void OutputFile::write(ByteSpan bytes) {
    file_.write_at(written_, bytes);
    written_ += bytes.size();
}

void OutputFile::patch(std::uint64_t offset, ByteSpan bytes) {
    REFIT_ASSERT(bytes.size() <= written_ && offset <= written_ - bytes.size());
    file_.write_at(offset, bytes);
}

void OutputFile::commit() {
    file_.sync();
    temporary_.rename_to(target_);
}

}  // namespace refit
