// Operations over batches of tiles that stay on a device: what a benchmark times and checks.
//
// Shapes    a case is tiles in one array of words, each beginning at a multiple of eight words,
// with
//           everything that any operation reads of them and what it must leave, both made before.
//           A batch is one operation over several cases of equal sizes, the slots: uploaded once,
//           run in turn, so that none finds its input in a cache.
// Exact     wrong() compares with the expectations of the case, bit for bit: what it finds is a bug
//           of the device.
// Time      run() gives seconds by the clock of the device, nothing where that would not be a
// speed:
//           on the executor.
// Errors    a device that fails throws std::runtime_error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/changes.hpp"
#include "kernels/device.hpp"
#include "kernels/placement.hpp"
#include "kernels/weight_field.hpp"
#include "kernels/xc.hpp"

namespace refit {

enum class BatchOperation : std::uint8_t {
    copy,  // the ceiling: a copy of the words by the device itself
    compare,
    diff,
    stage,
    overwrite,
    gather,
    scatter,
    digest,
    digest_change,
    xc_sample,
    xc_scan,
    xc_encode,
    xc_decode,
    field,
};

/// One tile of a case: words [first, first + words).
struct BatchTile {
    std::uint64_t first = 0;
    std::uint64_t words = 0;
    FieldTensor field;    // its words are those of version 0 and 1, from word 0 on
    Placement placement;  // the whole tile; rank memory looks like the words of the case

    Changes changes;
    std::vector<std::uint32_t> index;  // of the changed words, and base ^ next
    std::vector<std::uint16_t> mask;
    std::uint64_t digest = 0;  // of the base
    std::uint64_t digest_change = 0;
    XcTile list;
    std::vector<std::uint8_t> levels;
    std::vector<std::byte> payload;  // none where plain words are no longer
    XcFault fault = XcFault::none;   // of decoding that payload, and what it stages
    Changes decoded;
};

struct BatchCase {
    std::vector<std::uint16_t> base;
    std::vector<std::uint16_t> next;
    std::vector<BatchTile> tiles;
    std::uint64_t salt = 0;
    XcTables tables;
    XcExponents sample{};
    XcCounts counts;

    std::uint64_t changed() const;
};

class Batch {
public:
    Batch() = default;
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;
    virtual ~Batch() = default;

    /// Fills every output with junk.
    virtual void poison() = 0;
    virtual std::optional<double> run(std::size_t slot) = 0;
    /// How many words or other numbers of the output are not what they must be.
    virtual std::uint64_t wrong(std::size_t slot) = 0;
};

/// The same case may stand in several slots: each is uploaded.
using BatchSlots = std::span<const BatchCase* const>;

class BatchDevice {
public:
    BatchDevice() = default;
    BatchDevice(const BatchDevice&) = delete;
    BatchDevice& operator=(const BatchDevice&) = delete;
    virtual ~BatchDevice() = default;

    virtual std::string_view name() const = 0;  // "cpu", "simt", "cuda"
    virtual std::string detail() const = 0;
    /// Null where the device has no such operation. The cases outlive the batch.
    virtual std::unique_ptr<Batch> make(BatchOperation operation, BatchSlots slots) = 0;
};

/// Word by word what differs, and the difference of the lengths.
template <class T>
std::uint64_t wrong_values(std::span<const T> found, std::span<const T> expected) {
    const std::size_t both = found.size() < expected.size() ? found.size() : expected.size();
    std::uint64_t wrong = found.size() + expected.size() - 2 * both;
    for (std::size_t i = 0; i < both; ++i) wrong += found[i] == expected[i] ? 0u : 1u;
    return wrong;
}

std::uint64_t wrong_changes(const Changes& found, const Changes& expected);

/// How the error of a device begins that has no room for a batch.
inline constexpr std::string_view kNoDeviceMemory = "device memory";

inline constexpr unsigned char kBatchJunk = 0xCD;

/// What overwriting must leave in words that were junk.
std::vector<std::uint16_t> overwritten_junk(const BatchCase& of);

/// The operations of the Device port, on the calling thread; seconds of its CPU time.
std::unique_ptr<BatchDevice> make_cpu_batches(std::unique_ptr<Device> device);

}  // namespace refit
