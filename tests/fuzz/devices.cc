// SPDX-License-Identifier: Apache-2.0
#include "lockstep/device.h"

#include <cstdlib>

#include "tests/fuzz/readers.h"

namespace lockstep::fuzz {

void read_devices(const std::string& text) {
  const std::vector<Device> devices = parse_devices(text);
  if (devices.empty()) std::abort();
  std::string again;
  for (Device device : devices) again += (again.empty() ? "" : ",") + text_of(device);
  if (parse_devices(again) != devices) std::abort();
}

Seeds devices_seeds() {
  return {"cpu",     "cpu*2",     "cpu*1024", "gpu*8",      "gpu:0,gpu:2",
          "gpu:1*4", "gpu:local", "cpu,cpu",  "gpu:0,gpu:0"};
}

}  // namespace lockstep::fuzz
