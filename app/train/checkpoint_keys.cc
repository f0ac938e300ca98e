// SPDX-License-Identifier: Apache-2.0
#include "app/train/checkpoint_keys.h"

#include <cstdlib>
#include <sstream>

#include "graph/excerpt.h"
#include "graph/listed.h"
#include "graph/printable.h"
#include "lockstep/data_parallel.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr const char* kWaitingFor = "ALL_REDUCE for";
constexpr std::size_t kMostShown = 160;  // bytes of a value in an error
constexpr const char* kSolver = "SOLVER.TYPE";
constexpr const char* kAuxiliaries = "AUX_DEVICES";
constexpr const char* kAverages = "TRAIN.EMA";

// Older checkpoints do not store the solver, only a momentum, of SGD or of Nesterov.
std::string solver_in(const Metadata& saved, const std::string& now) {
  const auto found = saved.find(kSolver);
  if (found != saved.end()) return found->second;
  return now == "Nesterov" ? now : "SGD";
}

}  // namespace

Metadata remembered(const ConfigKeys& keys, const TrainSettings& settings) {
  Metadata metadata;
  for (const ConfigKey& key : keys)
    if (key.facts.remembered) metadata.emplace(key.key, text_of(key));
  metadata.emplace(kSolver, type_of(settings.optimizer));
  // Gradients deferred for a mean differ from gradients deferred for a sum: only a sum's contain
  // 1/N.
  const DataParallelOptions& step = settings.step.options;
  if (step.deferred)
    metadata.emplace(kWaitingFor,
                     step.all_reduce.spec.reduction == Reduction::mean ? "a mean" : "a sum");
  return metadata;
}

namespace {

// Compares as numbers: old files have more digits than necessary.
bool same(const std::string& a, const std::string& b) {
  std::istringstream left(a), right(b);
  for (std::string x, y; true;) {
    const bool more = static_cast<bool>(left >> x), others = static_cast<bool>(right >> y);
    if (!more || !others) return more == others;
    if (x == y) continue;
    const std::size_t at = x.find_first_not_of('['), other = y.find_first_not_of('[');
    if (at != other || at == x.npos) return false;
    char *end = nullptr, *other_end = nullptr;
    if (std::strtod(x.c_str() + at, &end) != std::strtod(y.c_str() + at, &other_end)) return false;
    if (end == x.c_str() + at || std::string(end) != other_end) return false;
  }
}

}  // namespace

std::vector<std::string> renew(Metadata& saved, const Metadata& now,
                               const std::vector<FormerEntry>& former, const std::string& path) {
  std::vector<std::string> lines;
  for (const FormerEntry& entry : former) {
    const auto found = saved.find(entry.key);
    const std::string& value = now.at(entry.key);
    if (found == saved.end() || found->second == value || found->second != entry.value) continue;
    lines.push_back(join(path, " is of an earlier version, which noted less of ", entry.key,
                         ": whether ", entry.lacks, " are still the same is not known"));
    found->second = value;
  }
  return lines;
}

std::string text_of_unknown(const Metadata& saved,
                            const std::vector<std::pair<std::string, std::string>>& now,
                            const std::string& path) {
  std::vector<std::string> unknown;
  for (const auto& [key, value] : now)
    if (saved.count(key) == 0) unknown.push_back(key);
  return unknown.empty()
             ? ""
             : join(path, " is of an earlier version, which did not note ",
                    listed(unknown, " and "), ": whether they are still the same is not known");
}

Metadata deciding_bits(const ConfigKeys& keys) {
  Metadata metadata;
  for (const ConfigKey& key : keys)
    if (key.facts.decides_bits) metadata.emplace(key.key, text_of(key));
  return metadata;
}

namespace {

// Auxiliary devices sum the terms of all replicas in the order of a replica that gathers, for any
// number of devices. Only with a 16-bit wire do they round one more term: the gatherer's own.
bool same_auxiliaries(const std::string& then, const std::string& value, const Metadata& now) {
  const auto wire = now.find("WIRE");
  return wire == now.end() || wire->second.empty() || then.empty() == value.empty();
}

}  // namespace

std::string changed_since(const Metadata& saved, const Metadata& now) {
  const auto shown = [](const std::string& value) {
    return value.empty() ? "''" : printable(value);
  };
  std::vector<std::string> changed;
  for (const auto& [key, value] : now) {
    const auto then = saved.find(key);
    if (then == saved.end() || same(then->second, value)) continue;
    if (key == kAuxiliaries && same_auxiliaries(then->second, value, now)) continue;
    changed.push_back(join(key, " ", shown(value), " instead of ", shown(then->second)));
  }
  return listed(changed);
}

void check_remembered(const Metadata& of_now, const Metadata& saved, const std::string& path,
                      int64_t replicas, const std::string& way_out) {
  const auto of_saved = saved.find("replicas");
  const bool same_replicas =
      replicas > 1 && (of_saved == saved.end() || of_saved->second == std::to_string(replicas));
  const auto check_key = [&](const std::string& key, const std::string& now) {
    if (key == kWaitingFor && !same_replicas) return;  // deferred gradients restart at zero
    if (key == kSolver) {
      const std::string then = solver_in(saved, now);
      check(then == now, path, ": was saved with ", key, " ", printable(then), ", but now it is ",
            now, "; ", way_out, ", or restore that value");
      return;
    }
    const auto found = saved.find(key);
    if (found == saved.end() || same(found->second, now)) return;
    const auto [then, ours] = around_difference(found->second, now, kMostShown);
    fail(path, ": was saved with ", key, " ", printable(then), ", but now it is ", ours, "; ",
         way_out, ", or restore that value");
  };
  // Checks MODEL.TYPE first: another network or task has other values of many keys.
  if (const auto type = of_now.find("MODEL.TYPE"); type != of_now.end())
    check_key(type->first, type->second);
  for (const auto& [key, now] : of_now) check_key(key, now);
}

void check_averages(const Metadata& saved, float decay, const std::string& path,
                    const std::string& way_out) {
  const auto then = saved.find(kAverages);
  if (decay == 0 || then == saved.end()) return;
  check(!same(then->second, "0"), path, ": was saved with ", kAverages,
        " 0, so it has no averages of the parameters, but now it is ", decay, "; ", way_out,
        ", or restore that value");
}

}  // namespace lockstep
