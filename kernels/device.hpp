// The Device port: transforms of 16-bit words on one device. Backends give identical bits.
//
// Shapes     `base`, `next`: the words of one tile, equal lengths, any length including 0, any
//            alignment of 2. `weights`: one rank's whole memory.
// Exact      bits, never values: -0.0 to +0.0 is a change, a NaN keeps its payload.
// Errors     none for data: callers check indices first (a broken precondition aborts). A device
//            that fails throws std::runtime_error.
// Threads    every operation works on one tile on the calling thread and may be called from
//            several lanes at once; for_each() is the parallelism.
// Source     XOR mask and in-place write: arXiv:2610.08430. Two-phase stage/overwrite is ours.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/changes.hpp"
#include "kernels/placement.hpp"
#include "kernels/xc.hpp"

namespace refit {

/// Digests of the two versions of one tile.
struct TileDigests {
    std::uint64_t base = 0;
    std::uint64_t next = 0;

    friend bool operator==(const TileDigests&, const TileDigests&) = default;
};

/// Time spent on one kind of work, by the clock of the device.
struct StageTime {
    std::string_view stage;  // an operation, such as "diff"; "copy in"; "copy out"
    double seconds = 0;
    std::uint64_t calls = 0;
};

class Device {
public:
    Device() = default;
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;
    virtual ~Device() = default;

    virtual std::string_view name() const = 0;  // "cpu"
    virtual std::string detail() const = 0;     // "AVX2, 2 threads"
    virtual unsigned lanes() const = 0;
    /// Sums since the start. Empty where the device has no clock of its own.
    virtual std::vector<StageTime> stage_times() const { return {}; }

    /// Runs task(index, lane) for every index below `count`, lanes() at a time, and waits.
    /// The first exception thrown by a task is rethrown here. Not re-entrant.
    virtual void for_each(std::uint64_t count,
                          const std::function<void(std::uint64_t, unsigned)>& task) = 0;

    /// The words of `next` that differ from `base`, as a staging list. Replaces `out`.
    virtual void diff(std::span<const std::uint16_t> base,
                      std::span<const std::uint16_t> next,
                      Changes& out) = 0;

    /// Turns sparse XOR masks into absolute words: base[index[k]] ^ mask[k]. Replaces `out`.
    /// `index` is strictly ascending and below base.size(); no mask is zero.
    virtual void stage(std::span<const std::uint16_t> base,
                       std::span<const std::uint32_t> index,
                       std::span<const std::uint16_t> mask,
                       Changes& out) = 0;

    /// Stores the staged words that the placements hold. Plain stores: restartable at any point.
    virtual void overwrite(std::span<std::uint16_t> weights,
                           const Changes& changes,
                           std::span<const Placement> placements) = 0;

    /// Copies what the placements hold from rank memory into the tile; other tile words stay.
    virtual void gather(std::span<const std::uint16_t> weights,
                        std::span<const Placement> placements,
                        std::span<std::uint16_t> tile) = 0;

    /// The inverse of gather(): tile words into rank memory.
    virtual void scatter(std::span<const std::uint16_t> tile,
                         std::span<const Placement> placements,
                         std::span<std::uint16_t> weights) = 0;

    /// The digest of what the placements hold, read in full from rank memory.
    /// With an identity placement (grid.hpp in engine/coords) `weights` may be a tile.
    virtual std::uint64_t digest(std::span<const std::uint16_t> weights,
                                 std::span<const Placement> placements,
                                 std::uint64_t salt) = 0;

    /// diff(), and digest() of `base` and of `next` with the same placements, both read in full, in
    /// one walk through memory.
    virtual TileDigests diff_and_digest(std::span<const std::uint16_t> base,
                                        std::span<const std::uint16_t> next,
                                        std::span<const Placement> placements,
                                        std::uint64_t salt,
                                        Changes& out) = 0;

    /// By how much the digest of what the placements hold moves when `changes` replace the words
    /// of `base` (the tile's words): sum R * C * (next - base) mod 2^64, O(changed).
    virtual std::uint64_t digest_change(std::span<const std::uint16_t> base,
                                        const Changes& changes,
                                        std::span<const Placement> placements,
                                        std::uint64_t salt) = 0;

    /// Adds the exponents of the sample of a tile that places the window.
    virtual void xc_sample(std::span<const std::uint16_t> base,
                           std::uint8_t mantissa_bits,
                           XcExponents& words) = 0;

    /// Lists a tile for xc_encode() and counts what its tables are made from. `changes` is
    /// diff(base, next). Replaces `tile` and `counts`.
    virtual void xc_scan(std::span<const std::uint16_t> base,
                         const Changes& changes,
                         const XcContext& context,
                         XcTile& tile,
                         XcCounts& counts) = 0;

    /// Appends the payload of a tile (FORMAT.md 3.1). False, and nothing, when it would have as
    /// many bytes as the plain words. `levels`: one per segment, 0 exactly where nothing changes.
    virtual bool xc_encode(std::span<const std::uint16_t> base,
                           const XcTile& tile,
                           const XcTables& tables,
                           std::span<const std::uint8_t> levels,
                           std::vector<std::byte>& out) = 0;

    /// The inverse: the staging list of `changed` words. Trusts neither payload nor tables.
    virtual XcFault xc_decode(std::span<const std::uint16_t> base,
                              std::span<const std::byte> payload,
                              std::uint32_t changed,
                              const XcTables& tables,
                              Changes& out) = 0;
};

/// `threads` 0 means one per usable core. `level` forces a dispatch level by name
/// ("AVX2", "EMU128", "scalar", ...); empty picks the best. Unknown or missing level: throws.
std::unique_ptr<Device> make_cpu_device(unsigned threads = 0, std::string_view level = {});

/// The levels this machine can run, best first, always ending in the plain reference "scalar".
std::vector<std::string> cpu_device_levels();

}  // namespace refit
