// SPDX-License-Identifier: Apache-2.0
#include "app/control/policy_program.h"

#include <algorithm>

namespace lockstep {
namespace {

std::vector<std::string> of_all_replicas(const std::vector<Replicated>& items) {
  std::vector<std::string> names;
  for (const Replicated& item : items)
    names.insert(names.end(), item.values.begin(), item.values.end());
  return names;
}

}  // namespace

PolicyProgram::PolicyProgram(Session& session, const EnvironmentKind& kind, int64_t rows,
                             Reads reads)
    : session_(session),
      replicas_(session.model().replicas),
      values_(kind.observations),
      rows_(rows / session.model().replicas),
      predictors_(predict_on_every_replica(session.model(), reads)) {
  check(rows > 0 && rows % session.model().replicas == 0, rows,
        " observations cannot be shared equally by ", replicas_, " replicas");
  check(predictors_.inputs.size() == 1 && predictors_.outputs.size() == 2, "the network has ",
        predictors_.inputs.size(), " inputs and ", predictors_.outputs.size(),
        " outputs; a policy takes observations and gives log-probabilities and values");
  program_ = session.program(predictors_.graph, of_all_replicas(predictors_.inputs),
                             of_all_replicas(predictors_.outputs), {});
  log_probabilities_.resize(rows * kind.actions);
  expected_.resize(rows);
}

void PolicyProgram::join_rows(std::span<const Tensor> fetched, std::size_t output,
                              std::vector<float>& all) {
  auto to = all.begin();
  for (const Tensor& rows : fetched.subspan(output * replicas_, replicas_)) {
    check(rows.count() * static_cast<int64_t>(replicas_) == static_cast<int64_t>(all.size()),
          "the policy's output '", predictors_.outputs[output].name, "' is ", rows.desc, ", not ",
          all.size() / replicas_, " numbers");
    to = std::copy_n(rows.as<float>(), rows.count(), to);
  }
}

Predicted PolicyProgram::predict(std::span<const float> observations) {
  const auto each = rows_ * values_;
  check(observations.size() == each * replicas_, observations.size(), " numbers for ", replicas_,
        " replicas with ", rows_, " observations of ", values_);
  const TensorDesc desc{DType::float32, {rows_, static_cast<int64_t>(values_)}};
  std::vector<Tensor> feeds;
  for (std::size_t k = 0; k < replicas_; ++k)
    feeds.push_back({desc, const_cast<float*>(observations.data() + k * each)});
  const std::span<const Tensor> fetched = program_->run(feeds, session_.run_options(0));
  join_rows(fetched, 0, log_probabilities_);
  join_rows(fetched, 1, expected_);
  return {log_probabilities_, expected_};
}

}  // namespace lockstep
