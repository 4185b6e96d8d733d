// Steps 3 to 8 of an in-place update (in_place.hpp), from its journal alone, as often as it takes.
//
// Shared by commit() and recover(), so that what recovers is what ran in the first place.
#pragma once

#include "engine/store/in_place.hpp"
#include "engine/store/in_place_journal.hpp"

namespace refit {

/// Where the files of an update lie. `lone`: the file's name; empty for a directory.
struct UpdatePlace {
    std::filesystem::path folder;
    std::string lone;

    static UpdatePlace of(const Disk& disk, const std::filesystem::path& path);

    std::filesystem::path journal() const;
    std::filesystem::path journal_new() const;
    std::filesystem::path at(const std::string& name) const { return folder / name; }
    std::filesystem::path hidden(const std::string& head) const;
    std::filesystem::path fresh(const std::string& name) const;  // a new file before its place
};

/// Removes what a dead update left that never became durable.
void remove_leftovers(Disk& disk, const UpdatePlace& place);

/// Needs a journal in place and the folder's lock.
Status finish_update(Disk& disk, const UpdatePlace& place, const InPlaceCheck& check);

}  // namespace refit
