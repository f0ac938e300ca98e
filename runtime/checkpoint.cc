#include "runtime/checkpoint.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <numeric>

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

// What each replica keeps for itself, state by state, replicas inside.
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

// How many replicas each process has, on rank 0.
std::vector<std::size_t> replicas_of_ranks(const Session& session) {
  std::vector<std::size_t> replicas;
  for (const std::string& text : gather_texts(
           *session.comm(), std::to_string(session.model().replicas), "the number of replicas"))
    replicas.push_back(std::stoul(text));
  return replicas;
}

// What the replicas of other processes keep for themselves, as these sent it.
class Differing {
 public:
  explicit Differing(const Session& session) {
    if (!session.comm()) return;
    replicas_ = replicas_of_ranks(session);
    of_ranks_ = gather_texts(*session.comm(), own_differing(session), "statistics to be saved");
    at_.resize(of_ranks_.size(), 0);
  }

  // The next state's, all of the type of the first copy.
  void append_others(Copies& copies) {
    const TensorDesc desc = copies[0].desc;
    for (std::size_t rank = 1; rank < of_ranks_.size(); ++rank)
      for (std::size_t k = 0; k < replicas_[rank]; ++k) {
        copies.push_back({desc, of_ranks_[rank].data() + at_[rank]});
        at_[rank] += desc.bytes();
      }
  }

 private:
  std::vector<std::size_t> replicas_;
  std::vector<std::string> of_ranks_;
  std::vector<std::size_t> at_;
};

bool all_equal(const Copies& copies) {
  return std::all_of(copies.begin(), copies.end(), [&](const Tensor& copy) {
    return std::memcmp(copies[0].data, copy.data, copy.desc.bytes()) == 0;
  });
}

std::size_t replicas_of_all(const Session& session) {
  const auto here = static_cast<std::size_t>(session.model().replicas);
  if (!session.comm()) return here;
  const std::vector<std::size_t> replicas = replicas_of_ranks(session);
  const std::size_t all = std::accumulate(replicas.begin(), replicas.end(), std::size_t{0});
  return std::stoul(share_text(*session.comm(), std::to_string(all), "the number of replicas"));
}

// Gradients that wait for the next step are a sum over as many replicas as there were; on another
// number of replicas training goes on as it began, with none.
bool fits(const State& state, const Safetensors& file, std::size_t all) {
  return state.kind != StateKind::deferred || (file.tensors.contains(key_of(state, all - 1)) &&
                                               !file.tensors.contains(key_of(state, all)));
}

}  // namespace

void save_checkpoint(Session& session, const std::string& path, const Metadata& metadata) {
  Differing differing(session);
  if (session.comm() && session.comm()->rank() > 0) return;
  std::vector<std::pair<std::string, Tensor>> tensors;
  std::deque<Literal> held;
  for (const State& state : session.model().states) {
    Copies copies = own_copies(session, state, held);
    if (differs_by_replica(state.kind)) differing.append_others(copies);
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
  const std::size_t all = replicas_of_all(session);
  for (const State& state : session.model().states) {
    for (std::size_t replica = 0; replica < state.values.size(); ++replica) {
      auto found = file.tensors.find(key_of(state, first + replica));
      if (found == file.tensors.end()) found = file.tensors.find(state.name);
      check(found != file.tensors.end(), path, ": holds no '", state.name,
            "'; it belongs to another model");
      const TensorDesc& desc = session.state().at(state.values[replica]).desc;
      check(desc.dtype == found->second.dtype() && desc.dims == found->second.dims(), path, ": '",
            state.name, "' is ", found->second.type(), ", the model has ", desc);
      values[state.values[replica]] =
          fits(state, file, all) ? found->second : Literal(desc.dtype, desc.dims);
    }
  }
  session.load(values);
  return file.metadata;
}

}  // namespace lockstep
