// Answers: what one training step gave back, by name. Valid until the next step.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "graph/training.h"
#include "runtime/tensor.h"

namespace lockstep {

class Answers {
 public:
  // `fetched`: in the order of Session::step(). `shares`: of the run's batch, by replica
  // (Feeds::shares); without them replicas have equal ones.
  Answers(const TrainingModel& model, std::span<const Tensor> fetched,
          std::span<const float> shares = {})
      : model_(&model), fetched_(fetched), shares_(shares) {}

  // Of the batch: all losses of all replicas, which hold their share of it, added up. In one of
  // several processes: what this one adds to that.
  float loss() const;
  float loss(std::string_view name) const;
  // The mean over the rows that this process has.
  float metric(std::string_view name) const;
  // What this process adds to the mean over the whole batch.
  float share_of_metric(std::string_view name) const;
  // On each replica. Throws naming what there is.
  std::span<const Tensor> loss_of_each(std::string_view name) const;
  std::span<const Tensor> metric_of_each(std::string_view name) const;

  // Why the step updated nothing; none: it did. Over several processes the others know only that.
  struct Skipped {
    int replica = -1;      // of the whole run, whose gradient was not finite first; -1: elsewhere
    std::string gradient;  // whose: a parameter's name
  };
  std::optional<Skipped> skipped() const;

 private:
  float share_of(std::size_t replica) const;
  // Of the items of a table, of which `before` others come before them.
  std::span<const Tensor> of(std::size_t item) const;
  std::span<const Tensor> named(const std::vector<Replicated>& items, std::size_t before,
                                std::string_view name, const char* what) const;

  const TrainingModel* model_;
  std::span<const Tensor> fetched_;
  std::span<const float> shares_;
};

}  // namespace lockstep
