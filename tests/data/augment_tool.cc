// SPDX-License-Identifier: Apache-2.0
// For tests/python/check_augment.py.
//   augment_tool FOLDER   reads lines of FOLDER/cases, and writes the changed bytes of each to
//   FOLDER/results: CHANNELS HEIGHT WIDTH OPERATION AMOUNT NEGATIVE. The bytes before, [channels,
//   height, width], are in FOLDER/pictures, one picture after the other. OPERATION is one of
//   RandAugment's, with its magnitude, or Hue, with its turn.
#include <algorithm>
#include <fstream>

#include "data/augment/augment.h"
#include "data/augment/colours.h"
#include "graph/file.h"
#include "lockstep/error.h"
#include "tests/support/tool_main.h"

namespace lockstep {
namespace {

int run(const std::vector<std::string>& words) {
  check(words.size() == 1, "augment_tool FOLDER");
  const std::vector<std::string> names = augment_operations();
  std::ifstream cases(words[0] + "/cases");
  std::string bytes = read_file(words[0] + "/pictures");
  auto* next = reinterpret_cast<uint8_t*>(bytes.data());
  BytePicture picture;
  std::string name;
  double amount = 0;
  bool negative = false;
  while (cases >> picture.channels >> picture.height >> picture.width >> name >> amount >>
         negative) {
    picture.bytes = next;
    next += picture.channels * picture.plane();
    const auto found = std::find(names.begin(), names.end(), name);
    if (name == "Hue")
      adjust_hue(picture, amount);
    else if (found != names.end())
      apply_operation(picture, static_cast<std::size_t>(found - names.begin()),
                      static_cast<int64_t>(amount), negative);
    else
      fail("there is no operation '", name, "'");
  }
  write_file(words[0] + "/results", bytes);
  return 0;
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) { return lockstep::testing::tool_main(argc, argv, lockstep::run); }
