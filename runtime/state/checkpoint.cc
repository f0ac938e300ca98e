// SPDX-License-Identifier: Apache-2.0
#include "lockstep/checkpoint.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <filesystem>
#include <numeric>

#include "graph/file.h"
#include "lockstep/processes.h"
#include "runtime/dist/agree.h"
#include "runtime/finite.h"
#include "runtime/state/safetensors.h"
#include "runtime/state/session_members.h"

namespace lockstep {
namespace {

constexpr const char* kFormat = "lockstep checkpoint 2";
constexpr const char* kWithoutChecksums = "lockstep checkpoint 1";

std::string key_of(const State& state, std::size_t replica) {
  return replica == 0 ? state.name : join(state.name, "@", replica);
}

std::vector<State> saved_states(const TrainingModel& model) {
  std::vector<State> states;
  for (const State& state : model.states)
    if (is_saved(state.kind)) states.push_back(state);
  return states;
}

// A state on every replica of the run, in order; copies of other processes are received.
using Copies = std::vector<Tensor>;

// Returns the copies in this process; `held` owns copies from devices.
Copies own_copies(const Session& session, const State& state, std::deque<Literal>& held) {
  Copies copies;
  for (const std::string& name : state.values) {
    Seen seen = states_of(session).see(name);
    copies.push_back(seen.tensor);
    held.push_back(std::move(seen.copy));
  }
  return copies;
}

// Returns the bytes of states that differ by replica: state by state, replicas within.
std::string own_differing(const Session& session) {
  std::string bytes;
  for (const State& state : saved_states(session.model()))
    if (differs_by_replica(state.kind))
      for (const std::string& name : state.values) {
        const Seen seen = states_of(session).see(name);
        bytes.append(seen.tensor.as<char>(), seen.tensor.desc.bytes());
      }
  return bytes;
}

// Returns the number of replicas of each process, on rank 0.
std::vector<std::size_t> replicas_of_ranks(const Session& session) {
  std::vector<std::size_t> replicas;
  for (const std::string& text : gather_texts(
           *session.comm(), std::to_string(session.model().replicas), "the number of replicas"))
    replicas.push_back(std::stoul(text));
  return replicas;
}

// States of other processes' replicas that differ by replica, as received.
class Differing {
 public:
  explicit Differing(const Session& session) {
    if (!session.comm()) return;
    replicas_ = replicas_of_ranks(session);
    const std::string mine = own_differing(session);
    uint64_t longest = kLongestText;  // each replica has the same number of bytes
    for (const std::size_t replicas : replicas_)
      longest = std::max(longest, mine.size() / replicas_[0] * replicas);
    of_ranks_ = gather_texts(*session.comm(), mine, "statistics to be saved", longest);
    at_.resize(of_ranks_.size(), 0);
  }

  // Appends the next state's copies, all of the type of the first copy.
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
  const std::size_t here = session.model().replicas;
  if (!session.comm()) return here;
  const std::vector<std::size_t> replicas = replicas_of_ranks(session);
  const std::size_t all = std::accumulate(replicas.begin(), replicas.end(), std::size_t{0});
  return std::stoul(share_text(*session.comm(), std::to_string(all), "the number of replicas"));
}

// True if the state fits this run. Pending gradients are a sum over a number of replicas; with
// another number of replicas, training resumes without them.
bool fits(const State& state, const Safetensors& file, std::size_t all) {
  return state.kind != StateKind::deferred || (file.tensors.contains(key_of(state, all - 1)) &&
                                               !file.tensors.contains(key_of(state, all)));
}

// Keeps the old file under the previous name. The file's name always leads to a whole checkpoint,
// except on a file system without hard links: there only the previous file exists between two
// renames.
void keep_as_previous(const std::string& path) {
  const std::string previous = previous_of(path), link = previous + ".tmp";
  ::unlink(link.c_str());
  if (::link(path.c_str(), link.c_str()) == 0) return rename_file(link, previous);
  const int reason = errno;
  if (reason == ENOENT) return;  // there is no old file yet
  check(reason == EPERM || reason == ENOTSUP || reason == ENOSYS || reason == EMLINK,
        "cannot link ", link, ": ", std::strerror(reason));
  rename_file(path, previous);
}

class RemovedUnless {
 public:
  explicit RemovedUnless(std::string path) : path_(std::move(path)) {}
  ~RemovedUnless() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  void kept() { path_.clear(); }

 private:
  std::string path_;
};

// Returns the reason that training cannot resume from the tensor, "" if it can. Pending gradients
// and loss scales may be infinite for a step.
std::string lost_in(StateKind kind, const std::string& name, const Tensor& tensor) {
  if (kind == StateKind::deferred || kind == StateKind::scaling) return "";
  const int64_t at = is_slot(kind) ? first_not_finite(tensor) : first_nan(tensor);
  if (at < 0) return "";
  return join("'", name, "' is ", text_of_value(tensor, at), " at ",
              text_of_place(tensor.desc.dims, at));
}

Safetensors parsed(const std::string& content, const std::string& path) {
  Safetensors file;
  try {
    file = parse_safetensors(content, path);
  } catch (const Error& error) {
    throw Damaged(path, error.what());
  }
  const std::string format = file.metadata[kFormatKey];
  check(format == kFormat || format == kWithoutChecksums, path, ": ",
        format.empty() ? "is not a checkpoint: its metadata has no format"
                       : join("has the format '", format, "'"),
        "; a run can continue from '", kFormat, "'");
  return file;
}

std::string content_of(const std::string& path) {
  try {
    return read_file(path);
  } catch (const Error& error) {
    throw Damaged(path, error.what());
  }
}

// An upper bound for the bytes of a checkpoint: all replicas' states and the header.
uint64_t longest_checkpoint(const Session& session) {
  uint64_t bytes = 0;
  for (const State& state : saved_states(session.model()))
    bytes += states_of(session).at(state.values[0]).desc.bytes();
  return kLongestText + bytes * replicas_of_all(session);
}

// Returns rank 0's file, in every process.
std::string content_of(const std::string& path, const Session& session) {
  Comm* comm = session.comm();
  if (!comm) return content_of(path);
  const uint64_t longest = longest_checkpoint(session);
  return share_text(*comm, comm->rank() == 0 ? content_of(path) : "", "the checkpoint", 0, longest);
}

}  // namespace

std::string previous_of(const std::string& path) {
  std::filesystem::path file(path);
  const std::string end = file.extension().string();
  return file.replace_extension(".previous" + end).string();
}

bool lacks_checksums(const Metadata& metadata) {
  return metadata.at(kFormatKey) == kWithoutChecksums;
}

Metadata checkpoint_metadata(const std::string& path) {
  return parsed(content_of(path), path).metadata;
}

std::string lost_value(const Session& session) {
  for (const State& state : saved_states(session.model()))
    for (const std::string& name : state.values) {
      const Seen seen = states_of(session).see(name);
      if (std::string lost = lost_in(state.kind, name, seen.tensor); !lost.empty()) return lost;
      if (!differs_by_replica(state.kind)) break;
    }
  return "";
}

void check_names_to_store(const TrainingModel& model) {
  for (const State& state : saved_states(model)) {
    check_tensor_name(state.name);
    const std::size_t at = state.name.rfind('@');
    if (at == state.name.npos || at + 1 == state.name.size() || state.name[at + 1] == '0' ||
        state.name.find_first_not_of("0123456789", at + 1) != state.name.npos)
      continue;
    const std::string other = state.name.substr(0, at);
    check(!model.find_state(other), "'", state.name, "' cannot be stored beside '", other,
          "': a checkpoint calls replica ", state.name.substr(at + 1), "'s copy '", state.name,
          "', too; rename one of them");
  }
}

void save_checkpoint(Session& session, const std::string& path, const Metadata& metadata,
                     const CheckpointOptions& options) {
  check_names_to_store(session.model());
  Differing differing(session);
  if (session.comm() && session.comm()->rank() > 0) return;
  std::vector<std::pair<std::string, Tensor>> tensors;
  std::deque<Literal> held;
  for (const State& state : saved_states(session.model())) {
    Copies copies = own_copies(session, state, held);
    if (differs_by_replica(state.kind)) differing.append_others(copies);
    const bool one = all_equal(copies) && state.kind != StateKind::deferred;
    const std::size_t different = one ? 1 : copies.size();
    for (std::size_t replica = 0; replica < different; ++replica)
      tensors.emplace_back(key_of(state, replica), copies[replica]);
  }
  Metadata all = metadata;
  all[kFormatKey] = kFormat;
  if (!options.keep_previous) return write_safetensors(path, tensors, all);
  const std::string next = path + ".next";
  RemovedUnless removed(next);
  write_safetensors(next, tensors, all);
  keep_as_previous(path);
  rename_file(next, path);
  removed.kept();
}

Metadata load_checkpoint(Session& session, const std::string& path, const LookAtMetadata& look) {
  const Safetensors file = parsed(content_of(path, session), path);
  if (look) look(file.metadata);
  StateValues values;
  const std::size_t first = session.model().first_replica;
  const std::size_t all = replicas_of_all(session);
  for (const State& state : saved_states(session.model())) {
    for (std::size_t replica = 0; replica < state.values.size(); ++replica) {
      auto found = file.tensors.find(key_of(state, first + replica));
      if (found == file.tensors.end()) found = file.tensors.find(state.name);
      check(found != file.tensors.end(), path, ": contains no '", state.name,
            "'; it belongs to another model");
      const TensorDesc& desc = states_of(session).at(state.values[replica]).desc;
      check(desc.dtype == found->second.dtype() && desc.dims == found->second.dims(), path, ": '",
            state.name, "' is ", found->second.type(), ", but the model has ", desc);
      if (std::string lost = lost_in(state.kind, state.name, view_of(found->second)); !lost.empty())
        throw Damaged(path, join(path, ": ", lost, "; the run that wrote it had already failed"));
      values[state.values[replica]] =
          fits(state, file, all) ? found->second : Literal(desc.dtype, desc.dims);
    }
  }
  session.load(values);
  return file.metadata;
}

}  // namespace lockstep
