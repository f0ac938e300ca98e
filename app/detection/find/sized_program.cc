// SPDX-License-Identifier: Apache-2.0
#include "app/detection/find/sized_program.h"

#include "app/detection/network.h"
#include "lockstep/data_parallel.h"
#include "lockstep/processes.h"

namespace lockstep {

std::vector<PredictedTensors> SizedProgram::run(std::span<const Tensor> feeds,
                                                const RunOptions& options,
                                                std::size_t count) const {
  const auto fetched = program->run(feeds, options);
  std::vector<PredictedTensors> results(count);
  std::size_t first = 0;
  for (const Replicated& output : predictors.outputs) {
    for (std::size_t k = 0; k < count; ++k) results[k].emplace(output.name, fetched[first + k]);
    first += output.values.size();
  }
  return results;
}

std::unique_ptr<SizedProgram> sized_program(const DetectorConfig& config, Session& session,
                                            const PictureSize& size, const Program* beside) {
  const Comm* comm = session.comm();
  TrainingModel model = detector_step(config, size, comm ? comm->size() : 1);
  if (comm) model = partition(model, {comm->rank(), comm->size()});
  auto made =
      std::make_unique<SizedProgram>(SizedProgram{size, predict_on_every_replica(model), nullptr});
  made->program = session.program(made->predictors.graph, values_of(made->predictors.inputs),
                                  values_of(made->predictors.outputs), {}, beside);
  return made;
}

}  // namespace lockstep
