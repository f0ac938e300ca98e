// SPDX-License-Identifier: Apache-2.0
// The data sets that Detectron knows by name, and where they lie below its folder of data.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace lockstep {

struct PictureFiles {
  std::string images;       // a folder
  std::string annotations;  // a file
};

// None for a name that Detectron does not have. Those of 2017 lie as those of 2014 do.
std::optional<PictureFiles> detectron_set(const std::string& name, const std::string& data_dir);

std::vector<std::string> detectron_set_names();

}  // namespace lockstep
