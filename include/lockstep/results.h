// SPDX-License-Identifier: Apache-2.0
// Results of one training step, by name. Valid until the next step.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "lockstep/tensor.h"
#include "lockstep/training_model.h"

namespace lockstep {

class Results {
 public:
  // `fetched`: in the order of Session::step(). `shares`: each replica's share of the run's batch
  // (Feeds::shares()); empty: equal shares. Model, tensors and shares must outlive the results.
  Results(const TrainingModel& model, std::span<const Tensor> fetched,
          std::span<const float> shares = {})
      : model_(&model), fetched_(fetched), shares_(shares) {}

  // The batch's loss: the sum over all losses and replicas, each already weighted by its share.
  // With several processes: this process's part of the sum.
  float loss() const;
  float loss(std::string_view name) const;
  // The mean over this process's rows.
  float metric(std::string_view name) const;
  // This process's contribution to the mean over the whole batch.
  float share_of_metric(std::string_view name) const;
  // The value on each replica. Like all functions with a `name`, throws for an unknown name and
  // lists the known names.
  std::span<const Tensor> loss_of_each(std::string_view name) const;
  std::span<const Tensor> metric_of_each(std::string_view name) const;

  // The reason why the step updated nothing; empty if it updated. With several processes, only the
  // process that has the non-finite gradient knows its replica and name.
  struct Skipped {
    int replica = -1;  // of the run, the first with a non-finite gradient; -1: in another process
    std::string gradient;  // the parameter's name
  };
  std::optional<Skipped> skipped() const;

 private:
  float share_of(std::size_t replica) const;
  // The replicas' values of item number `item` of the fetches.
  std::span<const Tensor> of(std::size_t item) const;
  std::span<const Tensor> named(const std::vector<Replicated>& items, std::size_t before,
                                std::string_view name, const char* what) const;

  const TrainingModel* model_;
  std::span<const Tensor> fetched_;
  std::span<const float> shares_;
};

}  // namespace lockstep
