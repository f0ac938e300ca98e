// SPDX-License-Identifier: Apache-2.0
#include "app/train/weights.h"

#include <cstring>
#include <set>

#include "graph/average.h"
#include "graph/listed.h"
#include "lockstep/checkpoint.h"
#include "lockstep/processes.h"
#include "runtime/dist/agree.h"
#include "runtime/finite.h"
#include "runtime/state/safetensors.h"
#include "runtime/state/session_members.h"

namespace lockstep {
namespace {

constexpr std::size_t kNamesShown = 5;

std::string some_of(const std::vector<std::string>& names) {
  return first_listed(names, kNamesShown);
}

// True if the shapes differ in one dimension only, where ours is the number of classes.
bool differs_by_classes(const Dims& ours, const Dims& theirs, int64_t classes) {
  if (ours.size() != theirs.size()) return false;
  int differences = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (ours[i] == theirs[i]) continue;
    if (ours[i] != classes) return false;
    ++differences;
  }
  return differences == 1;
}

void check_finite(const Literal& weights, const std::string& path, const std::string& name) {
  const Tensor tensor = view_of(weights);
  const int64_t place = first_not_finite(tensor);
  if (place < 0) return;
  fail(path, ": '", name, "' holds ", text_of_value(tensor, place), " at ",
       text_of_place(tensor.desc.dims, place), "; weights should be finite");
}

// Values by the names of states.
struct Matched {
  StateValues values;
  WeightsReport report;
};

Matched matched(const Session& session, const StateValues& tensors, const WeightsOptions& options) {
  // PyTorch's data-parallel wrapper prefixes all names.
  auto find = [&](const std::string& name) {
    auto found = tensors.find(name);
    return found != tensors.end() ? found : tensors.find("module." + name);
  };
  auto find_trained = [&](const State& state) {
    const auto average =
        options.raw || !is_parameter(state.kind) ? tensors.end() : find(average_of(state.name));
    return average != tensors.end() ? average : find(state.name);
  };
  Matched result;
  std::vector<std::string> missing, renewed, wrong, unused;
  std::set<std::string> used;
  for (const State& state : session.model().states) {
    if (!is_weight(state.kind)) continue;
    auto found = find_trained(state);
    if (found == tensors.end()) {
      missing.push_back(state.name);
      continue;
    }
    used.insert(found->first);
    for (const std::string& name : {state.name, average_of(state.name)})
      if (const auto beside = find(name); beside != tensors.end()) used.insert(beside->first);
    check_finite(found->second, options.path, state.name);
    const TensorDesc& desc = states_of(session).at(state.values[0]).desc;
    const Literal& theirs = found->second;
    if (theirs.dims() == desc.dims && theirs.dtype() == desc.dtype) {
      result.values.emplace(state.name, theirs);
    } else if (options.new_classifier && theirs.dtype() == desc.dtype &&
               differs_by_classes(desc.dims, theirs.dims(), options.classes)) {
      renewed.push_back(state.name);
    } else {
      wrong.push_back(join(state.name, " is ", text_of(desc), ", in the file ", theirs.type()));
    }
  }
  std::string mismatches;
  for (const std::string& line : wrong) mismatches += "\n  " + line;
  check(wrong.empty(), options.path, ": shapes differ",
        options.classes > 0 ? " (MODEL.NEW_CLASSIFIER true makes a new last layer for another "
                              "number of classes)"
                            : "",
        ":", mismatches);
  check(!result.values.empty(), options.path, ": contains no tensor of the model, which has ",
        some_of(missing));
  check(!options.whole || missing.empty(), options.path, ": lacks ", some_of(missing),
        " of the network");
  for (const auto& [name, unused_value] : tensors)
    if (!used.count(name)) unused.push_back(name);

  const std::size_t matched = result.values.size();
  std::vector<std::string>& lines = result.report.lines;
  lines.push_back(join("weights: ", matched, " of ", matched + missing.size() + renewed.size(),
                       " tensors from ", options.path));
  if (!renewed.empty())
    lines.push_back(
        join("  ", renewed.size(), " new, for ", options.classes, " classes: ", some_of(renewed)));
  if (!missing.empty())
    lines.push_back(
        join("  ", missing.size(), " not in the file, with initial values: ", some_of(missing)));
  if (!unused.empty())
    lines.push_back(
        join("  ", unused.size(), " in the file, but not in the network: ", some_of(unused)));
  return result;
}

// Sends rank 0's values to every process: each by its name, like a broadcast of each variable.
void share(const Session& session, StateValues& values) {
  for (const State& state : session.model().states) {
    if (!is_weight(state.kind)) continue;
    const TensorDesc& desc = states_of(session).at(state.values[0]).desc;
    std::string bytes;
    if (const auto mine = values.find(state.name); mine != values.end())
      bytes.assign(reinterpret_cast<const char*>(mine->second.bytes().data()), desc.bytes());
    bytes = share_text(*session.comm(), bytes, "the first value of '" + state.name + "'", 0,
                       desc.bytes());
    if (bytes.size() != desc.bytes()) continue;  // the value is not in the file
    Literal value(desc.dtype, desc.dims);
    std::memcpy(value.bytes().data(), bytes.data(), bytes.size());
    values.insert_or_assign(state.name, std::move(value));
  }
}

void load(Session& session, const StateValues& values) {
  StateValues of_replicas;
  for (const State& state : session.model().states)
    if (const auto found =
            values.find(state.kind == StateKind::average ? averaged_by(state.name) : state.name);
        found != values.end())
      for (const std::string& value : state.values) of_replicas.emplace(value, found->second);
  session.load(of_replicas);
}

}  // namespace

bool is_weight(StateKind kind) { return is_parameter(kind) || kind == StateKind::computed; }

void check_weights(const std::string& path) {
  try {
    read_safetensors(path);
  } catch (const Error& damage) {
    const std::string before = previous_of(path);
    try {
      read_safetensors(before);
    } catch (const Error&) {
      throw damage;
    }
    fail(damage.what(), "; the previous checkpoint is intact: ", before);
  }
}

WeightsReport load_weights(Session& session, const WeightsOptions& options) {
  const bool reads = !session.comm() || session.comm()->rank() == 0;
  Matched found;
  if (reads) {
    const Safetensors file = read_safetensors(options.path);
    found = matched(session, file.tensors, options);
    auto& [lines, unchecked] = found.report;
    if (!file.checked) unchecked = {"  " + unchecked_line(options.path)};
    lines.insert(lines.begin() + 1, unchecked.begin(), unchecked.end());
  }
  if (session.comm()) share(session, found.values);
  load(session, found.values);
  return found.report;
}

WeightsReport load_weights(Session& session, const StateValues& tensors,
                           const WeightsOptions& options) {
  const Matched found = matched(session, tensors, options);
  load(session, found.values);
  return found.report;
}

}  // namespace lockstep
