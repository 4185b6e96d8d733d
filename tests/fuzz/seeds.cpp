#include "tests/fuzz/seeds.hpp"

#include <algorithm>

#include "engine/codec/attachments.hpp"
#include "engine/observe/cast.hpp"
#include "engine/observe/event_columns.hpp"
#include "engine/store/in_place_journal.hpp"
#include "tests/engine/codec_fixture.hpp"
#include "tests/fuzz/targets.hpp"
#include "tests/support/files.hpp"
#include "workloads/change_profile.hpp"

namespace refit::fuzz {

namespace {

using test::WordVector;

std::vector<ByteVector> texts(std::initializer_list<std::string> list) {
    std::vector<ByteVector> seeds;
    for (const std::string& text : list) seeds.push_back(to_bytes(text));
    return seeds;
}

ByteVector after_choice(std::uint8_t choice, ByteSpan bytes) {
    ByteWriter writer;
    writer.write(choice);
    writer.append(bytes);
    return std::move(writer).take();
}

std::vector<ByteVector> header_seeds() {
    return texts({"{}", R"({"__metadata__":{"format":"pt"}})",
                  "{" + tensor_entry("a", "BF16", "[2,3]", 0, 12) + "}  ",
                  R"({"__metadata__":null,)" + tensor_entry("b", "F4", "[4]", 2, 4) + "," +
                      tensor_entry("\\u0061", "F16", "[]", 0, 2) + "}",
                  R"({"w":{"x":[{"y":-1.5e3}],"data_offsets":[0,0],"dtype":"I64","shape":[3,0]}})",
                  // A hole, and an overlap.
                  "{" + tensor_entry("a", "BF16", "[2]", 4, 8) + "}",
                  "{" + tensor_entry("a", "U8", "[2]", 0, 2) + "," +
                      tensor_entry("b", "U8", "[2]", 1, 3) + "}"});
}

std::vector<ByteVector> index_seeds() {
    return texts({R"({"weight_map":{}})",
                  R"({"metadata":{"total_size":12},"weight_map":{"a":"model-1.safetensors",)"
                  R"("b":"x.safetensors"}})",
                  R"({"weight_map":{"a":"../x.safetensors"}})"});
}

std::vector<ByteVector> architecture_seeds() {
    return texts({R"(schema = "refit.architecture/1"
name = "a"
source = "b"
hidden = 2
layers = 1
heads = 1
kv_heads = 1
head_dim = 2
intermediate = 3
vocabulary = 4
tied_embeddings = true
qk_norm = false
sinks = false
recalled = false
[totals]
parameters = 50
)",
                  R"(schema = "refit.architecture/1"
[experts]
count = 2
[latent]
kv_rank = 1
)"});
}

std::vector<ByteVector> config_seeds() {
    return texts({R"({"model_type":"llama","hidden_size":2,"num_hidden_layers":1,)"
                  R"("num_attention_heads":1,"num_key_value_heads":1,"intermediate_size":3,)"
                  R"("vocab_size":4,"tie_word_embeddings":true})",
                  R"({"model_type":"qwen3_moe","num_experts":2,"num_experts_per_tok":1,)"
                  R"("moe_intermediate_size":1,"hidden_size":1e3})"});
}

std::vector<ByteVector> profile_seeds() {
    ChangeProfile profile;
    return texts({profile_toml(profile), "schema = \"refit.profile/1\"\n[[exponent]]\n"});
}

std::vector<ByteVector> published_seeds() {
    const std::string header =
        "id,system,source,model,parameters,word_bits,full_bytes,changed,payload_bytes,seconds,"
        "full_seconds,speedup,byte_ratio,saving,anchor_every,link,link_bits_per_second,style,"
        "time_fit,rate_origin,inferred,note\n";
    return texts({header + "a,b,c,1B,1e9,16,,0.03,5e7,1-2,3/4,12-40,,,,x,,coo-zstd,,step,"
                           "\"n = 1 (x)\",\"a, b\"\n",
                  header + "z,b,c,1B,1e9,16,2e9,1,,,5,,,,,x,1e9,full,,none,,\n"});
}

Manifest manifest_of(const ByteVector& file) {
    auto reader = RfdReader::parse(file);
    REFIT_ASSERT(reader.has_value());
    return reader.value().manifest();
}

/// Two short tensors, so that a file is mostly records.
test::Sample tiny_sample() {
    Rng rng(7, 1);
    auto [base, next] = test::random_words(rng, 22, 200'000);
    return {test::make_catalog({{"a", WordType::bf16, {4, 4}}, {"b", WordType::f16, {6}}}),
            std::move(base), std::move(next)};
}

std::vector<ByteVector> container_seeds() {
    const auto device = make_cpu_device(1);
    test::Sample sample = tiny_sample();
    test::DeltaOptions one_part;
    one_part.attachments = {{"file/a", to_bytes("{}")}, {"index", to_bytes("{}")}};
    test::DeltaOptions two_parts;
    two_parts.codec = "index-value";
    two_parts.unit_words = 16;
    two_parts.chunks_per_part = 1;
    std::vector<ByteVector> seeds{test::encode_rfd(*device, sample, one_part),
                                  test::encode_rfd(*device, sample, two_parts)};
    sample.next = sample.base;
    seeds.push_back(test::encode_rfd(*device, sample, {}));
    return seeds;
}

std::vector<ByteVector> manifest_seeds() {
    std::vector<ByteVector> seeds;
    for (const ByteVector& file : container_seeds()) {
        const Manifest manifest = manifest_of(file);
        seeds.push_back(after_choice(3, manifest.serialize()));
        if (seeds.size() > 1) continue;
        seeds.push_back(after_choice(0, manifest.open.serialize()));
        seeds.push_back(after_choice(1, manifest.parts[0].serialize()));
        seeds.push_back(after_choice(2, manifest.seal.serialize()));
    }
    return seeds;
}

std::vector<ByteVector> cast_seeds() {
    const Catalog catalog = test::small_sample().catalog;
    Topology topology;
    topology.sites.resize(2);
    topology.sites[0].name = "us";
    topology.sites[0].trainer = true;
    topology.sites[1].name = "eu";
    topology.sites[1].replicas = {{"replica-1", "tp:tp2", {}}};
    topology.links.push_back({"us", "eu", BitsPerSecond{1'000'000}, 80_ms, "test"});
    return {serialize(make_cast("two sites", topology, {}, catalog, Grid(catalog), 700))};
}

std::vector<ByteVector> event_seeds() {
    const std::vector<Event> events = {
        {0_s, 0, 0, 1, kNoNode, 0, EventKind::load_begin},
        {1_s, 1, 0, 0, kNoNode, 0, EventKind::step_ready},
        {1_s, 1, 8 << 20, 0, 1, 3, EventKind::chunk_sent},
        {2_s, 1, 8 << 20, 1, 0, 3, EventKind::chunk_received},
        {3_s, 0, 0, kNoNode, kNoNode, 2, EventKind::link_down},
    };
    return {pack_events({}), pack_events(events)};
}

std::vector<ByteVector> catalog_seeds() {
    return {test::make_catalog({}).serialize(), test::small_sample().catalog.serialize()};
}

std::vector<ByteVector> attachment_seeds() {
    std::string unsafe(as_text(serialize_attachments({{"ab/c", to_bytes("{}")}})));
    unsafe.replace(unsafe.find("ab/c"), 4, "../c");
    return {to_bytes(unsafe), serialize_attachments({}),
            serialize_attachments(
                {{"index", to_bytes("{}")}, {"file/a", ByteVector(400, std::byte{7})}})};
}

std::vector<ByteVector> opaque_seeds() {
    OpaqueItem item;
    item.name = "norm.weight";
    item.bytes = 201;
    item.has_base = true;
    const ByteVector base(201, std::byte{1});
    ByteVector next = base;
    next[100] = std::byte{2};
    ByteVector noise(67);
    for (std::size_t i = 0; i < noise.size(); ++i) noise[i] = static_cast<std::byte>(i * i * 37);
    return {after_choice(0, serialize_opaque({})),
            after_choice(
                0, serialize_opaque(
                       {item, {OpaqueKind::file, false, "config.json", 9, 0, 9, sha256(base)}})),
            after_choice(201, encode_opaque_tile(0, 0, base, base)),
            after_choice(201, encode_opaque_tile(0, 0, base, next)),
            after_choice(67, encode_opaque_tile(0, 0, {}, noise))};
}

/// A file that only grows, for the writer of a journal.
class GrowingFile final : public DiskFile {
public:
    std::uint64_t bytes() const override { return bytes_.size(); }
    void read_at(std::uint64_t, std::span<std::byte>) const override { REFIT_ASSERT(false); }
    void write_at(std::uint64_t offset, ByteSpan bytes) override {
        bytes_.resize(std::max<std::size_t>(bytes_.size(), offset + bytes.size()));
        std::ranges::copy(bytes, bytes_.begin() + static_cast<std::ptrdiff_t>(offset));
    }
    void reserve(std::uint64_t) override {}
    void sync() override {}
    const ByteVector& all() const { return bytes_; }

private:
    ByteVector bytes_;
};

std::vector<ByteVector> journal_seeds() {
    GrowingFile small;
    JournalWriter nothing(small, to_bytes("identity"), {"model.safetensors"});
    nothing.commit();
    GrowingFile large;
    JournalWriter writer(large, to_bytes("identity"), {"model.safetensors", "b"});
    const std::uint32_t number = writer.patched({"model.safetensors", 100'000});
    writer.select(number);
    for (const std::uint64_t word : {5u, 9u, 700u}) writer.add_word(80 + 2 * word, 0x3F80);
    for (std::uint64_t word = 1000; word < 1040; ++word) writer.add_word(81 + 2 * word, 0x8000);
    writer.add_bytes(8, to_bytes("{\"header\":1}"));
    writer.created({"c", 7});
    writer.removed("d");
    writer.commit();
    return {small.all(), large.all()};
}

std::vector<ByteVector> scenario_seeds() {
    return texts(
        {"schema = \"refit.scenario/1\"\ntitle = \"t\"\n[source]\ntrace = \"dense\"\n",
         "[delta]\ncodec = \"xor-zstd\"\nchunk = \"8 MiB\"\n[loop]\nshape = \"synchronous\"\n",
         "[[fault]]\nkind = \"kill\"\nnode = \"r1\"\nat_percent = 50\nduration = \"2 s\"\n",
         read_text_file(std::filesystem::path(REFIT_SOURCE_DIR) / "scenarios" / "smoke.toml")});
}

std::vector<ByteVector> quantity_seeds() {
    return texts({std::string("\0008 MiB", 6), "\0013 Gbit/s", "\0021.5 GB/s", "\003250 ms",
                  "\004speedup>=12", "\004gpu_idle.fraction < 3 %", "\00220000000000 GiB/s"});
}

/// Three tiles of one unit: one that changes a little, one wholly, one not at all.
ByteVector codec_seed(const Codec& codec, std::size_t size_choice, unsigned change_every) {
    ByteWriter draft;
    draft.write(std::uint8_t{2});
    for (std::size_t i = 0; i < 3; ++i) {
        draft.write(static_cast<std::uint8_t>(size_choice - i));
        draft.write(std::uint8_t{0});
        draft.write(std::uint16_t{0});
    }
    const CodecInput input = read_codec_input(draft.bytes());
    const auto device = make_cpu_device(1);
    std::vector<WordVector> next;
    std::vector<Changes> changes(input.tiles.size());
    for (std::size_t i = 0; i < input.tiles.size(); ++i) {
        const auto base = input.tiles[i].base;
        next.emplace_back(base.begin(), base.end());
        const std::size_t every = i == 0 ? change_every : 1;
        for (std::size_t k = 0; k < next[i].size() && i < 2; k += every)
            next[i][k] = static_cast<std::uint16_t>(next[i][k] ^ (k % 7 == 0 ? 0x8001u : 1u));
        device->diff(base, next[i], changes[i]);
    }
    std::vector<TileDiff> tiles;
    std::vector<TileMode> modes;
    ByteWriter writer;
    writer.write(std::uint8_t{2});
    for (std::size_t i = 0; i < input.tiles.size(); ++i) {
        tiles.push_back({input.tiles[i].base, next[i], &changes[i]});
        modes.push_back(codec.choose_mode(tiles.back()));
        writer.write(static_cast<std::uint8_t>(size_choice - i));
        writer.write(static_cast<std::uint8_t>(modes.back()));
        writer.write(static_cast<std::uint16_t>(changes[i].changed()));
    }
    ByteVector body;
    codec.encode(*device, tiles, modes, body);
    ByteVector seed = std::move(writer).take();
    constexpr std::size_t kTileBytes = 4;  // choice of size, mode, changes; after one byte
    for (std::size_t i = 0; i < modes.size(); ++i)
        seed[1 + i * kTileBytes + 1] = static_cast<std::byte>(modes[i]);
    seed.insert(seed.end(), body.begin(), body.end());
    return seed;
}

std::vector<ByteVector> codec_seeds(const std::string& name) {
    const auto codec = find_codec(name);
    if (!codec.has_value()) return {};
    std::vector<ByteVector> seeds{codec_seed(*codec.value(), 7, 3),
                                  codec_seed(*codec.value(), 12, 9),
                                  codec_seed(*codec.value(), 14, 40)};
    // Their 96 bytes of states are worth it for larger tiles only.
    for (const std::size_t size_choice : {16u, 19u})
        if (name == "xc" || name == "cf")
            seeds.push_back(codec_seed(*codec.value(), size_choice, 11));
    return seeds;
}

}  // namespace

std::vector<ByteVector> seeds_of(const std::string& target) {
    constexpr std::string_view kCodec = "codec-";
    if (target.starts_with(kCodec)) return codec_seeds(target.substr(kCodec.size()));
    if (target == "safetensors-header") return header_seeds();
    if (target == "safetensors-index") return index_seeds();
    if (target == "architecture") return architecture_seeds();
    if (target == "model-config") return config_seeds();
    if (target == "change-profile") return profile_seeds();
    if (target == "published") return published_seeds();
    if (target == "container") return container_seeds();
    if (target == "manifest") return manifest_seeds();
    if (target == "catalog") return catalog_seeds();
    if (target == "cast") return cast_seeds();
    if (target == "events") return event_seeds();
    if (target == "attachments") return attachment_seeds();
    if (target == "opaque") return opaque_seeds();
    if (target == "journal") return journal_seeds();
    if (target == "scenario") return scenario_seeds();
    if (target == "quantities") return quantity_seeds();
    return {};
}

}  // namespace refit::fuzz
