#include "engine/observe/cast.hpp"

#include "engine/codec/delta.hpp"
#include "engine/codec/zstd_frame.hpp"

namespace refit {

namespace {

constexpr std::uint64_t kTextMax = 4096;
constexpr std::uint32_t kNodesMax = 100'256;
constexpr std::uint32_t kSitesMax = 256;
constexpr std::uint32_t kLinksMax = 65'536;
constexpr std::uint64_t kPackedBytesMax = std::uint64_t{1} << 30;
constexpr int kPackedLevel = 6;

Error nonsense(const char* what) {
    return Error{ErrorCode::corrupt, std::string("the cast has ") + what};
}

void write_count(std::size_t count, ByteWriter& out) {
    out.write(static_cast<std::uint32_t>(count));
}

void write_time(Nanoseconds time, ByteWriter& out) {
    out.write(static_cast<std::uint64_t>(time.count));
}

/// Fails the reader when the time is negative.
Nanoseconds read_time(ByteReader& in) {
    const auto time = in.read<std::int64_t>();
    if (time < 0) in.take(~std::uint64_t{0});
    return Nanoseconds{time};
}

/// 0 when there are more than `most`; the reader has failed then.
std::uint32_t read_count(std::uint32_t most, ByteReader& in) {
    const auto count = in.read<std::uint32_t>();
    if (count > most) in.take(~std::uint64_t{0});
    return in.failed() ? 0 : count;
}

void write_node(const TreeNode& node, ByteWriter& out) {
    out.write(static_cast<std::uint8_t>(node.role));
    out.write_text(node.name);
    write_count(node.site, out);
    write_count(node.replica, out);
    out.write(node.parent);
    write_count(node.backups.size(), out);
    for (const NodeId backup : node.backups) out.write(backup);
}

TreeNode read_node(ByteReader& in) {
    TreeNode node;
    node.role = static_cast<NodeRole>(in.read<std::uint8_t>());
    node.name = in.take_text(kTextMax);
    node.site = in.read<std::uint32_t>();
    node.replica = in.read<std::uint32_t>();
    node.parent = in.read<std::uint32_t>();
    const std::uint32_t backups = read_count(kNodesMax, in);
    for (std::uint32_t i = 0; i < backups && !in.failed(); ++i)
        node.backups.push_back(in.read<std::uint32_t>());
    return node;
}

Status check_tree(const Cast& cast) {
    const auto& nodes = cast.tree.nodes;
    if (nodes.empty()) return nonsense("no source");
    for (NodeId id = 0; id < nodes.size(); ++id) {
        const TreeNode& node = nodes[id];
        if (node.role > NodeRole::replica) return nonsense("a role that does not exist");
        if ((node.role == NodeRole::source) != (id == 0)) return nonsense("not one source");
        if (node.site >= cast.sites.size()) return nonsense("a node at a site that is not there");
        if (id == 0 ? node.parent != kNoNode : node.parent >= id)
            return nonsense("a child before its parent");
        for (const NodeId backup : node.backups)
            if (backup >= nodes.size()) return nonsense("a backup that is not there");
    }
    return Done{};
}

void write_packed(ByteSpan plain, ByteWriter& out) {
    ByteVector frame;
    append_zstd_frame(plain, kPackedLevel, frame);
    out.write(std::uint64_t{plain.size()});
    out.write_block(frame);
}

Result<ByteVector> read_packed(ByteReader& in, const char* what) {
    const auto size = in.read<std::uint64_t>();
    const ByteSpan frame = in.take_block(kPackedBytesMax);
    // Nothing of ours is so repetitive: a small file does not make us reserve a gigabyte.
    if (in.failed() || size > kPackedBytesMax || size / 16'384 > frame.size())
        return Error{ErrorCode::truncated, "the cast is cut short"};
    ByteVector plain(static_cast<std::size_t>(size));
    REFIT_CHECK(read_zstd_frame(frame, plain, what));
    return plain;
}

Status read_units(ByteSpan bytes, Cast& cast) {
    ByteReader in(bytes);
    for (const Tensor& tensor : cast.catalog.tensors()) {
        const auto units = in.read<TensorUnits>();
        if (tensor.words > 0 && units.first > units.last)
            return nonsense("a tensor without a unit");
        cast.units.push_back(units);
    }
    return in.finish("the list of units");
}

std::vector<TensorUnits> tensor_units(const Catalog& catalog,
                                      const Grid& grid,
                                      std::uint64_t unit_words) {
    std::vector<TensorUnits> of(catalog.tensors().size());
    std::uint32_t number = 0;
    for (const UnitRange& unit : make_units(grid, unit_words)) {
        for (const Tile& tile : grid.tiles().subspan(unit.first_tile, unit.tile_count)) {
            for (const Piece& piece : tile.pieces) {
                TensorUnits& units = of[piece.tensor];
                if (units.first > units.last) units.first = number;
                units.last = number;
            }
        }
        ++number;
    }
    return of;
}

}  // namespace

std::vector<std::string> node_names(const RelayTree& tree) {
    std::vector<std::string> names;
    for (const TreeNode& node : tree.nodes) names.push_back(node.name);
    names.emplace_back("coordinator");
    return names;
}

Cast make_cast(const std::string& title,
               const Topology& topology,
               const Loop& loop,
               const Catalog& catalog,
               const Grid& grid,
               std::uint64_t unit_words) {
    Cast cast{title, {}, {}, derive_tree(topology), loop, catalog, {}};
    for (const Site& site : topology.sites) cast.sites.push_back(site.name);
    for (const WanLink& link : topology.links)
        cast.links.push_back({link.from, link.to, link.rate});
    cast.units = tensor_units(catalog, grid, unit_words);
    return cast;
}

ByteVector serialize(const Cast& cast) {
    ByteWriter out;
    out.write_text(cast.title);
    write_count(cast.sites.size(), out);
    for (const std::string& site : cast.sites) out.write_text(site);
    write_count(cast.links.size(), out);
    for (const CastLink& link : cast.links) {
        out.write_text(link.from);
        out.write_text(link.to);
        out.write(link.rate.count);
    }
    out.write(cast.tree.number);
    write_count(cast.tree.nodes.size(), out);
    for (const TreeNode& node : cast.tree.nodes) write_node(node, out);
    out.write(static_cast<std::uint8_t>(cast.loop.shape));
    write_time(cast.loop.step, out);
    write_time(cast.loop.generation, out);
    out.write(cast.loop.staleness);
    write_time(cast.loop.kv_recompute, out);
    write_packed(cast.catalog.serialize(), out);
    ByteWriter units;
    for (const TensorUnits& of : cast.units) units.write(of);
    write_packed(units.bytes(), out);
    return std::move(out).take();
}

Result<Cast> parse_cast(ByteSpan bytes) {
    ByteReader in(bytes);
    Cast cast;
    cast.title = in.take_text(kTextMax);
    for (std::uint32_t n = read_count(kSitesMax, in); n > 0 && !in.failed(); --n)
        cast.sites.push_back(in.take_text(kTextMax));
    for (std::uint32_t n = read_count(kLinksMax, in); n > 0 && !in.failed(); --n) {
        CastLink link;
        link.from = in.take_text(kTextMax);
        link.to = in.take_text(kTextMax);
        link.rate = BitsPerSecond{in.read<std::uint64_t>()};
        cast.links.push_back(std::move(link));
    }
    cast.tree.number = in.read<std::uint64_t>();
    for (std::uint32_t n = read_count(kNodesMax, in); n > 0 && !in.failed(); --n)
        cast.tree.nodes.push_back(read_node(in));
    const auto shape = in.read<std::uint8_t>();
    cast.loop.step = read_time(in);
    cast.loop.generation = read_time(in);
    cast.loop.staleness = in.read<std::uint32_t>();
    cast.loop.kv_recompute = read_time(in);
    REFIT_TRY(names, read_packed(in, "the catalog"));
    REFIT_TRY(catalog, Catalog::parse(names));
    cast.catalog = std::move(catalog);
    REFIT_TRY(units, read_packed(in, "the list of units"));
    REFIT_CHECK(read_units(units, cast));
    REFIT_CHECK(in.finish("the cast"));
    if (shape > static_cast<std::uint8_t>(LoopShape::asynchronous))
        return nonsense("a loop that does not exist");
    cast.loop.shape = static_cast<LoopShape>(shape);
    REFIT_CHECK(check_tree(cast));
    return cast;
}

}  // namespace refit
