// The crash-safe update of a checkpoint where it lies, at the level of files and bytes.
//
// Shows    A target is one file, or a directory whose heads (index, or lone model file) make it a
//          checkpoint. At every instant, whatever crashes, it shows the old checkpoint, none, or
//          the new one: a file or all heads stand under their names only while all else is whole.
//          A program that already has a file open sees it change.
// Order    1 new files, durable under hidden names   2 journal, durable: from here only forward
//          3 heads hidden   4 overwrite, sync   5 new files into place, others removed   6 check
//          7 heads back   8 journal removed. Between any two a folder sync; each may be repeated.
// Names    in the folder of the target. Hidden head NAME: "NAME.refit-applying"; new file:
//          ".NAME.refit-new"; journal: ".refit-journal" of a directory, ".NAME.refit-journal" of a
//          file; "-new" is appended until it is durable.
// Memory   at most a few MiB, whatever the number of patches.
// Errors   invalid_input: links (unless allowed), names in the way, an unfinished update, another
//          process at work; not_found; corrupt: a damaged journal, or files that are not those it
//          was made for: then nothing is touched. MachineError: no space, no rights; thrown after
//          step 2, recover() completes the update once the cause is gone.
// Threads  one thread, but NewFile::write().
#pragma once

#include <functional>
#include <map>
#include <optional>

#include "engine/store/disk.hpp"

namespace refit {

struct InPlaceTarget {
    std::filesystem::path path;
    /// For a directory: the names of which any may make it a checkpoint, old or new, there or not;
    /// they are hidden in this order and come back in reverse: what needs the others stands last
    /// (the index after a model file it may name). Empty: `path` is one file.
    std::vector<std::string> heads{};
    /// For a directory: its other files, of which none may be a link.
    std::vector<std::string> files{};
    /// Links are refused unless this is set. Then a link to the target is resolved first, and
    /// whatever else shares an overwritten file changes with it.
    bool allow_linked = false;
};

/// Where the files of a checkpoint lie while its update is checked.
class InPlaceView {
public:
    InPlaceView(std::filesystem::path folder,
                std::map<std::string, std::filesystem::path> moved,
                ByteVector identity)
        : folder_(std::move(folder)), moved_(std::move(moved)), identity_(std::move(identity)) {}

    std::filesystem::path path(const std::string& name) const {
        const auto moved = moved_.find(name);
        return moved == moved_.end() ? folder_ / name : moved->second;
    }
    const ByteVector& identity() const { return identity_; }

private:
    std::filesystem::path folder_;
    std::map<std::string, std::filesystem::path> moved_;
    ByteVector identity_;
};

/// Called when every byte is in place and before the heads come back. On an error the heads stay
/// hidden and the journal stays; recover() would try all of it again.
using InPlaceCheck = std::function<Status(const InPlaceView&)>;

class InPlaceUpdate {
public:
    /// A file that is overwritten in part, opened by patched_file().
    struct Patched {
        std::uint32_t number = 0;
        std::uint64_t bytes = 0;
    };

    class NewFile {
    public:
        virtual ~NewFile() = default;
        /// Bytes nobody wrote are zero. From several threads at once.
        virtual void write(std::uint64_t offset, ByteSpan bytes) = 0;
        /// Makes it durable and closes it; optional, commit() does it for those still open.
        virtual void finish() = 0;
    };

    /// Locks the folder, removes what a dead update left that never became durable, and checks
    /// that `space` bytes are free (journal: 4 bytes a changed word; new files: their size).
    /// `identity` is the caller's: what tells this update from others and checks its result.
    static Result<std::unique_ptr<InPlaceUpdate>> begin(Disk& disk,
                                                        const InPlaceTarget& target,
                                                        ByteSpan identity,
                                                        Bytes space);
    /// Without a successful commit() nothing was touched and nothing remains, unless the update
    /// passed step 2: then all remains for recover().
    virtual ~InPlaceUpdate() = default;

    virtual Result<Patched> patched_file(const std::string& name) = 0;
    /// Words [2 bytes each] at file offset + 2 * position, positions ascending, inside the file.
    /// On disk 4 bytes a word, 2 where words are adjacent; cheapest in file order.
    virtual void patch_words(const Patched& file,
                             std::uint64_t offset,
                             std::span<const std::uint32_t> positions,
                             std::span<const std::uint16_t> words) = 0;
    virtual void patch_bytes(const Patched& file, std::uint64_t offset, ByteSpan bytes) = 0;

    /// A whole file under a name that is new or replaced. Lives until commit().
    virtual Result<NewFile*> create_file(const std::string& name, std::uint64_t bytes) = 0;
    virtual Status remove_file(const std::string& name) = 0;

    /// Steps 2 to 8. An update that is one new file needs no journal: check, then one rename.
    virtual Status commit(const InPlaceCheck& check) = 0;
};

/// The identity of an unfinished update of the file or directory at `path`, if there is one.
Result<std::optional<ByteVector>> interrupted(Disk& disk, const std::filesystem::path& path);

/// Completes an unfinished update; without one removes what a dead update left. True: completed.
Result<bool> recover(Disk& disk, const std::filesystem::path& path, const InPlaceCheck& check);

}  // namespace refit
