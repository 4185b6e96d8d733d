// The makers of the built-in codecs, one per file. builtin.cpp is the list; only it includes this.
#pragma once

#include <memory>

#include "engine/codec/codec.hpp"

namespace refit {

std::unique_ptr<Codec> make_full();
std::unique_ptr<Codec> make_full_zstd();
std::unique_ptr<Codec> make_xor_zstd();
std::unique_ptr<Codec> make_gap_xor_zstd();
std::unique_ptr<Codec> make_index_value();
std::unique_ptr<Codec> make_bitmask_zstd();
std::unique_ptr<Codec> make_cf();
std::unique_ptr<Codec> make_xc();
std::unique_ptr<Codec> make_planes_zstd();
std::unique_ptr<Codec> make_coo_zstd();

}  // namespace refit
