// The rows of `refit bench net --nccl`, over the library without a GPU: the same calls, in the same
// order, as on GPUs.
#include <gtest/gtest.h>

#include <cstdlib>

#include "app/bench/net_rows.hpp"
#include "engine/base/result.hpp"
#include "engine/collective/nccl_collective.hpp"
#include "engine/collective/socket_collective.hpp"
#include "tests/support/files.hpp"

namespace refit {
namespace {

NetWorld fake_world(SocketMesh mesh) {
    NetWorld world;
    const auto library = open_nccl(REFIT_FAKE_NCCL_FOLDER);
    world.version = nccl_version(*library);
    world.memory = make_host_memory();
    world.sockets = std::make_unique<SocketCollective>(std::move(mesh), 20_s);
    world.nccl = make_nccl_collective(library, *world.sockets, *world.memory, 20_s);
    return world;
}

TEST(NetRows, AreExactOverNcclsCalls) {
    const TestFolder folder;
    setenv("REFIT_FAKE_NCCL_FOLDER", folder.path().c_str(), 1);
    const volatile std::sig_atomic_t never = 0;
    const Console console(never);
    const NetRows net = measure_net(console, {3, 16384, 7}, fake_world);
    EXPECT_EQ(net.version, "2.18.5");
    ASSERT_EQ(net.rows.size(), 6U);
    for (const NetRow& row : net.rows) {
        EXPECT_EQ(row.wrong, 0U);
        EXPECT_EQ(row.checked, 26 * row.bytes / 2 * (row.operation == "gather" ? 1 : 2));
    }
}

TEST(NetRows, AFaultOfTheLibraryIsOneLine) {
    const TestFolder folder;
    setenv("REFIT_FAKE_NCCL_FOLDER", folder.path().c_str(), 1);
    setenv("REFIT_FAKE_NCCL", "error,1,9", 1);
    const volatile std::sig_atomic_t never = 0;
    const Console console(never);
    try {
        measure_net(console, {3, 16384, 7}, fake_world);
        ADD_FAILURE() << "nothing failed";
    } catch (const MachineError& error) {
        EXPECT_STREQ(error.what(), "bench net: a rank, in fan-out 18: NCCL: internal error");
    }
    unsetenv("REFIT_FAKE_NCCL");
}

}  // namespace
}  // namespace refit
