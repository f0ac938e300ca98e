#include "runtime/checkpoint.h"

#include <algorithm>
#include <cstring>
#include <deque>

#include "graph/file.h"
#include "runtime/agree.h"
#include "runtime/safetensors.h"

namespace lockstep {
namespace {

std::string key_of(const State& state, std::size_t replica) {
  return replica == 0 ? state.name : join(state.name, "@", replica);
}

// A state on every replica of the run, in order; on other processes it is read from what they sent.
using Copies = std::vector<Tensor>;

// Those of this process; `held` keeps what had to be copied from devices.
Copies own_copies(const Session& session, const State& state, std::deque<Literal>& held) {
  Copies copies;
  for (const std::string& name : state.values) {
    Seen seen = session.state().see(name);
    copies.push_back(seen.tensor);
    held.push_back(std::move(seen.copy));
  }
  return copies;
}

// What each replica keeps for itself, one after the other.
std::string own_differing(const Session& session) {
  std::string bytes;
  for (const State& state : session.model().states)
    if (differs_by_replica(state.kind))
      for (const std::string& name : state.values) {
        const Seen seen = session.state().see(name);
        bytes.append(seen.tensor.as<char>(), seen.tensor.desc.bytes());
      }
  return bytes;
}

class Differing {
 public:
  Differing(const Session& session, std::vector<std::string> of_ranks)
      : of_ranks_(std::move(of_ranks)), at_(of_ranks_.size(), 0) {
    for (const State& state : session.model().states)
      if (differs_by_replica(state.kind))
        replica_bytes_ += session.state().at(state.values[0]).desc.bytes();
  }

  void append_others(const TensorDesc& desc, Copies& copies) {
    for (std::size_t rank = 1; rank < of_ranks_.size(); ++rank)
      for (std::size_t k = 0; k < of_ranks_[rank].size() / replica_bytes_; ++k) {
        copies.push_back({desc, of_ranks_[rank].data() + at_[rank]});
        at_[rank] += desc.bytes();
      }
  }

 private:
  std::vector<std::string> of_ranks_;
  std::vector<std::size_t> at_;
  std::size_t replica_bytes_ = 0;
};

bool all_equal(const Copies& copies) {
  return std::all_of(copies.begin(), copies.end(), [&](const Tensor& copy) {
    return std::memcmp(copies[0].data, copy.data, copy.desc.bytes()) == 0;
  });
}

int replicas_of_all(const Session& session) {
  const int here = session.model().replicas;
  if (!session.comm()) return here;
  int all = 0;
  for (const std::string& text :
       gather_texts(*session.comm(), std::to_string(here), "the number of replicas"))
    all += std::stoi(text);
  return std::stoi(share_text(*session.comm(), std::to_string(all), "the number of replicas"));
}

// Gradients that wait for the next step are a sum over as many replicas as there were; on another
// number of replicas training goes on as it began, with none.
bool fits(const State& state, const Safetensors& file, int replicas) {
  const auto all = static_cast<std::size_t>(replicas);
  return state.kind != StateKind::deferred || (file.tensors.contains(key_of(state, all - 1)) &&
                                               !file.tensors.contains(key_of(state, all)));
}

}  // namespace

void save_checkpoint(Session& session, const std::string& path, const Metadata& metadata) {
  std::vector<std::string> of_ranks;
  if (session.comm()) {
    of_ranks = gather_texts(*session.comm(), own_differing(session), "statistics to be saved");
    if (session.comm()->rank() > 0) return;
  }
  Differing differing(session, std::move(of_ranks));
  std::vector<std::pair<std::string, Tensor>> tensors;
  std::deque<Literal> held;
  for (const State& state : session.model().states) {
    Copies copies = own_copies(session, state, held);
    if (differs_by_replica(state.kind)) differing.append_others(copies[0].desc, copies);
    const bool one = all_equal(copies) && state.kind != StateKind::deferred;
    const std::size_t different = one ? 1 : copies.size();
    for (std::size_t replica = 0; replica < different; ++replica)
      tensors.emplace_back(key_of(state, replica), copies[replica]);
  }
  write_safetensors(path, tensors, metadata);
}

Metadata load_checkpoint(Session& session, const std::string& path, const LookAtMetadata& look) {
  Comm* comm = session.comm();
  std::string content;
  if (!comm || comm->rank() == 0) content = read_file(path);
  if (comm) content = share_text(*comm, content, "the checkpoint");
  Safetensors file = parse_safetensors(content, path);
  if (look) look(file.metadata);
  StateValues values;
  const auto first = static_cast<std::size_t>(session.model().first_replica);
  const int all = replicas_of_all(session);
  for (const State& state : session.model().states) {
    for (std::size_t replica = 0; replica < state.values.size(); ++replica) {
      auto found = file.tensors.find(key_of(state, first + replica));
      if (found == file.tensors.end()) found = file.tensors.find(state.name);
      check(found != file.tensors.end(), path, ": holds no '", state.name,
            "'; it belongs to another model");
      const TensorDesc& desc = session.state().at(state.values[replica]).desc;
      check(desc.dtype == found->second.dtype() && desc.dims == found->second.dims(), path, ": '",
            state.name, "' is ", found->second.type(), ", the model has ", text_of(desc));
      values[state.values[replica]] =
          fits(state, file, all) ? found->second : Literal(desc.dtype, desc.dims);
    }
  }
  session.load(values);
  return file.metadata;
}

}  // namespace lockstep
