// SPDX-License-Identifier: Apache-2.0
// A stranger that connects to a port of Gloo's first, while the port is open.
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>

#include "runtime/dist/store.h"
#include "tests/tools/launch_fixture.h"

namespace lockstep::testing {
namespace {

class StrangerLink : public LaunchTest {
 protected:
  // Connects to rank 0 of two, which expects rank 1's connection and gets this process's.
  void connect_to_rank_0() {
    rank_0_ = rank(0, train("run"), {"file://" + store(), 2, 2});
    const auto meeting = file_store(store());
    meeting->set("member/1", "2 77 nowhere");
    meeting->set("gloo/rank_1", "nowhere");
    const std::string address = meeting->wait("gloo/0", std::chrono::seconds(20));
    sockaddr_in at{};
    std::memcpy(&at, address.data(), sizeof at);
    ASSERT_EQ(at.sin_family, AF_INET);
    // Of two ranks, the rank with the greater address connects.
    sockaddr_in greater = at;
    greater.sin_addr.s_addr = htonl(ntohl(at.sin_addr.s_addr) + 1);
    std::string of_1 = address;
    std::memcpy(of_1.data(), &greater, sizeof greater);
    meeting->set("gloo/1", of_1);
    link_ = store_wire::Socket(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(connect(link_.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
  }

  std::unique_ptr<Program> rank_0_;
  store_wire::Socket link_{-1};
};

TEST_F(StrangerLink, IsNamedWhenItIsSilent) {
  connect_to_rank_0();
  expect_refused(rank_0_->finish(),
                 {"cannot exchange 'proof of identity' with rank 1 (host nowhere"});
}

// Eight bytes for a slot without a waiting receiver.
TEST_F(StrangerLink, IsNamedWhenItSaysWhatNoRankWould) {
  connect_to_rank_0();
  const std::array<uint64_t, 7> message{56, 1, 77, 0, 8, 0, 0};
  ASSERT_TRUE(store_wire::send_all(
      link_.get(), {reinterpret_cast<const char*>(message.data()), sizeof message}));
  expect_refused(
      rank_0_->finish(),
      {"lockstep: a connection between ranks is broken, or was opened by a program that is not a"});
}

}  // namespace
}  // namespace lockstep::testing
