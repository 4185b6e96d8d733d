// What the user has to fix costs one line, the right exit code, and leaves nothing behind.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/app/driver.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;

/// base and next of one small tensor, and the delta between them.
class BadInput : public testing::Test {
protected:
    void SetUp() override {
        std::string next = small_safetensors("t", 1, 4096);
        for (std::size_t at = next.size() - 8192; at < next.size(); at += 66)
            next[at] = static_cast<char>(next[at] ^ 0x15);
        write_text_file(inputs_ / "base.safetensors", small_safetensors("t", 1, 4096));
        write_text_file(inputs_ / "next.safetensors", next);
        write_text_file(inputs_ / "other.safetensors", small_safetensors("u", 1, 4096));
        next_ = next;
        ASSERT_EQ(run_refit({"encode", "--base", base(), "--new", next_path(), "-o", delta()}).code,
                  0);
    }

    std::string in(const std::string& name) const { return (inputs_ / name).string(); }
    std::string base() const { return in("base.safetensors"); }
    std::string next_path() const { return in("next.safetensors"); }
    std::string delta() const { return in("delta.rfd"); }
    std::string output() const { return (outputs_ / "out").string(); }

    /// One line `refit: FILE: reason`, the code, an empty output folder.
    void expect_refused(const Outcome& outcome, int code, const std::string& start) const {
        EXPECT_EQ(outcome.code, code) << outcome.err;
        EXPECT_TRUE(outcome.one_line()) << outcome.err;
        EXPECT_TRUE(outcome.err.starts_with("refit: " + start)) << outcome.err;
        EXPECT_EQ(outcome.out, "");
        EXPECT_TRUE(outputs_.names().empty()) << outputs_.names().front();
    }

    Outcome encode(const std::string& from, const std::string& to, const Start& start = {}) const {
        return run_refit({"encode", "--base", from, "--new", to, "-o", output()}, start);
    }
    Outcome apply(const std::string& from, const std::string& with, const Start& start = {}) const {
        return run_refit({"apply", "--base", from, "--delta", with, "-o", output()}, start);
    }

    TestFolder inputs_;
    TestFolder outputs_;
    std::string next_;
};

TEST_F(BadInput, MissingFilesAreNamed) {
    expect_refused(encode(in("none.safetensors"), next_path()), 3, in("none.safetensors") + ": ");
    expect_refused(encode(base(), in("none.safetensors")), 3, in("none.safetensors") + ": ");
    expect_refused(apply(base(), in("none.rfd")), 3, in("none.rfd") + ": ");
    expect_refused(run_refit({"inspect", in("none")}), 3, in("none") + ": ");
    expect_refused(run_refit({"map", in("none"), "--train", "tp:tp2", "--serve", "tp:tp2"}), 3,
                   in("none") + ": ");
}

/// What people hand over in place of a safetensors checkpoint, and what the line must say.
struct Mistake {
    std::string name;  // in the input folder, or an address
    std::string bytes;
    std::vector<std::string> says;
};

std::vector<Mistake> mistakes() {
    const std::string zip("PK\x03\x04\x14\0\0\0", 8);
    const std::string bad_dtype =
        safetensors_header(fmt::format("{{{}}}", tensor_entry("w", "BF17", "[2]", 0, 4))) + "abcd";
    ByteWriter hostile;
    hostile.write(std::uint64_t{1} << 63);
    hostile.append(as_byte_span("{}"));
    return {
        {"pytorch_model.bin", zip, {".bin", "PyTorch", "safetensors"}},
        {"model.pt", zip, {".pt", "PyTorch", "safetensors"}},
        {"model.pth", zip, {".pth", "PyTorch", "safetensors"}},
        {"model.ckpt", zip, {".ckpt", "safetensors"}},
        {"__0_0.distcp", zip, {".distcp", "torch.distributed", "safetensors"}},
        {"model.gguf", "GGUF", {"GGUF", "safetensors"}},
        {"s3://bucket/model.safetensors", "", {"S3", "safetensors"}},
        {"hf://org/model", "", {"Hugging Face", "safetensors"}},
        {"page.safetensors", "<!DOCTYPE html><html>503</html>", {"web page", "safetensors"}},
        {"pointer.safetensors",
         "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
         {"Git LFS pointer", "git lfs pull"}},
        {"archive.safetensors", zip + zip, {"PyTorch archive", "safetensors"}},
        {"renamed.safetensors", "GGUF\x03 tensors", {"GGUF", "safetensors"}},
        {"hostile.safetensors", std::string(as_text(hostile.bytes())), {"9223372036854775808"}},
        {"dtype.safetensors", bad_dtype, {"'w'", "BF17"}},
    };
}

TEST_F(BadInput, OtherFormatsAreNamedByEveryCommand) {
    for (const Mistake& mistake : mistakes()) {
        SCOPED_TRACE(mistake.name);
        const bool address = mistake.name.find("://") != std::string::npos;
        const std::string bad = address ? mistake.name : in(mistake.name);
        if (!address) write_text_file(bad, mistake.bytes);
        for (const Outcome& outcome :
             {encode(bad, base()), encode(base(), bad), apply(bad, delta()),
              run_refit({"verify", bad, base()}), run_refit({"verify", base(), bad}),
              run_refit({"verify", "--base", base(), "--delta", delta(), "--new", bad}),
              run_refit({"inspect", bad})}) {
            expect_refused(outcome, 3, bad + ": ");
            for (const std::string& part : mistake.says)
                EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
        }
    }
}

TEST_F(BadInput, FoldersOfOtherFormatsAreNamed) {
    for (const char* name : {"pytorch_model-00001-of-00002.bin", "__0_0.distcp", "model.gguf"}) {
        SCOPED_TRACE(name);
        const fs::path folder = inputs_ / (std::string(name) + "-folder");
        write_text_file(folder / name, "whatever");
        for (const Outcome& outcome :
             {encode(folder.string(), base()), apply(folder.string(), delta()),
              run_refit({"verify", base(), folder.string()}), run_refit({"inspect", folder})}) {
            expect_refused(outcome, 3, folder.string() + ": ");
            EXPECT_NE(outcome.err.find("safetensors"), std::string::npos) << outcome.err;
        }
    }
}

TEST_F(BadInput, WhatIsNoDeltaIsNamed) {
    for (const auto& [name, bytes] : std::vector<std::pair<std::string, std::string>>{
             {"empty.rfd", ""},
             {"page.rfd", "<!DOCTYPE html><html><body>503 Slow Down</body></html>"},
             {"checkpoint.rfd", small_safetensors("t", 1, 64)},
             {"pointer.rfd", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n"}}) {
        SCOPED_TRACE(name);
        write_text_file(in(name), bytes);
        expect_refused(apply(base(), in(name)), 3, in(name) + ": ");
        expect_refused(
            run_refit({"verify", "--base", base(), "--delta", in(name), "--new", next_path()}), 3,
            in(name) + ": ");
    }
    expect_refused(apply(base(), inputs_.path().string()), 3, inputs_.path().string() + ": ");
}

TEST_F(BadInput, OutputIsAFileInAFolderThatExistsAndNoInput) {
    const auto encode_to = [&](const std::string& to) {
        return run_refit({"encode", "--base", base(), "--new", next_path(), "-o", to});
    };
    expect_refused(encode_to(output() + "/x/y"), 3, output() + "/x/y: ");
    expect_refused(encode_to(inputs_.path().string()), 3, inputs_.path().string() + ": ");
    expect_refused(encode_to("/dev/null"), 3, "/dev/null: ");
    expect_refused(encode_to(base()), 3, base() + ": ");
    EXPECT_TRUE(fs::exists("/dev/null") && !fs::is_regular_file("/dev/null"));
    EXPECT_EQ(read_text_file(base()), small_safetensors("t", 1, 4096));
}

TEST_F(BadInput, OtherTensorsTravelWhole) {
    write_text_file(
        inputs_ / "f32.safetensors",
        safetensors_header(fmt::format("{{{}}}", tensor_entry("w", "F32", "[1]", 0, 4))) + "abcd");
    for (const std::string& next : {in("other.safetensors"), in("f32.safetensors")}) {
        SCOPED_TRACE(next);
        ASSERT_EQ(encode(base(), next).code, 0);
        fs::rename(output(), in("across.rfd"));
        ASSERT_EQ(apply(base(), in("across.rfd")).code, 0);
        EXPECT_EQ(read_text_file(output()), read_text_file(next));
        fs::remove(output());
    }
}

TEST_F(BadInput, WrongBaseIsRefusedBeforeAnythingIsDecoded) {
    expect_refused(apply(next_path(), delta()), 3, next_path() + ": is version ");
    expect_refused(apply(in("other.safetensors"), delta()), 3, in("other.safetensors") + ": ");
    expect_refused(
        run_refit({"verify", "--base", next_path(), "--delta", delta(), "--new", next_path()}), 3,
        next_path() + ": is version ");
}

TEST_F(BadInput, CutAndLengthenedDeltasAreRefused) {
    const std::string whole = read_text_file(delta());
    const std::string damaged = in("damaged.rfd");
    for (std::size_t k = 0; k < 16; ++k) {
        SCOPED_TRACE(testing::Message() << "cut at " << k << "/16");
        write_text_file(damaged, whole.substr(0, whole.size() * k / 16));
        expect_refused(apply(base(), damaged), 3, damaged + ": ");
    }
    write_text_file(damaged, whole.substr(0, whole.size() - 1));
    expect_refused(apply(base(), damaged), 3, damaged + ": ");
    write_text_file(damaged, whole + '\0');
    expect_refused(apply(base(), damaged), 3, damaged + ": ");
}

TEST_F(BadInput, FlippedBitsAreRefusedOrHarmless) {
    const std::string whole = read_text_file(delta());
    const std::string damaged = in("damaged.rfd");
    for (std::size_t k = 0; k < 64; ++k) {
        SCOPED_TRACE(testing::Message() << "bit flipped at byte " << k << "/64");
        std::string bytes = whole;
        const std::size_t at = bytes.size() * k / 64;
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << (k % 8)));
        write_text_file(damaged, bytes);
        const Outcome outcome = apply(base(), damaged);
        if (outcome.code == 0) {
            EXPECT_EQ(read_text_file(output()), next_);
            fs::remove(output());
        } else {
            expect_refused(outcome, outcome.code == 4 ? 4 : 3, damaged + ": ");
        }
    }
}

TEST_F(BadInput, NoSpaceIsAMachineFailureThatLeavesNothing) {
    const TracePair pair = trace_pair(inputs_);
    const Start limited{.file_limit = 20'000, .extra = {}};
    expect_refused(encode(pair.base.string(), pair.next.string(), limited), 1, output() + ": ");
    ASSERT_EQ(run_refit({"encode", "--base", pair.base.string(), "--new", pair.next.string(), "-o",
                         in("trace.rfd")})
                  .code,
              0);
    expect_refused(apply(pair.base.string(), in("trace.rfd"), limited), 1, output() + ": ");
}

TEST_F(BadInput, FullDiskIsAMachineFailureThatLeavesNothing) {
    if (!outputs_.shrink_to(16'384)) GTEST_SKIP() << "mounting a small tmpfs needs root";
    const TracePair pair = trace_pair(inputs_);
    expect_refused(encode(pair.base.string(), pair.next.string()), 1, output() + ": ");
    ASSERT_EQ(run_refit({"encode", "--base", pair.base.string(), "--new", pair.next.string(), "-o",
                         in("trace.rfd")})
                  .code,
              0);
    expect_refused(apply(pair.base.string(), in("trace.rfd")), 1, output() + ": ");
}

TEST_F(BadInput, FailuresKeepWhatWasThere) {
    write_text_file(outputs_ / "out", "old");
    EXPECT_EQ(apply(next_path(), delta()).code, 3);
    const Start interrupted{.interrupted = true, .extra = {}};
    EXPECT_EQ(encode(base(), next_path(), interrupted).code, 130);
    EXPECT_EQ(outputs_.names(), std::vector<std::string>{"out"});
    EXPECT_EQ(read_text_file(output()), "old");
}

TEST_F(BadInput, CtrlCLeavesNothing) {
    const Start interrupted{.interrupted = true, .extra = {}};
    expect_refused(encode(base(), next_path(), interrupted), 130, "interrupted");
    expect_refused(apply(base(), delta(), interrupted), 130, "interrupted");
}

TEST_F(BadInput, ScenarioMistakesAreNamed) {
    const std::string file = in("s.toml");
    std::string text = read_text_file(fs::path(REFIT_SOURCE_DIR) / "scenarios/smoke.toml");
    write_text_file(file, "speed = 1\n" + text);
    expect_refused(run_refit({"run", file}), 3, file + ":1: speed: unknown key");
    text.replace(text.find("to = \"rollout\""), 14, "to = \"nowhere\"");
    write_text_file(file, text);
    const Outcome unreachable = run_refit({"run", file});
    expect_refused(unreachable, 3, file + ": topology: ");
    EXPECT_NE(unreachable.err.find("nowhere"), std::string::npos) << unreachable.err;
    expect_refused(run_refit({"run", "smoke", "--set", "topology.link=[]"}), 3, "");
    expect_refused(run_refit({"run", in("none.toml")}), 3, in("none.toml") + ": ");
}

}  // namespace
}  // namespace refit
