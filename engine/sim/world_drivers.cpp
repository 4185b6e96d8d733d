#include "engine/sim/world_drivers.hpp"

#include <algorithm>

namespace refit {

namespace {

Words words_of(const std::vector<Words>& units, const PartRecord& part) {
    Words words;
    for (std::uint32_t u = part.first_unit; u < part.first_unit + part.unit_count; ++u)
        words += units[u];
    return words;
}

}  // namespace

std::vector<NodeId> parents_of(const RelayTree& tree, NodeId id) {
    const TreeNode& node = tree.nodes[id];
    std::vector<NodeId> parents{node.parent};
    for (const NodeId backup : node.backups)
        if (node.role == NodeRole::replica || backup < id) parents.push_back(backup);
    return parents;
}

World::SourceDriver::SourceDriver(World& world, NodeId id)
    : SimEnv(world.simulator_, id), world_(world), bits_(world.parts_.bits.trainer()) {
    durable_.decided_delta = world.anchor_.sealed_id();
}

std::unique_ptr<Node> World::SourceDriver::make() {
    return std::make_unique<Source>(*this, world_.timing_, durable_, world_.coordinator_id_);
}

void World::SourceDriver::on_step_ready(std::uint64_t version) {
    bits_->take(version);
    source().on_step_ready(version);
}

std::uint32_t World::SourceDriver::units() const {
    return static_cast<std::uint32_t>(world_.parts_.bits.units().size());
}

OpenRecord World::SourceDriver::open_record(std::uint64_t version, std::uint64_t attempt) {
    OpenRecord open;
    open.catalog = world_.parts_.bits.catalog();
    open.grid = world_.parts_.bits.grid();
    open.codec = world_.plan_.delta.codec;
    open.salt = world_.parts_.bits.salt();
    open.number = version;
    open.attempt = attempt;
    open.base_version = next_version(durable_.decided);
    open.base_delta = durable_.decided_delta;
    open.unit_words = world_.plan_.delta.unit_words;
    open.chunk_bytes = static_cast<std::uint32_t>(world_.plan_.delta.chunk.count);
    return open;
}

Hash256 World::SourceDriver::next_version(std::uint64_t version) {
    return bits_->version_id(version);
}

void World::SourceDriver::encode(std::uint64_t, std::uint32_t unit) {
    ++world_.totals_.units_encoded;
    for (const PartRecord& part : durable_.parts)
        if (unit >= part.first_unit && unit < part.first_unit + part.unit_count)
            ++world_.totals_.reencodes;
    const Nanoseconds time =
        world_.work_time(size_of(world_.parts_.bits.units()[unit]), world_.plan_.fleet.encode);
    simulator().after(id(), time, [this, unit] {
        std::visit([&](auto&& encoded) { source().on_encoded(unit, std::move(encoded)); },
                   bits_->encode(unit));
    });
}

Nanoseconds World::SourceDriver::store_time(Bytes bytes) const {
    const Site& site = world_.plan_.topology.sites[world_.tree_.nodes[id()].site];
    return site.store_rtt + transmit_time(bytes, site.store_rate);
}

void World::SourceDriver::store_part(const Part& part) {
    simulator().after(id(), store_time(part.record.payload_bytes()), [this, &part] {
        world_.parts_.store.put(part_key(part.record.payload), part.payload);
        source().on_part_stored();
    });
}

void World::SourceDriver::fetch_part(const PartRecord& part) {
    simulator().download(id(), part.payload_bytes(), [this, &part] {
        auto payload = world_.parts_.store.get(part_key(part.payload));
        if (!payload.has_value()) {
            world_.failure_ = payload.error();
            return;
        }
        source().on_part_fetched(std::make_shared<const ByteVector>(std::move(payload).value()));
    });
}

void World::SourceDriver::store_manifest(const Manifest& manifest) {
    const ByteVector bytes = manifest.serialize();
    const std::string key = manifest_key(manifest.sealed_id());
    simulator().after(id(), store_time(Bytes{bytes.size()}), [this, bytes, key] {
        world_.parts_.store.put(key, bytes);
        source().on_manifest_stored();
    });
}

void World::SourceDriver::rebase(std::uint64_t, const Hash256&) {
    bits_->rebase();
    world_.totals_.trainer_gather_bytes += 2 * bits_->gather_bytes().count;
}

std::unique_ptr<Node> World::RelayDriver::make() {
    return std::make_unique<Relay>(*this, world_.timing_, durable_, parents_of(world_.tree_, id()));
}

World::ReplicaDriver::ReplicaDriver(World& world,
                                    NodeId id,
                                    std::unique_ptr<ReplicaBits> bits,
                                    Nanoseconds join_at)
    : SimEnv(world.simulator_, id),
      world_(world),
      bits_(std::move(bits)),
      late_(join_at.count > 0) {
    durable_.member = !late_;
}

std::unique_ptr<Node> World::ReplicaDriver::make() {
    return std::make_unique<Replica>(*this, world_.timing_, durable_,
                                     parents_of(world_.tree_, id()), world_.coordinator_id_,
                                     world_.plan_.fleet.drain);
}

void World::ReplicaDriver::load_anchor(const Manifest& anchor) {
    const Status loaded = fold({anchor});
    if (!loaded.has_value()) world_.failure_ = loaded.error();
    durable_.active_delta = anchor.sealed_id();
}

void World::ReplicaDriver::stage_part(const Holding& holding, std::uint32_t part) {
    const PartRecord& record = holding.parts[part];
    auto payload = std::make_shared<ByteVector>();
    const bool phantom = record.chunks.empty() || holding.bodies[record.first_chunk].phantom();
    if (!phantom) payload->reserve(record.payload_bytes().count);
    for (std::uint32_t i = 0; i < record.chunks.size() && !phantom; ++i) {
        const ByteSpan chunk = holding.bodies[record.first_chunk + i].span();
        payload->insert(payload->end(), chunk.begin(), chunk.end());
    }
    note(EventKind::stage_begin, {.version = holding.open.number, .index = part});
    const Words words = words_of(world_.parts_.bits.units(), record);
    const Nanoseconds time = world_.work_time(size_of(words), world_.plan_.fleet.decode);
    simulator().after(id(), time, [this, payload, open = holding.open, record, list = list_] {
        // A list that was dropped meanwhile must not get this part.
        const bool exact = list != list_ || bits_->stage(open, record, *payload).has_value();
        replica()->on_part_staged(exact);
    });
}

void World::ReplicaDriver::drop_staged() {
    ++list_;
    bits_->drop_staged();
}

void World::ReplicaDriver::lose_memory() {
    ++list_;
    bits_->clear();
}

void World::ReplicaDriver::overwrite() {
    const Nanoseconds time = world_.work_time(bits_->staged_bytes(), world_.plan_.fleet.overwrite);
    simulator().after(id(), time, [this] {
        bits_->overwrite();
        replica()->on_overwritten();
    });
}

void World::ReplicaDriver::check_resident() {
    const Nanoseconds time =
        world_.work_time(size_of(world_.parts_.bits.words()), world_.plan_.fleet.digest);
    simulator().after(id(), time, [this] {
        REFIT_ASSERT(durable_.holding.seal.has_value());
        const bool exact = check(durable_.prepared, durable_.holding.seal->next_version);
        bits_->drop_staged();
        world_.totals_.replica_gather_bytes += bits_->gather_bytes().count;
        replica()->on_checked(exact);
    });
}

bool World::ReplicaDriver::check(std::uint64_t version, const Hash256& expected) {
    const std::uint64_t before = bits_->words_checked().count;
    const Status status = bits_->check(expected);
    ++world_.totals_.resident_checks;
    world_.totals_.words_checked += bits_->words_checked().count - before;
    if (!status.has_value()) ++world_.totals_.resident_failures;
    if (status.has_value()) world_.totals_.mismatches += bits_->differing_words(version);
    return status.has_value();
}

/// Rebuilds a version from the store's objects; staging and overwriting are the ordinary ones.
Status World::ReplicaDriver::fold(const std::vector<Manifest>& chain) {
    for (const Manifest& manifest : chain) {
        for (const PartRecord& part : manifest.parts) {
            REFIT_TRY(payload, world_.parts_.store.get(part_key(part.payload)));
            REFIT_CHECK(bits_->stage(manifest.open, part, payload));
        }
        bits_->overwrite();
        bits_->drop_staged();
    }
    return Done{};
}

void World::ReplicaDriver::load(const Hash256& delta, bool from_resident) {
    const Hash256 target = delta.is_zero() ? world_.register_->read().delta : delta;
    if (!from_resident) bits_->clear();
    const auto chain =
        find_chain(world_.parts_.store, target, from_resident ? durable_.active_delta : Hash256{});
    if (!chain.has_value()) {
        world_.failure_ = chain.error();
        return;
    }
    std::uint64_t bytes = 0;
    for (const Manifest& manifest : chain.value())
        bytes += manifest.seal.payload_bytes + manifest.serialize().size();
    const Bytes weights = size_of(world_.parts_.bits.words());
    const Nanoseconds work =
        Nanoseconds{world_.work_time(weights, world_.plan_.fleet.decode).count *
                    static_cast<std::int64_t>(chain.value().size())} +
        world_.work_time(weights, world_.plan_.fleet.overwrite) +
        world_.work_time(weights, world_.plan_.fleet.digest);
    simulator().download(id(), Bytes{bytes}, [this, manifests = chain.value(), bytes, work] {
        world_.totals_.store_bytes_read += bytes;
        note(EventKind::store_read, {.version = manifests.back().open.number, .amount = bytes});
        simulator().after(id(), work, [this, manifests] {
            const Status status = fold(manifests);
            const Manifest& last = manifests.back();
            if (!status.has_value()) {
                world_.failure_ = status.error();
            } else if (check(last.open.number, last.seal.next_version)) {
                replica()->on_loaded(last.open.number, last.sealed_id());
            } else {
                world_.failure_ = Error{ErrorCode::mismatch, "a loaded version is not exact"};
            }
        });
    });
}

std::unique_ptr<Node> World::CoordinatorDriver::make() {
    return std::make_unique<Coordinator>(*this, world_.timing_, durable_, NodeId{0});
}

Nanoseconds World::CoordinatorDriver::register_time() const {
    const std::size_t site = world_.plan_.topology.trainer_site();
    return world_.plan_.topology.sites[site].local_rtt;
}

void World::CoordinatorDriver::acquire() {
    const std::uint64_t epoch = world_.register_->acquire();
    const Decision decision = world_.register_->read();
    simulator().after(id(), register_time(),
                      [this, epoch, decision] { coordinator()->on_acquired(epoch, decision); });
}

/// The swap happens half way: a coordinator that crashes before the answer may have decided.
void World::CoordinatorDriver::decide(std::uint64_t epoch, std::uint64_t from, Decision next) {
    const Nanoseconds half{register_time().count / 2};
    simulator().at(simulator().now() + half, [this, epoch, from, next] {
        const bool won = world_.register_->decide(epoch, from, next);
        if (won) ++world_.totals_.decisions;
        if (!simulator().alive(id())) return;
        simulator().after(id(), Nanoseconds{register_time().count / 2}, [this, won, epoch] {
            if (world_.coordinator_->coordinator()->epoch() == epoch)
                coordinator()->on_decided(won);
        });
    });
}

}  // namespace refit
