// SPDX-License-Identifier: Apache-2.0
// Options of several benchmarks.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

namespace lockstep {

inline void add_json(CLI::App& command, bool& as_json) {
  command.add_flag("--json", as_json, "print JSON instead of a table");
}
inline CLI::Option* add_devices(CLI::App& command, std::string& devices) {
  return command.add_option("--devices", devices, "devices, such as 'cpu*2', gpu or 'gpu:0*2'")
      ->capture_default_str();
}
inline void add_threads(CLI::App& command, int& threads) {
  command
      .add_option("--threads", threads, "threads of each replica; 0: an equal share of the cores")
      ->check(CLI::Range(0, 1024));
}
inline void add_batch(CLI::App& command, int64_t& batch, const char* text) {
  command.add_option("--batch", batch, text)
      ->capture_default_str()
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 24));
}

}  // namespace lockstep
