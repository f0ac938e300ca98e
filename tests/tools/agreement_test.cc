#include "tools/train/agreement.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace lockstep::testing {
namespace {

TEST(Agreement, IsAboutEverythingButAProcessesOwnKeys) {
  TrainConfig config;
  config.devices = "gpu:3,cpu,gpu:1";
  std::map<std::string, std::string> agreed;
  for (const auto& [key, value] : to_be_agreed_on(config)) agreed.emplace(key, value);
  EXPECT_EQ(agreed.at("DEVICES"), "1 x cpu, 2 x gpu");
  for (const char* own : {"THREADS", "DATA.THREADS", "DATA.ROOT", "OUTPUT_DIR"})
    EXPECT_EQ(agreed.count(own), 0u) << own;
  EXPECT_EQ(agreed.size() + 4, config.entries().size());
}

}  // namespace
}  // namespace lockstep::testing
