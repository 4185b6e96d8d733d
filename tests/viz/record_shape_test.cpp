// Records are files, and files are damaged: whatever is not what views read is refused, everything
// else can be drawn.
#include "viz/record_shape.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "tests/support/files.hpp"
#include "viz/codec_view.hpp"
#include "viz/exports/tables.hpp"
#include "viz/report/report.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// The recorded run that is shipped.
class RecordShape : public testing::Test {
protected:
    static fs::path folder() { return fs::path(REFIT_SOURCE_DIR) / "results" / "faults"; }

    RecordShape()
        : record_(Json::parse(read_text_file(folder() / kRecordFile))),
          run_(make_saved_run(read_recording(folder() / kRecordingFile).value(), record_)) {}

    /// Everything that reads a record. Throws what JSON throws when it was trusted too far.
    void draw_all(const Json& record) {
        run_.record = record;
        std::ostringstream out;
        write_html(run_, {}, out);
        write_csv(run_, out);
        write_markdown(run_, out);
        write_prometheus(run_, out);
        view_codec(record);
    }

    /// The first item of a list stands for its others; nobody reads edges and host but as values.
    static std::vector<Json::json_pointer> places(const Json& in) {
        std::vector<Json::json_pointer> found;
        std::vector<Json::json_pointer> open = {Json::json_pointer()};
        while (!open.empty()) {
            const Json::json_pointer at = open.back();
            open.pop_back();
            const Json& value = in[at];
            if (value.is_object())
                for (const auto& [key, item] : value.items())
                    if (key != "edges" && key != "host") open.push_back(at / key);
            if (value.is_array() && !value.empty()) open.push_back(at / std::size_t{0});
            if (!at.empty()) found.push_back(at);
        }
        return found;
    }

    Json record_;
    SavedRun run_;
};

TEST_F(RecordShape, TakesTheRecordOfARun) {
    const Status checked = check_record(record_);
    EXPECT_TRUE(checked.has_value()) << checked.error().what;
    draw_all(record_);
}

TEST_F(RecordShape, NamesTheKeyThatIsMissingOrWrong) {
    Json record = record_;
    record["refits"][1].erase("wire_seconds");
    EXPECT_EQ(check_record(record).error().what, "has no or a wrong 'refits.1.wire_seconds'");
    record = record_;
    record["codec"]["payload_bytes"]["value"] = "many";
    EXPECT_EQ(check_record(record).error().what, "has no or a wrong 'codec.payload_bytes'");
    record = record_;
    record["link_scale"] = 0;
    EXPECT_FALSE(check_record(record).has_value());
    record = record_;
    record["model"]["parameters"] = 0;
    EXPECT_EQ(check_record(record).error().what, "has no or a wrong 'model.parameters'");
    EXPECT_FALSE(check_record(Json()).has_value());
    EXPECT_FALSE(check_record(Json::parse("[", nullptr, false)).has_value());
}

TEST_F(RecordShape, WhateverPassesCanBeDrawn) {
    const std::vector<Json::json_pointer> all = places(record_);
    std::size_t refused = 0;
    std::size_t drawn = 0;
    const auto meet = [&](const Json& record, const Json::json_pointer& at) {
        if (!check_record(record).has_value()) {
            ++refused;
            return;
        }
        ++drawn;
        EXPECT_NO_THROW(draw_all(record)) << at.to_string();
    };
    for (const Json::json_pointer& at : all) {
        Json without = record_;
        Json& parent = without[at.parent_pointer()];
        if (parent.is_object()) {
            parent.erase(at.back());
        } else {
            parent.erase(std::size_t{0});
        }
        meet(without, at);
        for (const Json& other : {Json(), Json(0), Json(-1e300), Json("x"), Json::object()}) {
            Json changed = record_;
            changed[at] = other;
            meet(changed, at);
        }
    }
    EXPECT_GT(refused, all.size());
    EXPECT_GT(drawn, all.size());
}

}  // namespace
}  // namespace refit
