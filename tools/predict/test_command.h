// lockstep test: what its tasks share.
#pragma once

#include <string>
#include <vector>

#include "runtime/comm.h"
#include "tools/config/files.h"

namespace lockstep {

struct TestOptions {
  std::string config, weights, out;
};

// With several processes, all share the pictures, or the episodes; rank 0 prints and writes.
int test_classifier(const TestOptions& options, const ConfigFiles& files,
                    const std::vector<std::string>& words, Comm* comm);
int test_control(const TestOptions& options, const ConfigFiles& files,
                 const std::vector<std::string>& words, Comm* comm);
int test_detector(const TestOptions& options, const ConfigFiles& files,
                  const std::vector<std::string>& words, Comm* comm);
int test_language_model(const TestOptions& options, const ConfigFiles& files,
                        const std::vector<std::string>& words, Comm* comm);

// `given`, or the checkpoint of the newest run of the series. Throws for a damaged file.
std::string weights_for(const std::string& config, const std::string& series,
                        const std::string& given);

}  // namespace lockstep
