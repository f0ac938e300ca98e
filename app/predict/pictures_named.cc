// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <iostream>

#include "app/predict/infer.h"
#include "data/formats/formats.h"
#include "data/picture_folder.h"
#include "graph/printable.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

void tell_of_folder(const std::string& folder, const PicturesBelow& below) {
  const std::string left_out = below.left_out.text();
  if (below.nested == 0 && left_out.empty()) return;
  std::cerr << "lockstep: " << printable(folder) << ": " << below.pictures.size() << " pictures";
  if (below.nested > 0) std::cerr << ", " << below.nested << " of them in folders below";
  if (!left_out.empty()) std::cerr << "; left out " << printable(left_out);
  std::cerr << "\n";
}

}  // namespace

std::vector<std::string> pictures_named(const std::vector<std::string>& files) {
  std::vector<std::string> pictures;
  for (const std::string& name : files) {
    if (!std::filesystem::is_directory(name)) {
      pictures.push_back(name);
      continue;
    }
    const PicturesBelow below = pictures_below(name);
    const std::string left_out = below.left_out.text();
    check(!below.pictures.empty(), "'", name, "' contains no ", picture_endings("or"), " file",
          left_out.empty() ? "" : "; left out " + left_out);
    tell_of_folder(name, below);
    pictures.insert(pictures.end(), below.pictures.begin(), below.pictures.end());
  }
  return pictures;
}

}  // namespace lockstep
