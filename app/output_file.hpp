// A file that appears whole or not at all: written beside its target, renamed at commit(); without
// commit() nothing remains.
//
// Errors   invalid_input, not_found: a target that is no plain file, or in no folder.
//          MachineError names the target: no space, no rights, a failed sync.
#pragma once

#include <filesystem>
#include <memory>

#include "engine/base/bytes.hpp"
#include "engine/store/file_io.hpp"

namespace refit {

class OutputFile {
public:
    static Result<std::unique_ptr<OutputFile>> create(const std::filesystem::path& target);
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;

    void write(ByteSpan bytes);
    /// Replaces bytes written before.
    void patch(std::uint64_t offset, ByteSpan bytes);
    /// For another program that fills it instead of write().
    const std::filesystem::path& temporary() const { return temporary_.path(); }
    /// Durable under its name when this returns.
    void commit();

private:
    explicit OutputFile(std::filesystem::path target);

    std::filesystem::path target_;
    Temporary temporary_;  // outlives the open file
    File file_;
    std::uint64_t written_ = 0;
};

}  // namespace refit
