// The fuzz targets: one function each, which takes any bytes and must neither crash nor lie.
//
// Contract   a target returns 0. It breaks an assertion when a parser accepts bytes and then does
//            not keep the promises of its header.
// Cost       no files, no threads, memory in proportion to the input: libFuzzer calls each more
//            than 100,000 times a second.
// Run        tests/fuzz/fuzz.sh (preset `fuzz`); an ordinary test runs tests/fuzz/corpus/<name>/.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/codec/codec.hpp"

namespace refit::fuzz {

int fuzz_safetensors_header(ByteSpan bytes);  // the JSON of a header
int fuzz_safetensors_index(ByteSpan bytes);   // model.safetensors.index.json
int fuzz_architecture(ByteSpan bytes);        // an architecture file
int fuzz_model_config(ByteSpan bytes);        // a config.json
int fuzz_change_profile(ByteSpan bytes);      // what `refit profile -o` writes
int fuzz_published(ByteSpan bytes);           // published.csv, judged when it is accepted
int fuzz_container(ByteSpan bytes);           // a whole .rfd file; record hashes are put right
int fuzz_manifest(ByteSpan bytes);            // first byte: which record, or the whole log
int fuzz_catalog(ByteSpan bytes);
int fuzz_attachments(ByteSpan bytes);
int fuzz_opaque(ByteSpan bytes);   // first byte: the table, or a unit
int fuzz_cast(ByteSpan bytes);     // of a recording
int fuzz_events(ByteSpan bytes);   // a block of them
int fuzz_journal(ByteSpan bytes);  // of an in-place update; its hash is put right
int fuzz_scenario(ByteSpan bytes);
int fuzz_quantities(ByteSpan bytes);  // "3 Gbit/s", "speedup>=12"

/// The tiles that the first bytes of an input choose: u8 tiles - 1; per tile u8 size, u8 mode, u16
/// changed words. The body is what follows.
struct CodecInput {
    std::vector<TileBase> tiles;  // base words are the same for every input
    ByteSpan body;
};
CodecInput read_codec_input(ByteSpan bytes);

int fuzz_codec(const Codec& codec, Device& device, ByteSpan bytes);

struct Target {
    std::string name;  // also of its folder of corpus files
    std::size_t max_bytes;
    std::function<int(ByteSpan)> run;
};

/// By the highest layer they need, so that no binary carries code none of its targets reaches:
/// libFuzzer looks at every branch of a binary after every call.
std::vector<Target> engine_targets();  // codecs as "codec-NAME", one for each of builtin_codecs()
std::vector<Target> workloads_targets();
std::vector<Target> scenarios_targets();

}  // namespace refit::fuzz
