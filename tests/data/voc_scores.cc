// SPDX-License-Identifier: Apache-2.0
// For tests/python/check_voc.py.
//   voc_scores FOLDER COUNT   scores FOLDER/N/results.json by the list `val` of the data set of
//                             Pascal VOC in FOLDER/N, N from 0, into FOLDER/N/scores: float64 of
//                             the precision by 11 points, then by area, each of every class
#include "data/voc/read_voc.h"
#include "data/voc/scores.h"
#include "graph/file.h"
#include "tests/support/tool_main.h"

namespace lockstep {
namespace {

int run(const std::vector<std::string>& words) {
  check(words.size() == 2, "voc_scores FOLDER COUNT");
  for (int n = 0; n < std::stoi(words[1]); ++n) {
    const std::string folder = join(words[0], "/", n);
    const Annotations truth = read_voc({folder, "val", {"cup", "spoon", "fork"}});
    const VocScores scores =
        evaluate_voc(truth, read_results(folder + "/results.json", truth), 1 + n % 3);
    std::vector<double> numbers = scores.eleven_points;
    numbers.insert(numbers.end(), scores.area.begin(), scores.area.end());
    write_file(folder + "/scores",
               [&](const FileSink& sink) { sink(std::as_bytes(std::span(numbers))); });
  }
  return 0;
}

}  // namespace
}  // namespace lockstep

int main(int count, char** words) {
  return lockstep::testing::tool_main(count, words, lockstep::run);
}
