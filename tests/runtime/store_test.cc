// SPDX-License-Identifier: Apache-2.0
// The store that the processes of a run share: the first process to set a key, the detection of
// lost processes, and the timeouts of keeper and members.
#include "runtime/dist/store.h"

#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "runtime/dist/store_token.h"
#include "tests/support/expect_error.h"
#include "tests/support/ranks.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

using Clock = std::chrono::steady_clock;
constexpr Milliseconds kLong(20'000);

std::unique_ptr<Store> keep(Milliseconds patience = kLong) {
  return keep_store({"127.0.0.1"}, patience, kTestToken);
}
std::unique_ptr<Store> ask(const Store& keeper, Milliseconds patience = kLong) {
  return reach_store({"127.0.0.1", port_of(keeper)}, patience, kTestToken);
}

void expect_first_wins(Store& one, Store& other) {
  EXPECT_TRUE(one.add("key", "first"));
  EXPECT_FALSE(other.add("key", "second"));
  EXPECT_EQ(other.get("key"), "first");
  other.set("key", "set anew");
  EXPECT_EQ(one.get("key"), "set anew");
  EXPECT_EQ(one.get("another key"), std::nullopt);
}

TEST(Store, WhoAddsFirstWins) {
  const auto keeper = keep();
  const auto asker = ask(*keeper);
  expect_first_wins(*keeper, *asker);
  const auto other_keeper = keep();
  expect_first_wins(*ask(*other_keeper), *other_keeper);
  const StorePlace unix{.job = join("store-test-", getpid())};
  const auto unix_keeper = keep_store(unix, kLong);
  expect_first_wins(*reach_store(unix, kLong), *unix_keeper);
  TemporaryFolder folder;
  expect_first_wins(*file_store(folder / "store"), *file_store(folder / "store"));
}

// A Unix socket is named after its job, of any length, and disappears when its keeper ends.
TEST(Store, JobsOfOneNameMeetAndOthersDoNot) {
  const StorePlace one{.job = join(getpid(), std::string(300, 'x'), 1)};
  const StorePlace other{.job = join(getpid(), std::string(300, 'x'), 2)};
  for (int round = 0; round < 3; ++round) {
    const auto keeper = keep_store(one, kLong);
    const auto another = keep_store(other, kLong);
    reach_store(one, kLong)->set("key", "here");
    EXPECT_EQ(keeper->get("key"), "here");
    EXPECT_EQ(another->get("key"), std::nullopt);
    expect_error([&] { keep_store(one, kLong); }, "rank 0 cannot listen at unix://",
                 "Address already in use; another run has the same name: set LOCKSTEP_JOB");
    EXPECT_TRUE(is_kept_here(*keeper));
    EXPECT_FALSE(is_kept_here(*reach_store(one, kLong)));
  }
  expect_error([&] { reach_store(one, Milliseconds(0)); }, "rank 0 does not answer at unix://",
               "Connection refused");
}

TEST(Store, APortThatIsTakenIsNamed) {
  const auto keeper = keep();
  expect_error(
      [&] {
        keep_store({"127.0.0.1", port_of(*keeper)}, kLong, kTestToken);
      },
      join("rank 0 cannot listen on port ", port_of(*keeper), ": Address already in use"),
      "set LOCKSTEP_PORT or MASTER_PORT");
}

TEST(Store, OneWhoseConnectionBreaksIsGoneUnlessItLeft) {
  const auto keeper = keep();
  for (int rank : {1, 2}) {
    const auto asker = ask(*keeper);
    asker->stand_for(rank);
    if (rank == 2) asker->leave();
  }
  EXPECT_NE(keeper->wait(gone_key(1), kLong), "");
  keeper->leave();  // the keeper has examined all connections
  EXPECT_EQ(keeper->get(gone_key(2)), std::nullopt);
}

// Accepts a connection and then never answers, like a stopped process.
class StoppedKeeper {
 public:
  StoppedKeeper() : listening_(listen_at({"127.0.0.1"})) {
    door_ = std::thread([this] {
      while (connection_.get() < 0) {
        connection_ = accept_at(listening_);
        std::this_thread::sleep_for(Milliseconds(1));
      }
      const std::string nonce(kNonceBytes, 'n');
      EXPECT_TRUE(store_wire::send_all(connection_.get(), nonce));
      while (heard_.size() < kNonceBytes + kProofBytes) listen();
      const std::string proved =
          proof(kTestToken, Side::keeper, nonce, heard_.substr(0, kNonceBytes));
      EXPECT_TRUE(store_wire::send_all(connection_.get(), proved));
    });
  }
  ~StoppedKeeper() {
    if (door_.joinable()) door_.join();
  }

  int port() const { return port_of(listening_); }
  // Returns everything that a closed connection sent.
  std::string heard() {
    door_.join();
    while (listen()) continue;
    return heard_;
  }

 private:
  bool listen() {
    char bytes[4096];
    const ssize_t count = recv(connection_.get(), bytes, sizeof bytes, 0);
    heard_.append(bytes, static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    return count > 0 || (count < 0 && errno == EAGAIN);
  }

  store_wire::Socket listening_, connection_;
  std::string heard_;
  std::thread door_;
};

TEST(Store, AKeeperThatIsStoppedIsLostWhenPatienceIsOver) {
  StoppedKeeper keeper;
  const auto start = Clock::now();
  auto asker = reach_store({"127.0.0.1", keeper.port()}, Milliseconds(700), kTestToken);
  const std::string lost = join("rank 0, which serves the store at tcp://127.0.0.1:", keeper.port(),
                                ", has not responded for 0.7 s: it is stopped or unreachable");
  expect_error([&] { asker->get("question"); }, lost);
  const auto took = Clock::now() - start;
  EXPECT_GE(took, Milliseconds(650));
  EXPECT_LT(took, Milliseconds(4000));
  // A lost process stays lost: nobody waits for it again, but the keeper still reports the state of
  // the run.
  for (int again = 0; again < 20; ++again)
    expect_error([&] { asker->add("failed", "last words"); }, lost);
  EXPECT_LT(Clock::now() - start, took + Milliseconds(5000));
  asker.reset();
  EXPECT_NE(keeper.heard().find("last words"), std::string::npos);
}

TEST(Store, AKeeperThatIsGoneIsSaidToBe) {
  auto keeper = keep();
  const auto asker = ask(*keeper);
  asker->set("key", "value");
  keeper.reset();
  for (int again = 0; again < 2; ++again)
    expect_error([&] { asker->get("key"); }, "rank 0, which serves the store at ", ", is gone");
}

TEST(Store, TheKeeperStaysForThoseThatStillAsk) {
  const Milliseconds patience(500), busy(2000);
  const auto keeper = keep(patience);
  std::atomic<bool> served = false;
  std::thread other([&, asker = ask(*keeper)]() mutable {
    const auto end = Clock::now() + busy;
    for (asker->set("there", ""); Clock::now() < end; std::this_thread::sleep_for(Milliseconds(50)))
      asker->get("there");
    asker.reset();
    served = true;
  });
  keeper->wait("there", kLong);
  keeper->leave();
  std::this_thread::sleep_for(Milliseconds(20));
  EXPECT_TRUE(served);
  other.join();
}

TEST(Store, TheKeeperStaysForASilentOneAsLongAsItIsPatient) {
  for (const Milliseconds patience : {Milliseconds(200), Milliseconds(1500)}) {
    const auto keeper = keep(patience);
    const auto silent = ask(*keeper);
    silent->set("there", "");
    const auto start = Clock::now();
    keeper->leave();
    EXPECT_GE(Clock::now() - start, patience - Milliseconds(50));
    EXPECT_LT(Clock::now() - start, patience + Milliseconds(2000));
  }
}

}  // namespace
}  // namespace lockstep::testing
