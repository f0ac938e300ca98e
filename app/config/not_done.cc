// SPDX-License-Identifier: Apache-2.0
#include "app/config/not_done.h"

#include <algorithm>

#include "graph/listed.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

std::string way_out_of(const ConfigKey& key) {
  if (!key.facts.not_done.way_out.empty()) return key.facts.not_done.way_out;
  const bool* const* value = std::get_if<bool*>(&key.target);
  return join("set it to ", value && !**value ? "true" : "false", " to get these");
}

bool is_refused_by(const NotDone& wish, const std::string& command) {
  const auto& commands = wish.refused_by;
  return std::find(commands.begin(), commands.end(), command) != commands.end();
}

}  // namespace

bool has_wish(const ConfigKey& key) {
  const NotDone& wish = key.facts.not_done;
  return wish.asked && wish.asked();
}

void refuse_not_done(const ConfigKeys& keys, const std::string& command, const Origins& origins,
                     const std::string& path) {
  std::string refused;
  for (const ConfigKey& key : keys) {
    if (!has_wish(key) || !is_refused_by(key.facts.not_done, command)) continue;
    refused += join(refused.empty() ? "" : "\n", origins.blame({key.key}, path), " ", text_of(key),
                    " has no effect in this version: `lockstep ", command,
                    "` would give the results without it; ", way_out_of(key));
  }
  check(refused.empty(), refused);
}

std::vector<std::string> notes_of_not_done(const ConfigKeys& keys, const Origins& origins,
                                           const std::string& path) {
  std::vector<std::string> notes;
  for (const ConfigKey& key : keys) {
    const NotDone& wish = key.facts.not_done;
    if (!has_wish(key) || !wish.noted) continue;
    notes.push_back(
        join(origins.blame({key.key}, path), " has no effect in this version; ", refusal_of(wish),
             is_refused_by(wish, "test") ? ", and a run's own tests are without it" : ""));
  }
  return notes;
}

std::string refusal_of(const NotDone& wish) {
  std::vector<std::string> commands;
  for (const std::string& command : wish.refused_by) commands.push_back("`" + command + "`");
  return listed(commands) + (commands.size() == 1 ? " refuses this" : " refuse this");
}

}  // namespace lockstep
