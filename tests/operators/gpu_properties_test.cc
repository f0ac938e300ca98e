// SPDX-License-Identifier: Apache-2.0
#include "operators/conv/gpu_properties.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

TEST(GpuProperties, OfKnownGpusDiffer) {
  EXPECT_EQ(gpu_named("h200").name, "NVIDIA H200");
  EXPECT_EQ(nlohmann::json::parse(gpu_named("h200").json)["deviceVer"], 900);
  EXPECT_EQ(nlohmann::json::parse(gpu_named("a100").json)["deviceVer"], 800);
  EXPECT_EQ(gpu_named("a100").source, "published figures");
  for (const std::string& name : known_gpus()) EXPECT_EQ(gpu_named(name).json[0], '{') << name;
}

TEST(GpuProperties, ComeFromAFile) {
  TemporaryFolder folder;
  const std::string path = folder.path() + "/gpu.json";
  nlohmann::json properties = nlohmann::json::parse(gpu_named("h200").json);
  properties["deviceName"] = "A GPU";
  properties["newField"] = 1;  // of a later cuDNN
  std::ofstream(path) << properties;
  const GpuProperties read = gpu_named(path);
  EXPECT_EQ(read.name, "A GPU");
  EXPECT_EQ(read.source, "from " + path);
  EXPECT_EQ(nlohmann::json::parse(read.json), properties);
}

TEST(GpuProperties, AFileThatIsNoneIsNamed) {
  TemporaryFolder folder;
  const std::string path = folder.path() + "/gpu.json";
  expect_error([] { gpu_named("h2000"); }, "'h2000'", "h200, h100, a100", "--device-properties");
  std::ofstream(path) << "{\"warpSize\": 32";
  expect_error([&] { gpu_named(path); }, path, "not JSON of one object");
  std::ofstream(path) << "[1]";
  expect_error([&] { gpu_named(path); }, path, "not JSON of one object");
  nlohmann::json properties = nlohmann::json::parse(gpu_named("h200").json);
  properties["warpSize"] = "32";
  std::ofstream(path) << properties;
  expect_error([&] { gpu_named(path); }, path, "'warpSize' is missing, or not a number");
  properties.erase("warpSize");
  std::ofstream(path) << properties;
  expect_error([&] { gpu_named(path); }, path, "'warpSize' is missing, or not a number");
  expect_error([&] { gpu_named(folder.path()); }, folder.path());
}

}  // namespace
}  // namespace lockstep::testing
