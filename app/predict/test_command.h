// SPDX-License-Identifier: Apache-2.0
// lockstep test: what its tasks share.
#pragma once

#include <string>
#include <vector>

#include "app/config/files.h"
#include "app/train/chosen_run.h"
#include "runtime/comm.h"

namespace lockstep {

struct TestOptions {
  std::string config, weights, out;
};

inline constexpr const char* kScores = "scores.json";  // in the folder of --out

// With several processes, all share the pictures, or the episodes; rank 0 prints and writes.
int test_classifier(const TestOptions& options, const ConfigFiles& files,
                    const std::vector<std::string>& words, Comm* comm);
int test_control(const TestOptions& options, const ConfigFiles& files,
                 const std::vector<std::string>& words, Comm* comm);
int test_detector(const TestOptions& options, const ConfigFiles& files,
                  const std::vector<std::string>& words, Comm* comm);
int test_language_model(const TestOptions& options, const ConfigFiles& files,
                        const std::vector<std::string>& words, Comm* comm);

// Where the weights to be tested come from.
struct WeightsWanted {
  std::string config, series;
  std::string given = "";  // --weights; "": of the newest run of the series that fits
  WhyNot other_network;    // why a checkpoint (not a folder) is none of this configuration's
  bool says = true;        // which runs were passed over; one process of several does
};
// Throws for a damaged file, and if no run fits, with the reason of each.
std::string weights_for(const WeightsWanted& wanted);

}  // namespace lockstep
