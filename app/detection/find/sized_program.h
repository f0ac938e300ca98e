// SPDX-License-Identifier: Apache-2.0
// A detector's prediction graph for pictures of one padded size, on every replica.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "app/detection/config/detector_config.h"
#include "data/detection/padded_shapes.h"
#include "graph/passes/predict.h"
#include "lockstep/session.h"

namespace lockstep {

// The results of one replica by the names of the network's outputs.
using PredictedTensors = std::map<std::string, Tensor>;

struct SizedProgram {
  PictureSize size;
  Predictors predictors;
  std::unique_ptr<Program> program;

  // Feeds: input by input of `predictors`, replicas inside. Returns the results of the first
  // `count` replicas, which are valid as Program::run() says.
  std::vector<PredictedTensors> run(std::span<const Tensor> feeds, const RunOptions& options,
                                    std::size_t count) const;
};

// The prediction graph of the configuration over the states of the session. Shares the memory of
// `beside`, unless null. `session` must outlive the program.
std::unique_ptr<SizedProgram> sized_program(const DetectorConfig& config, Session& session,
                                            const PictureSize& size, const Program* beside);

}  // namespace lockstep
