#include "tools/train/trained_files.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iomanip>
#include <nlohmann/json.hpp>

#include "runtime/state/safetensors.h"
#include "tools/predict/trained_network.h"
#include "tools/train/training_run.h"
#include "tools/train/weights.h"

namespace lockstep {
namespace {

constexpr const char* kIterations = "iterations";
constexpr const char* kAccuracy = "held_out_accuracy";

double share_in(const Metadata& said, const std::string& path) {
  const auto found = said.find(kAccuracy);
  const std::string text = found == said.end() ? "" : found->second;
  char* end = nullptr;
  const double share = std::strtod(text.c_str(), &end);
  check(!text.empty() && *end == 0 && share >= 0 && share <= 1, path, ": its metadata has ",
        kAccuracy, " '", text, "'");
  return share;
}

std::string said_of(const TestResult& result, int64_t iterations) {
  return nlohmann::ordered_json{{kIterations, iterations}, {kAccuracy, result.accuracy}}.dump();
}

}  // namespace

StateValues weights_of(const Session& session) {
  StateValues values;
  for (const State& state : session.model().states)
    if (is_weight(state.kind)) values.emplace(state.name, session.state().read(state.values[0]));
  return values;
}

TrainedFiles::TrainedFiles(std::string folder, const Session& session, int64_t first)
    : folder_(std::move(folder)), session_(session) {
  const std::string best = folder_ + "/best.safetensors";
  if (first == 0 || !std::filesystem::exists(best)) return;
  try {
    const Metadata said = read_safetensors(best).metadata;
    const int64_t iterations = whole_number(said, kIterations, 0, kMostSteps, best);
    const double accuracy = share_in(said, best);
    if (iterations <= first) best_ = accuracy;
  } catch (const Error& error) {
    remark_ = join("the best result so far is unknown: ", error.what());
  }
}

void TrainedFiles::tested(const TestResult& result, int64_t iterations) {
  // NaN scores are right now and then, too: the first class is their guess.
  if (result.accuracy <= best_ || !std::isfinite(result.loss)) return;
  best_ = result.accuracy;
  const StateValues weights = weights_of(session_);
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const auto& [name, value] : weights) tensors.emplace_back(name, view_of(value));
  save_trained(session_.model(), weights, said_of(result, iterations), folder_ + "/best.onnx");
  write_safetensors(folder_ + "/best.safetensors", tensors,
                    {{"format", "lockstep weights 2"},
                     {kIterations, std::to_string(iterations)},
                     {kAccuracy, join(std::setprecision(17), result.accuracy)}});
}

void TrainedFiles::finished(const TestResult& result, int64_t iterations) const {
  save_trained(session_.model(), weights_of(session_), said_of(result, iterations),
               folder_ + "/model.onnx");
}

}  // namespace lockstep
