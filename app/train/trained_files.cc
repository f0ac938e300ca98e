// SPDX-License-Identifier: Apache-2.0
#include "app/train/trained_files.h"

#include <filesystem>
#include <iomanip>
#include <nlohmann/json.hpp>

#include "app/train/saved_numbers.h"
#include "app/train/trained_network.h"
#include "app/train/weights.h"
#include "graph/printable.h"
#include "runtime/state/safetensors.h"
#include "runtime/state/session_members.h"

namespace lockstep {
namespace {

constexpr const char *kIterations = "iterations", *kScoreOfBest = "score_name";

}  // namespace

StateValues weights_of(const Session& session) {
  StateValues values;
  for (const State& state : session.model().states)
    if (is_weight(state.kind) || state.kind == StateKind::average)
      values.emplace(state.name, states_of(session).read(state.values[0]));
  return values;
}

std::string TrainedFiles::said_of(const HeldOutTest& result, int64_t iterations) const {
  return nlohmann::ordered_json{{kIterations, iterations}, {score_.metadata, result.score}}.dump();
}

TrainedFiles::TrainedFiles(std::string folder, ScoreKind score, const Session& session,
                           int64_t first, Metadata remembered)
    : folder_(std::move(folder)),
      score_(std::move(score)),
      session_(session),
      remembered_(std::move(remembered)) {
  const std::string best = folder_ + "/best.safetensors";
  if (first == 0 || !std::filesystem::exists(best)) return;
  try {
    const Metadata said = read_safetensors(best).metadata;
    const int64_t iterations = whole_number(said, kIterations, 0, kMostSteps, best);
    const double score = share_number(said, score_.metadata, best);
    const auto then = said.find(kScoreOfBest);  // older files have none
    check(then == said.end() || then->second == score_.name, best,
          " is the best of another score, ", then == said.end() ? "" : printable(then->second),
          ", not ", score_.name);
    if (iterations <= first) best_ = score;
  } catch (const Error& error) {
    remark_ = join("the best result so far is unknown: ", error.what());
  }
}

void TrainedFiles::tested(const HeldOutTest& result, int64_t iterations) {
  // A network of NaN guesses the first class, which is sometimes right, so `trouble` counts, too.
  if (result.score <= best_ || !result.trouble.empty()) return;
  best_ = result.score;
  const StateValues weights = weights_of(session_);
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const auto& [name, value] : weights) tensors.emplace_back(name, view_of(value));
  save_trained(session_.model(), weights, said_of(result, iterations), folder_ + "/best.onnx");
  Metadata metadata{{"format", "lockstep weights 2"},
                    {kIterations, std::to_string(iterations)},
                    {score_.metadata, join(std::setprecision(17), result.score)},
                    {kScoreOfBest, score_.name}};
  metadata.insert(remembered_.begin(), remembered_.end());
  write_safetensors(folder_ + "/best.safetensors", tensors, metadata);
}

void TrainedFiles::finished(const HeldOutTest& result, int64_t iterations) const {
  save_trained(session_.model(), weights_of(session_), said_of(result, iterations),
               folder_ + "/model.onnx");
}

}  // namespace lockstep
