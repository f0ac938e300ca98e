// SPDX-License-Identifier: Apache-2.0
#include "operators/process/process.h"

#include <algorithm>
#include <cstring>

#include "lockstep/processes.h"
#include "lockstep/types.h"
#include "operators/collective/wire.h"
#include "operators/kit/dispatch.h"
#include "operators/kit/wrapping_arithmetic.h"

namespace lockstep {
namespace {

// The number of a node's message, derived from the node's number.
uint64_t message_number(int64_t node, std::size_t part = 0) {
  return static_cast<uint64_t>(node) << 24U | part;
}

struct Line {  // to or from one peer
  Transfer* transfer;
  bool empty;
};

Line line_of(const KernelRequest& request, bool sends, const TensorDesc& message) {
  auto attributes = request.attributes();
  const auto peer = static_cast<int>(attributes.integer("peer", 0));
  const uint64_t number = message_number(attributes.integer("number", 0));
  const std::string what = attributes.text("what", "");
  Comm& comm = comm_of(request);
  check(peer >= 0 && peer < comm.size() && peer != comm.rank(), "communicates with rank ", peer,
        ", this is rank ", comm.rank(), " of ", comm.size());
  return {sends ? &comm.sending(peer, number, what) : &comm.receiving(peer, number, what),
          message.bytes() == 0};
}

std::unique_ptr<Kernel> prepare_send(const KernelRequest& request) {
  return make_kernel([line = line_of(request, true, request.in[0])](const KernelArgs& args) {
    if (!line.empty) line.transfer->start(args.in[0].data, args.in[0].desc.bytes());
    *args.out[0].as<int64_t>() = 0;
  });
}

std::unique_ptr<Kernel> prepare_sent(const KernelRequest& request) {
  return make_kernel([line = line_of(request, true, request.in[1])](const KernelArgs& args) {
    if (!line.empty) line.transfer->wait();
    *args.out[0].as<int64_t>() = 0;
  });
}

std::unique_ptr<Kernel> prepare_recv(const KernelRequest& request) {
  return make_kernel([line = line_of(request, false, request.out[0])](const KernelArgs& args) {
    if (line.empty) return;
    line.transfer->start(args.out[0].data, args.out[0].desc.bytes());
    line.transfer->wait();
  });
}

// Sums values of type T, sent as type W. Rank r sums the r-th chunk. It receives all ranks' terms
// of the chunk segment by segment, adds them in rank order independent of arrival, and distributes
// the sum. The order of summation does not depend on an element's position, so packing tensors
// together changes no bit.
template <class T, class W>
class ProcessAllReduce final : public Kernel {
 public:
  ProcessAllReduce(const KernelRequest& request, const ProcessAllReduceAttrs& attrs)
      : comm_(comm_of(request)), count_(request.in[0].count()), mean_of_(attrs.mean_of) {
    const std::string what(request.node.name());
    for (int rank = 0; rank < comm_.size(); ++rank)
      segment_ = std::max(segment_, std::min(kSegment, boundary(rank + 1) - boundary(rank)));
    for (int rank = 0; rank < comm_.size(); ++rank) {
      Chunk& chunk = chunks_.emplace_back();
      chunk.begin = boundary(rank);
      chunk.end = boundary(rank + 1);
      const std::size_t parts = segments(chunk);
      for (int peer = 0; peer < comm_.size(); ++peer) {
        // The terms of a chunk are sent to its rank; the sums come from this rank.
        if (peer == comm_.rank() || (rank != comm_.rank() && peer != rank)) continue;
        Peer& lines = chunk.peers.emplace_back();
        for (std::size_t part = 0; part < parts; ++part) {
          const uint64_t share = message_number(attrs.number, 2 * part);
          const uint64_t sum = message_number(attrs.number, 2 * part + 1);
          const bool mine = rank == comm_.rank();
          lines.shares.push_back(mine ? &comm_.receiving(peer, share, what)
                                      : &comm_.sending(peer, share, what));
          lines.sums.push_back(mine ? &comm_.sending(peer, sum, what)
                                    : &comm_.receiving(peer, sum, what));
        }
      }
    }
  }

  std::string describe() const override {
    return join(comm_.size(), " processes, in order of ranks",
                kConverts ? join(", as ", dtype_of<W>()) : "");
  }

  std::size_t workspace_bytes() const override {
    const std::size_t windows = peers() * kWindow * segment_;
    return (windows + (kConverts ? 2 * count_ : 0)) * sizeof(W);
  }

  void run(const KernelArgs& args) override {
    const T* in = args.in[0].as<T>();
    T* out = args.out[0].as<T>();
    window_ = reinterpret_cast<W*>(args.workspace);
    W* const travelling = window_ + peers() * kWindow * segment_;
    W* const shares = kConverts ? travelling : const_cast<W*>(reinterpret_cast<const W*>(in));
    W* const sums = kConverts ? travelling + count_ : reinterpret_cast<W*>(out);
    if constexpr (kConverts)
      for (int64_t i = 0; i < count_; ++i) shares[i] = W(in[i]);

    const std::size_t me = comm_.rank();
    start_window(0);
    for (std::size_t c = 0; c < chunks_.size(); ++c)
      if (c != me) start_all(chunks_[c], shares, sums);
    for (int64_t s = 0; s < segments(chunks_[me]); ++s) {
      for (Peer& peer : chunks_[me].peers) peer.shares[s]->wait();
      add_up(s, shares, sums);
      for (Peer& peer : chunks_[me].peers)
        peer.sums[s]->start(sums + first(chunks_[me], s), bytes(chunks_[me], s));
      start_window(s + 1);
    }
    for (std::size_t c = 0; c < chunks_.size(); ++c)
      for (Peer& peer : chunks_[c].peers)
        for (std::size_t s = 0; s < peer.sums.size(); ++s) {
          if (c != me) peer.shares[s]->wait();
          peer.sums[s]->wait();
        }
    if constexpr (kConverts)
      for (int64_t i = 0; i < count_; ++i) out[i] = static_cast<T>(sums[i]);
  }

 private:
  static constexpr bool kConverts = !std::is_same_v<T, W>;
  static constexpr int64_t kSegment = int64_t{1 << 21} / static_cast<int64_t>(sizeof(W));
  static constexpr int64_t kWindow = 3;  // segments of each peer in flight

  struct Peer {
    std::vector<Transfer*> shares, sums;  // by segment
  };
  struct Chunk {
    int64_t begin = 0, end = 0;
    std::vector<Peer> peers;  // all peers for this rank's chunk, else only the chunk's rank
  };

  std::size_t peers() const { return comm_.size() - 1; }
  int64_t boundary(int rank) const {
    constexpr int64_t kLine = 64 / sizeof(T);
    return std::min(
        count_, count_ * rank / comm_.size() / kLine * kLine + (rank == comm_.size() ? count_ : 0));
  }
  int64_t segments(const Chunk& chunk) const {
    return (chunk.end - chunk.begin + segment_ - 1) / segment_;
  }
  int64_t first(const Chunk& chunk, int64_t s) const { return chunk.begin + s * segment_; }
  int64_t length(const Chunk& chunk, int64_t s) const {
    return std::min(segment_, chunk.end - first(chunk, s));
  }
  std::size_t bytes(const Chunk& chunk, int64_t s) const { return length(chunk, s) * sizeof(W); }
  W* window(std::size_t peer, int64_t s) {
    return window_ + (peer * kWindow + s % kWindow) * segment_;
  }

  // Starts receiving segments of this rank's chunk: first kWindow segments, then one at a time.
  void start_window(int64_t s) {
    Chunk& mine = chunks_[comm_.rank()];
    const int64_t from = s == 0 ? 0 : s + kWindow - 1, to = s + kWindow;
    for (int64_t next = from; next < std::min(to, segments(mine)); ++next)
      for (std::size_t p = 0; p < mine.peers.size(); ++p)
        mine.peers[p].shares[next]->start(window(p, next), bytes(mine, next));
  }

  void start_all(Chunk& chunk, W* shares, W* sums) {
    for (int64_t s = 0; s < segments(chunk); ++s) {
      chunk.peers[0].sums[s]->start(sums + first(chunk, s), bytes(chunk, s));
      chunk.peers[0].shares[s]->start(shares + first(chunk, s), bytes(chunk, s));
    }
  }

  void add_up(int64_t s, const W* shares, W* sums) {
    const Chunk& mine = chunks_[comm_.rank()];
    const int64_t begin = first(mine, s), size = length(mine, s);
    constexpr int64_t kBlock = 2048;
    T total[kBlock];
    for (int64_t block = 0; block < size; block += kBlock) {
      const int64_t here = std::min(kBlock, size - block);
      for (int rank = 0; rank < comm_.size(); ++rank) {
        const int peer = rank < comm_.rank() ? rank : rank - 1;
        const W* term = (rank == comm_.rank() ? shares + begin : window(peer, s)) + block;
        if (rank == 0)
          for (int64_t i = 0; i < here; ++i) total[i] = static_cast<T>(term[i]);
        else
          for (int64_t i = 0; i < here; ++i) total[i] = plus(total[i], static_cast<T>(term[i]));
      }
      if (mean_of_ > 0)
        for (int64_t i = 0; i < here; ++i) total[i] /= static_cast<T>(mean_of_);
      for (int64_t i = 0; i < here; ++i) sums[begin + block + i] = static_cast<W>(total[i]);
    }
  }

  Comm& comm_;
  const int64_t count_;
  const int64_t mean_of_;
  int64_t segment_ = 1;        // elements
  std::vector<Chunk> chunks_;  // by rank
  W* window_ = nullptr;
};

std::unique_ptr<Kernel> prepare_all_reduce(const KernelRequest& request) {
  const ProcessAllReduceAttrs attrs = read_process_all_reduce(request.attributes());
  return dispatch_wire(request.in[0].dtype, attrs.wire, [&]<class T, class W>() {
    return std::make_unique<ProcessAllReduce<T, W>>(request, attrs);
  });
}

// Every rank sends its rows to every other rank.
class ProcessAllGather final : public Kernel {
 public:
  explicit ProcessAllGather(const KernelRequest& request)
      : comm_(comm_of(request)),
        attrs_(read_process_all_gather(request.attributes())),
        places_(places_of_ranks(request)) {
    const uint64_t number = message_number(attrs_.number);
    const std::string what(request.node.name());
    for (int peer = 0; peer < comm_.size(); ++peer) {
      if (peer == comm_.rank()) continue;
      arriving_.push_back({peer, &comm_.receiving(peer, number, what)});
      leaving_.push_back({peer, &comm_.sending(peer, number, what)});
    }
  }

  std::string describe() const override {
    return join(comm_.size(), " processes", attrs_.why.empty() ? "" : "; ", attrs_.why);
  }

  void run(const KernelArgs& args) override {
    if (places_.back() == 0) return;
    auto* const out = args.out[0].as<std::byte>();
    for (auto& [peer, line] : arriving_) line->start(out + begin(peer), bytes(peer));
    for (auto& [peer, line] : leaving_) line->start(args.in[0].data, bytes(comm_.rank()));
    std::memcpy(out + begin(comm_.rank()), args.in[0].data, bytes(comm_.rank()));
    for (auto& [peer, line] : arriving_) line->wait();
    for (auto& [peer, line] : leaving_) line->wait();
  }

 private:
  std::size_t begin(int rank) const { return places_[rank]; }
  std::size_t bytes(int rank) const { return begin(rank + 1) - begin(rank); }

  Comm& comm_;
  const ProcessAllGatherAttrs attrs_;
  const std::vector<std::size_t> places_;
  std::vector<std::pair<int, Transfer*>> arriving_, leaving_;  // by peer
};

std::unique_ptr<Kernel> prepare_process_gather(const KernelRequest& request) {
  return std::make_unique<ProcessAllGather>(request);
}

}  // namespace

std::vector<KernelEntry> process_cpu() {
  return {{"Send", kOwnDomain, {{"CPU", anything, prepare_send}}},
          {"Sent", kOwnDomain, {{"CPU", anything, prepare_sent}}},
          {"Recv", kOwnDomain, {{"CPU", anything, prepare_recv}}},
          {"ProcessAllReduce", kOwnDomain, {{"CPU", takes<Numbers>(), prepare_all_reduce}}},
          {"ProcessAllGather", kOwnDomain, {{"CPU", anything, prepare_process_gather}}}};
}

}  // namespace lockstep
