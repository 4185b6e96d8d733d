#include "engine/codec/builtin.hpp"

namespace refit {

const std::vector<std::unique_ptr<Codec>>& builtin_codecs() {
    static const std::vector<std::unique_ptr<Codec>> codecs = [] {
        std::vector<std::unique_ptr<Codec>> list;
        list.push_back(make_xc());
        list.push_back(make_cf());
        list.push_back(make_gap_xor_zstd());
        list.push_back(make_xor_zstd());
        list.push_back(make_planes_zstd());
        list.push_back(make_coo_zstd());
        list.push_back(make_bitmask_zstd());
        list.push_back(make_index_value());
        list.push_back(make_full_zstd());
        list.push_back(make_full());
        return list;
    }();
    return codecs;
}

Result<const Codec*> find_codec(std::string_view name) {
    std::string known;
    for (const std::unique_ptr<Codec>& codec : builtin_codecs()) {
        if (codec->name() == name) return codec.get();
        known += (known.empty() ? "" : ", ") + std::string(codec->name());
    }
    return Error{ErrorCode::invalid_input,
                 "no codec is called \"" + std::string(name) + "\"; there are " + known};
}

}  // namespace refit
