// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "graph/file.h"
#include "lockstep/error.h"
#include "tools/bench/train_step.h"

namespace lockstep {
namespace {

constexpr double kLoss = 1.1;
constexpr int kTries = 3;  // a machine may be busy for a while

struct Recorded {
  TrainStepBench step;
  double seconds;
};

// Reads a field. Errors name the field; the JSON library's own errors are no help to users.
template <class T>
T field(const nlohmann::json& json, const char* name) {
  check(json.contains(name), "it has no \"", name, "\"");
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
    check(json.at(name).is_number_integer(), "\"", name, "\" is ", json.at(name).dump());
  try {
    return json.at(name).get<T>();
  } catch (const nlohmann::json::exception&) {
    fail("\"", name, "\" is ", json.at(name).dump());
  }
}

template <class T>
T field(const nlohmann::json& json, const char* name, const T& missing) {
  return json.contains(name) ? field<T>(json, name) : missing;
}

Recorded recorded_in(const std::string& line, const std::string& place) {
  const std::string refusal = place + ": is no line of `lockstep bench train-step --json`";
  const auto json = nlohmann::json::parse(line, nullptr, false);
  check(json.is_object(), refusal);
  check(!json.contains("config"), place,
        ": times the steps of a CONFIG.yaml; --against repeats steps of --model only");
  try {
    Recorded recorded{{}, field<double>(json, "seconds")};
    recorded.step.model = field<std::string>(json, "model");
    recorded.step.batch = field<int64_t>(json, "batch");
    recorded.step.devices = field<std::string>(json, "devices");
    recorded.step.threads = field<int>(json, "threads");
    recorded.step.precision = field<std::string>(json, "precision");
    recorded.step.tf32 = field<bool>(json, "tf32");
    recorded.step.exact = field(json, "exact", false);
    recorded.step.bytes = field(json, "bytes", false);
    recorded.step.feed = field<std::string>(json, "feed", "resident");
    check(recorded.seconds > 0 && recorded.seconds < 1e6, "\"seconds\" is ", recorded.seconds);
    check(recorded.step.batch > 0, "\"batch\" is ", recorded.step.batch);
    check(recorded.step.threads >= 0 && recorded.step.threads <= 1024, "\"threads\" is ",
          recorded.step.threads);
    check(std::ranges::find(kFeeds, recorded.step.feed) != std::end(kFeeds), "\"feed\" is ",
          recorded.step.feed);
    return recorded;
  } catch (const Error& error) {
    fail(refusal, ": ", error.what());
  }
}

std::vector<Recorded> recorded_in(const std::string& file) {
  std::vector<Recorded> all;
  std::istringstream lines(read_file(file));
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (!line.empty()) all.push_back(recorded_in(line, join(file, ":", number)));
  }
  check(!all.empty(), file, ": has no line of `lockstep bench train-step --json`");
  return all;
}

}  // namespace

int bench_against(const std::string& file, const TrainStepBench& options) {
  std::vector<Recorded> all = recorded_in(file);
  int lost = 0;
  std::cout << "    before       now  ratio  step\n" << std::fixed;
  for (Recorded& recorded : all) {
    recorded.step.steps = options.steps;
    double now = time_train_step(recorded.step).median;
    for (int more = 1; more < kTries && now > kLoss * recorded.seconds; ++more)
      now = std::min(now, time_train_step(recorded.step).median);
    const bool slower = now > kLoss * recorded.seconds;
    lost += slower;
    std::cout << std::setprecision(5) << std::setw(10) << recorded.seconds << std::setw(10) << now
              << std::setprecision(2) << std::setw(7) << now / recorded.seconds << "  "
              << recorded.step.model << ", batch " << recorded.step.batch << " on "
              << recorded.step.devices << ", " << recorded.step.threads << " threads each, "
              << recorded.step.precision << (slower ? "  SLOWER" : "") << "\n";
  }
  if (lost > 0)
    std::cerr << "lockstep: " << lost << (lost == 1 ? " step is" : " steps are")
              << " slower by more than a tenth than in " << file << "\n";
  return lost > 0 ? 1 : 0;
}

}  // namespace lockstep
