#include <algorithm>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "graph/error.h"
#include "graph/file.h"
#include "tools/bench/bench.h"

namespace lockstep {
namespace {

constexpr double kLoss = 1.1;
constexpr int kTries = 3;  // a machine may be busy for a while

struct Recorded {
  TrainStepBench step;
  double seconds;
};

Recorded recorded_in(const std::string& line, const std::string& place) {
  try {
    const auto json = nlohmann::json::parse(line);
    Recorded recorded{{}, json.at("seconds").get<double>()};
    json.at("model").get_to(recorded.step.model);
    json.at("batch").get_to(recorded.step.batch);
    json.at("devices").get_to(recorded.step.devices);
    json.at("threads").get_to(recorded.step.threads);
    json.at("precision").get_to(recorded.step.precision);
    json.at("tf32").get_to(recorded.step.tf32);
    recorded.step.exact = json.value("exact", false);
    recorded.step.bytes = json.value("bytes", false);
    recorded.step.feed = json.value("feed", "resident");
    check(recorded.seconds > 0, "\"seconds\" is ", recorded.seconds);
    return recorded;
  } catch (const nlohmann::json::exception&) {  // whose texts are for the library's users
    fail(place, ": is no line of `lockstep bench train-step --json`");
  } catch (const Error& error) {
    fail(place, ": is no line of `lockstep bench train-step --json`: ", error.what());
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
