// SPDX-License-Identifier: Apache-2.0
// Detectron's data sets by name, and their paths below its folder of data.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace lockstep {

struct PictureFiles {
  std::string images;       // a folder
  std::string annotations;  // a file
  // The set's folder and list as Pascal distributes them, for sets of Pascal VOC.
  std::string voc = {}, list = {};

  bool is_voc() const { return !voc.empty(); }
};

// Returns nothing for a name that Detectron does not have. The sets of 2017 have paths like the
// sets of 2014.
std::optional<PictureFiles> detectron_set(const std::string& name, const std::string& data_dir);

std::vector<std::string> detectron_set_names();

}  // namespace lockstep
