#include "engine/store/delta_chain.hpp"

#include <algorithm>

namespace refit {

namespace {
constexpr std::size_t kChainMax = std::size_t{1} << 16;
}

Manifest publish_anchor(Device& device,
                        const DeltaContext& context,
                        const Weights& weights,
                        ObjectStore& store,
                        const AnchorOptions& options) {
    const auto codec = find_codec(options.codec);
    REFIT_ASSERT(codec.has_value());
    const MemoryWeights nothing(context.catalog, {});
    OpenRecord open;
    open.catalog = context.catalog.id();
    open.grid = context.grid.id();
    open.codec = options.codec;
    open.salt = context.salt;
    open.unit_words = options.unit_words;
    open.chunk_bytes = static_cast<std::uint32_t>(options.chunk.count);

    PartBuilder builder(open, options.chunks_per_part);
    std::vector<std::uint64_t> digests;
    std::uint64_t changed = 0;
    const auto publish = [&store](const std::optional<Part>& part) {
        if (part) store.put(part_key(part->record.payload), part->payload);
    };
    for (const UnitRange range : make_units(context.grid, options.unit_words)) {
        const EncodedUnit unit =
            encode_unit(device, *codec.value(), context, range, nothing, weights);
        std::ranges::copy(unit.next_digests, std::back_inserter(digests));
        changed += unit.changed_words;
        publish(builder.add(unit.bytes));
    }
    publish(builder.flush());
    const Hash256 version = version_id(context.catalog.id(), context.salt, digests);
    Manifest manifest{open, builder.parts(), make_seal(open, builder.parts(), changed, version)};
    store.put(manifest_key(manifest.sealed_id()), manifest.serialize());
    return manifest;
}

Result<std::vector<Manifest>> find_chain(const ObjectStore& store,
                                         const Hash256& sealed,
                                         const Hash256& have) {
    std::vector<Manifest> chain;
    for (Hash256 next = sealed; next != have && !next.is_zero();) {
        if (chain.size() == kChainMax)
            return Error{ErrorCode::corrupt, "the delta chain does not end", manifest_key(sealed)};
        REFIT_TRY(bytes, store.get(manifest_key(next)));
        auto manifest = Manifest::parse(bytes);
        if (!manifest.has_value()) return in_file(manifest.error(), manifest_key(next));
        chain.push_back(std::move(manifest).value());
        next = chain.back().open.base_delta;
    }
    std::ranges::reverse(chain);
    return chain;
}

}  // namespace refit
