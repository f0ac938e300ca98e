#include "runtime/checkpoint.h"

#include <cstring>

#include "runtime/safetensors.h"

namespace lockstep {
namespace {

std::string key_of(const State& state, std::size_t replica) {
  return replica == 0 ? state.name : join(state.name, "@", replica);
}

bool replicas_equal(const State& state, const StateStore& store) {
  const Tensor& first = store.at(state.values[0]);
  for (const std::string& name : state.values)
    if (std::memcmp(first.data, store.at(name).data, first.desc.bytes()) != 0) return false;
  return true;
}

}  // namespace

void save_checkpoint(Session& session, const std::string& path, const Metadata& metadata) {
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const State& state : session.model().states) {
    std::size_t copies = replicas_equal(state, session.state()) ? 1 : state.values.size();
    for (std::size_t replica = 0; replica < copies; ++replica)
      tensors.emplace_back(key_of(state, replica), session.state().at(state.values[replica]));
  }
  write_safetensors(path, tensors, metadata);
}

Metadata load_checkpoint(Session& session, const std::string& path) {
  Safetensors file = read_safetensors(path);
  StateValues values;
  for (const State& state : session.model().states) {
    for (std::size_t replica = 0; replica < state.values.size(); ++replica) {
      auto found = file.tensors.find(key_of(state, replica));
      if (found == file.tensors.end()) found = file.tensors.find(state.name);
      check(found != file.tensors.end(), path, ": holds no '", state.name,
            "'; it belongs to another model");
      const TensorDesc& desc = session.state().at(state.values[replica]).desc;
      check(desc.dtype == found->second.dtype() && desc.dims == found->second.dims(), path, ": '",
            state.name, "' is ", found->second.type(), ", the model has ", text_of(desc));
      values[state.values[replica]] = found->second;
    }
  }
  session.load(values);
  return file.metadata;
}

}  // namespace lockstep
