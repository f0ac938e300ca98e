// SPDX-License-Identifier: Apache-2.0
#include "runtime/dist/gloo.h"

#include <gloo/allreduce.h>
#include <gloo/common/logging.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/transport/tcp/device.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <exception>
#include <map>
#include <thread>
#include <tuple>

#include "graph/printable.h"
#include "lockstep/error.h"
#include "lockstep/processes.h"
#include "runtime/dist/sha256.h"
#include "runtime/dist/store_token.h"
#include "runtime/nanoseconds.h"

namespace lockstep {
namespace {

constexpr const char* kLinksKey = "links";
// The watch ends waits; Gloo's timeout would name no culprit.
constexpr Milliseconds kNever = std::chrono::hours(1000);

// Ignores SIGPIPE: a write to a closed connection is an error to report, not the end of the
// process. A handler of the program stays installed.
void survive_broken_connections() {
  struct sigaction present = {};
  sigaction(SIGPIPE, nullptr, &present);
  if (present.sa_handler == SIG_DFL) std::signal(SIGPIPE, SIG_IGN);
}

// Gloo throws in its own thread on a malformed message, which ends the process. Prints the reason
// first.
[[noreturn]] void end_by_link(const std::exception& error) {
  const std::string line = join(
      "lockstep: a connection between ranks is broken, or was opened by a program that is not a "
      "rank of this run: ",
      printable(error.what()), "\n");
  [[maybe_unused]] const ssize_t told = write(STDERR_FILENO, line.data(), line.size());
  _exit(2);
}

void explain_ends_by_links() {
  static const std::terminate_handler present = std::get_terminate();
  std::set_terminate([] {
    try {
      if (std::current_exception()) throw;
    } catch (const gloo::EnforceNotMet& error) {
      end_by_link(error);
    } catch (const gloo::Exception& error) {
      end_by_link(error);
    } catch (...) {  // another error
    }
    present();
  });
}

// A flag polled by a thread.
struct Flag final : Watch::Interruptible {
  std::atomic<bool> raised{false};
  void interrupt() override { raised = true; }
};

// Gloo's interface to our store. The watch ends waits for missing addresses. Checks the lengths of
// addresses, because Gloo assumes that all addresses are as long as its own.
class GlooStore final : public gloo::rendezvous::Store {
 public:
  GlooStore(lockstep::Store& store, const Flag& failed) : store_(store), failed_(failed) {}
  void set(const std::string& key, const std::vector<char>& data) override {
    if (is_addresses(key)) addresses_ = data.size();
    store_.set("gloo/" + key, {data.begin(), data.end()});
  }
  std::vector<char> get(const std::string& key) override {
    for (; !failed_.raised; std::this_thread::sleep_for(Milliseconds(5)))
      if (auto value = store_.get("gloo/" + key)) {
        check(!is_addresses(key) || value->size() == addresses_, "rank ", key, " has addresses of ",
              value->size(), " bytes, not of ", addresses_);
        return {value->begin(), value->end()};
      }
    fail("no rank wrote '", key, "' to the store in time");
  }
  void wait(const std::vector<std::string>& keys) override {
    for (const std::string& key : keys) get(key);
  }
  void wait(const std::vector<std::string>& keys, const Milliseconds&) override { wait(keys); }

 private:
  static bool is_addresses(const std::string& key) { return key.find('_') == key.npos; }

  lockstep::Store& store_;
  const Flag& failed_;
  std::size_t addresses_ = 0;
};

// The place of the times of messages; null: they are not recorded.
struct MessageRecord {
  std::vector<MessageSpan>* into = nullptr;
};

class GlooTransfer final : public Transfer, Watch::Interruptible {
 public:
  GlooTransfer(gloo::Context& context, Watch& watch, const MessageRecord& record, int peer,
               uint64_t slot, bool sends, std::string what)
      : context_(context),
        watch_(watch),
        record_(record),
        peer_(peer),
        slot_(slot),
        sends_(sends),
        what_(std::move(what)) {}

  void start(void* data, std::size_t bytes) override {
    starts_ = record_.into ? nanoseconds_now() : 0;
    ++turn_;
    if (!buffer_ || buffer_->ptr != data || buffer_->size != bytes)
      buffer_ = context_.createUnboundBuffer(data, bytes);
    attempt([&] {
      if (sends_)
        buffer_->send(peer_, slot_);
      else
        buffer_->recv(peer_, slot_);
      return true;
    });
  }

  void wait() override {
    const int64_t waits = starts_ != 0 ? nanoseconds_now() : 0;
    {
      Watch::Waiting waiting(watch_, what_, peer_, *this);
      attempt([&] {
        return sends_ ? buffer_->waitSend(nullptr, kNever) : buffer_->waitRecv(nullptr, kNever);
      });
    }
    if (starts_ != 0 && record_.into)
      record_.into->push_back(
          {peer_, slot_, turn_, sends_, buffer_->size, starts_, waits, nanoseconds_now()});
  }

 private:
  template <class Action>
  void attempt(const Action& action) {
    try {
      if (action()) return;
    } catch (const gloo::Exception&) {  // the connection broke; the watch finds the reason
    }
    watch_.stop(what_, peer_);
  }

  void interrupt() override {
    if (sends_)
      buffer_->abortWaitSend();
    else
      buffer_->abortWaitRecv();
  }

  gloo::Context& context_;
  Watch& watch_;
  const MessageRecord& record_;
  int64_t starts_ = 0;  // nanoseconds_now() of a message that is recorded; 0: none is
  uint64_t turn_ = 0;   // of the last message
  const int peer_;
  const uint64_t slot_;
  const bool sends_;
  const std::string what_;
  std::unique_ptr<gloo::transport::UnboundBuffer> buffer_;
};

class GlooComm final : public Comm {
 public:
  GlooComm(std::unique_ptr<Store> store, const GlooOptions& options)
      : store_(std::move(store)),
        rank_(options.rank),
        size_(static_cast<int>(options.members.size())) {
    for (const Member& member : options.members)
      size_here_ += member.host == options.members[rank_].host;
    survive_broken_connections();
    explain_ends_by_links();
    context_ = std::make_shared<gloo::rendezvous::Context>(rank_, size_);
    watch_ = std::make_unique<Watch>(*store_, rank_, options.members, options.patience);
    try {
      connect(options);
      check_links(options.members);
    } catch (const Error&) {
      leave();
      throw;
    }
  }

  ~GlooComm() override { leave(); }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int size_here() const override { return size_here_; }
  Transfer& sending(int peer, uint64_t number, const std::string& what) override {
    return transfer(peer, number, true, what);
  }
  Transfer& receiving(int peer, uint64_t number, const std::string& what) override {
    return transfer(peer, number, false, what);
  }
  const std::shared_ptr<gloo::rendezvous::Context>& context() const { return context_; }
  void at_step(uint64_t step) override { watch_->at_step(step); }
  void wait_until(const std::function<bool()>& done, const std::string& what) override {
    constexpr std::chrono::microseconds kPause(20);
    Flag flag;
    Watch::Waiting waiting(*watch_, what, Watch::kEverybody, flag);
    while (!done()) {
      if (flag.raised) watch_->stop(what, Watch::kEverybody);
      std::this_thread::sleep_for(kPause);
    }
  }
  void record_messages(std::vector<MessageSpan>* into) override { record_.into = into; }
  Store& store() override { return *store_; }
  void give_up(const std::string& why) override { watch_->give_up(why); }

 private:
  // Gloo's timeout for each connection is five times the given timeout. By then the watch has found
  // the missing process.
  void connect(const GlooOptions& options) {
    const std::string what = "addresses";
    Flag failed;
    Watch::Waiting waiting(*watch_, what, Watch::kEverybody, failed);
    GlooStore addresses(*store_, failed);
    context_->setTimeout((options.patience + kFindingOut) / 5);
    if (rank_ == 0) store_->set(kLinksKey, new_token());  // set first, so that all ranks find it
    try {
      auto device =
          gloo::transport::tcp::CreateDevice(gloo::transport::tcp::attr(options.address.c_str()));
      context_->connectFullMesh(addresses, device);
    } catch (const std::exception& error) {
      watch_->stop(what, Watch::kEverybody,
                   join(text_of(options.members[rank_]), " at ", options.address,
                        " cannot connect to all others: ", error.what()));
    }
    context_->setTimeout(options.patience);
  }

  // Gloo accepts the first connection as the expected peer. So each peer proves over its link that
  // it can read the store. Afterwards nothing listens.
  void check_links(const std::vector<Member>& members) {
    constexpr uint64_t kNumber = uint64_t{3} << 61U;  // above the numbers of graphs and agree.cc
    const std::string what = "proof of identity";
    const auto secret = store_->get(kLinksKey);
    check(secret && !secret->empty(), "rank 0 left no '", kLinksKey,
          "' in the store, so ranks cannot prove their identity");
    const auto proof_of = [&](int from, int to) {
      return hmac_sha256(*secret, join("link ", from, " ", to));
    };
    std::vector<std::string> told, heard;
    for (int peer = 0; peer < size_; ++peer) {
      told.push_back(proof_of(rank_, peer));
      heard.emplace_back(told.back().size(), '\0');
    }
    const auto with_all = [&](const auto& act) {
      for (int peer = 0; peer < size_; ++peer)
        if (peer != rank_) act(peer, peer);
    };
    with_all([&](int peer, std::size_t at) {
      receiving(peer, kNumber, what).start(heard[at].data(), heard[at].size());
      sending(peer, kNumber, what).start(told[at].data(), told[at].size());
    });
    with_all([&](int peer, std::size_t at) {
      receiving(peer, kNumber, what).wait();
      if (!is_same(heard[at], proof_of(peer, rank_)))
        watch_->stop(what, peer,
                     join("the peer that connected to ", members[rank_], " as ", members[at],
                          " does not know the secret of the run"));
    });
    with_all([&](int peer, std::size_t) { sending(peer, kNumber, what).wait(); });
    transfers_.clear();
  }

  void leave() {
    transfers_.clear();
    watch_.reset();
    try {
      store_->leave();
    } catch (const Error&) {  // rank 0 left first
    }
  }

  Transfer& transfer(int peer, uint64_t number, bool sends, const std::string& what) {
    auto& known = transfers_[{peer, number, sends}];
    if (!known)
      known =
          std::make_unique<GlooTransfer>(*context_, *watch_, record_, peer, number, sends, what);
    return *known;
  }

  std::unique_ptr<Store> store_;
  int rank_, size_, size_here_ = 0;
  std::shared_ptr<gloo::rendezvous::Context> context_;
  std::unique_ptr<Watch> watch_;
  MessageRecord record_;
  std::map<std::tuple<int, uint64_t, bool>, std::unique_ptr<GlooTransfer>> transfers_;
};

}  // namespace

void gloo_ring_sum(Comm& comm, float* data, std::size_t count) {
  gloo::AllreduceOptions options(dynamic_cast<GlooComm&>(comm).context());
  options.setOutput(data, count);
  options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
  options.setReduceFunction(
      static_cast<void (*)(void*, const void*, const void*, std::size_t)>(&gloo::sum<float>));
  gloo::allreduce(options);
}

std::unique_ptr<Comm> connect_gloo(std::unique_ptr<Store> store, const GlooOptions& options) {
  return std::make_unique<GlooComm>(std::move(store), options);
}

}  // namespace lockstep
