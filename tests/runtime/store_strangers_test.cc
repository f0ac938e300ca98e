// SPDX-License-Identifier: Apache-2.0
// The connections that the store refuses, the limits of accepted connections, and the addresses
// that the store listens at.
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "graph/file.h"
#include "graph/printable.h"
#include "runtime/dist/store.h"
#include "runtime/dist/store_token.h"
#include "tests/support/expect_error.h"
#include "tests/support/ranks.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

using namespace store_wire;
using Clock = std::chrono::steady_clock;
constexpr Milliseconds kLong(20'000);

std::unique_ptr<Store> keep(Milliseconds patience = kLong) {
  return keep_store({"127.0.0.1"}, patience, kTestToken);
}
std::unique_ptr<Store> ask(const Store& keeper, const std::string& token = kTestToken) {
  return reach_store({"127.0.0.1", port_of(keeper)}, kLong, token);
}

std::string request(Operation operation, const std::string& key, const std::string& value = "") {
  std::string message(1, static_cast<char>(operation));
  append(message, key);
  append(message, value);
  return message;
}

// A connection that sends arbitrary bytes.
class Wire {
 public:
  explicit Wire(const Store& keeper) {
    std::string why;
    socket_ = connect_to({"127.0.0.1", port_of(keeper)}, kLong, why);
    EXPECT_GE(socket_.get(), 0) << why;
  }
  void say(const std::string& bytes) const { send_all(socket_.get(), bytes); }
  // Reads `count` bytes, or fewer if the connection ends.
  std::string hear(std::size_t count) const {
    std::string bytes(count, '\0');
    const ssize_t got = recv(socket_.get(), bytes.data(), count, MSG_WAITALL);
    bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    return bytes;
  }
  void prove() const {
    const std::string theirs = hear(kNonceBytes), mine(kNonceBytes, 'm');
    say(mine + proof(kTestToken, Side::asker, theirs, mine));
    EXPECT_EQ(hear(kProofBytes), proof(kTestToken, Side::keeper, theirs, mine));
  }
  int get() const { return socket_.get(); }

 private:
  Socket socket_;
};

TEST(StoreStrangers, SayNothingThatIsHeard) {
  const auto keeper = keep();
  const Wire stranger(*keeper), guesser(*keeper);
  stranger.say(request(Operation::set, "failed", "all is lost") + std::string(1000, '\0'));
  guesser.say(std::string(kNonceBytes + kProofBytes, '\0') +
              request(Operation::set, "failed", "all is lost"));
  EXPECT_EQ(guesser.hear(1000).substr(kNonceBytes), std::string(kProofBytes, '\0')) << "refused";
  EXPECT_EQ(stranger.hear(1000).substr(kNonceBytes), std::string(kProofBytes, '\0'));
  EXPECT_EQ(ask(*keeper)->get("failed"), std::nullopt);
}

TEST(StoreStrangers, HaveASecondToProveThatTheyAreNone) {
  const auto keeper = keep();
  const auto start = Clock::now();
  const Wire silent(*keeper), slow(*keeper);
  for (int i = 0; i < 9; ++i, std::this_thread::sleep_for(Milliseconds(100))) slow.say("x");
  EXPECT_EQ(silent.hear(1000).size(), kNonceBytes);  // and the end of the connection
  EXPECT_EQ(slow.hear(1000).size(), kNonceBytes);
  EXPECT_GE(Clock::now() - start, Milliseconds(950));
  EXPECT_LT(Clock::now() - start, Milliseconds(3000));
}

TEST(StoreStrangers, HaveAnotherToken) {
  const auto keeper = keep();
  std::string other = kTestToken;
  other.back() = '0';
  expect_error([&] { ask(*keeper, other); }, "rank 0, which serves the store at tcp://127.0.0.1:",
               "has another token than this process: LOCKSTEP_TOKEN or ~/.config/lockstep/token");
  expect_error([&] { ask(*keeper, ""); }, "a store at tcp://127.0.0.1:", " needs a token");
  expect_error([] { keep_store({"127.0.0.1"}, kLong); }, "needs a token");
}

// Members connect despite any number of strangers.
TEST(StoreStrangers, DoNotKeepOthersOut) {
  const auto keeper = keep();
  std::vector<Wire> crowd;
  for (int i = 0; i < 400; ++i) crowd.emplace_back(*keeper);
  const auto start = Clock::now();
  ask(*keeper)->set("key", "here");
  EXPECT_LT(Clock::now() - start, Milliseconds(900));
  EXPECT_EQ(keeper->get("key"), "here");
  keeper->leave();  // strangers are not waited for
  EXPECT_LT(Clock::now() - start, Milliseconds(5000));
}

// Listens in rank 0's place. Ends some connections, then sends valid proofs.
void be_keeper(const Socket& listening, int ends, const std::string& token) {
  for (Socket next; ends >= 0; std::this_thread::sleep_for(Milliseconds(1))) {
    next = accept_at(listening);
    if (next.get() < 0 || ends-- > 0) continue;
    const std::string nonce(kNonceBytes, 'n');
    send_all(next.get(), nonce);
    std::string theirs(kNonceBytes + kProofBytes, '\0');
    pollfd waiting{next.get(), POLLIN, 0};
    poll(&waiting, 1, 5000);
    recv(next.get(), theirs.data(), theirs.size(), 0);
    send_all(next.get(), proof(token, Side::keeper, nonce, theirs.substr(0, kNonceBytes)));
    poll(&waiting, 1, 5000);  // the connection ends
  }
}

TEST(StoreStrangers, AreNotBelievedToBeRank0) {
  const Socket listening = listen_at({"127.0.0.1"});
  std::thread impostor([&] { be_keeper(listening, 0, "another token"); });
  expect_error(
      [&] {
        reach_store({"127.0.0.1", port_of(listening)}, kLong, kTestToken);
      },
      "the server at tcp://127.0.0.1:", "does not have the run's token: it is not rank 0");
  impostor.join();
}

TEST(StoreStrangers, ARankThatWasSentAwayComesAgain) {
  const Socket listening = listen_at({"127.0.0.1"});
  std::thread keeper([&] { be_keeper(listening, 3, kTestToken); });
  EXPECT_NO_THROW(reach_store({"127.0.0.1", port_of(listening)}, kLong, kTestToken));
  keeper.join();
}

TEST(StoreMembers, WhoDoesNotReadIsNotWaitedFor) {
  const Milliseconds patience(1000);
  const auto keeper = keep(patience);
  keeper->set("long", std::string(1 << 20, 'x'));
  const Wire wire(*keeper);
  wire.prove();
  std::string questions;
  for (int i = 0; i < 100; ++i) questions += request(Operation::get, "long");
  wire.say(request(Operation::stand_for, "7") + questions);
  const auto start = Clock::now();
  const auto other = ask(*keeper);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(other->get("none"), std::nullopt);
  EXPECT_LT(Clock::now() - start, Milliseconds(900));
  EXPECT_NE(keeper->wait(gone_key(7), kLong), "");  // when the timeout of the connection has passed
}

TEST(StoreMembers, KeysAndValuesHaveBounds) {
  const auto keeper = keep();
  const auto asker = ask(*keeper);
  const std::string most(kLongestValue, 'x');
  for (Store* store : {keeper.get(), asker.get()}) {
    expect_error([&] { store->set(std::string(257, 'k'), ""); },
                 "a key of the store has at most 256 bytes, not 257: 'kkk");
    expect_error([&] { store->set("key", most + "x"); },
                 "a value of the store has at most 1048576 bytes, not 1048577, for 'key'");
  }
  for (int i = 0; i < 255; ++i) keeper->set(join("key ", i), most);
  for (int again = 0; again < 3; ++again) {
    expect_error([&] { asker->set("key 255", most); },
                 "rank 0: the store is full: 'key 255' would make it ");
    asker->set("key 0", most);
  }
  EXPECT_EQ(asker->get("key 255"), std::nullopt);
  const Wire wire(*keeper);
  wire.prove();
  wire.say(std::string("\0\xff\xff\xff\x7fkey", 8));  // a key of two gigabytes
  EXPECT_EQ(wire.hear(1), "");
}

TEST(StoreMembers, WhatTheySayIsPlain) {
  EXPECT_EQ(printable("lost\x1b[2J\n\x7f rank 1 \xc3\xa4"), "lost\\x1b[2J\\n\\x7f rank 1 \xc3\xa4");
  EXPECT_EQ(printable("\xc2\x9b").find('\x9b'), std::string::npos) << "one byte of escape codes";
}

// The format of /proc/net: address and port in hex digits, state 0A for a listening socket.
std::string listeners_at(int port) {
  char digits[8];
  std::snprintf(digits, sizeof digits, ":%04X", port);
  std::string found;
  for (const char* table : {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
    std::ifstream file(table);
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      std::string number, local, remote, state;
      words >> number >> local >> remote >> state;
      if (state == "0A" && local.substr(local.rfind(':')) == digits) found += local + " ";
    }
  }
  return found;
}

TEST(StoreListens, WhereItWasAskedTo) {
  const auto here = keep();
  EXPECT_EQ(listeners_at(port_of(*here)).rfind("0100007F:", 0), 0U);
  EXPECT_EQ(listening_text(*here), join("127.0.0.1, port ", port_of(*here)));
  // 192.0.2.7 belongs to no machine.
  const auto everywhere = keep_store({"192.0.2.7"}, kLong, kTestToken);
  EXPECT_EQ(listening_text(*everywhere), join("port ", port_of(*everywhere), " of all interfaces"));
  EXPECT_NE(ask(*everywhere), nullptr);
  const auto unix = keep_store({.job = join("store-test-", getpid())}, kLong);
  EXPECT_EQ(listening_text(*unix), "");
}

class Token : public ::testing::Test {
 protected:
  Token() {
    setenv("HOME", home_.path().c_str(), 1);
    unsetenv("LOCKSTEP_TOKEN");
  }
  void write_token(const std::string& text, mode_t mode) {
    make_folder(home_ / ".config/lockstep");
    write_file(file_, text);
    chmod(file_.c_str(), mode);
  }

  TemporaryFolder home_;
  const std::string file_ = home_ / ".config/lockstep/token";
};

TEST_F(Token, IsInAFileThatNobodyElseReads) {
  expect_error([] { token_of_user("tcp://a:1"); },
               "the store at tcp://a:1 requires the run's token",
               "set LOCKSTEP_TOKEN to 32 hex digits", "(umask 077; od -An -tx1 -N16 /dev/urandom");
  write_token(std::string("00112233445566778899AABBCCDDEEFF\n"), 0600);
  EXPECT_EQ(token_of_user(""), kTestToken);
  for (mode_t mode : {0640, 0604, 0620, 0602}) {
    chmod(file_.c_str(), mode);
    expect_error([] { token_of_user(""); }, file_,
                 "can be read or written by other users: run chmod 600 " + file_);
  }
  write_token("secret", 0600);
  expect_error([] { token_of_user(""); }, file_ + " should be 32 hex digits, but has 6 characters");
  write_token(std::string(32, 'x'), 0600);
  expect_error([] { token_of_user(""); }, "32 characters, some of which are not hex digits");
  remove(file_.c_str());
  make_folder(file_);
  expect_error([] { token_of_user(""); }, file_ + " is not a regular file");
}

TEST_F(Token, IsMadeAsTheErrorSays) {
  try {
    token_of_user("");
  } catch (const Error& error) {
    const std::string text = error.what();
    ASSERT_EQ(std::system(text.substr(text.find("mkdir -p")).c_str()), 0);
  }
  EXPECT_EQ(token_of_user("").size(), 32U);
}

TEST_F(Token, OfTheEnvironmentComesFirst) {
  write_token(new_token(), 0600);
  setenv("LOCKSTEP_TOKEN", kTestToken, 1);
  EXPECT_EQ(token_of_user(""), kTestToken);
  setenv("LOCKSTEP_TOKEN", "0011", 1);
  expect_error([] { token_of_user(""); },
               "LOCKSTEP_TOKEN should be 32 hex digits, but has 4 characters");
  EXPECT_NE(new_token(), new_token());
}

}  // namespace
}  // namespace lockstep::testing
