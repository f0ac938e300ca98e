// SPDX-License-Identifier: Apache-2.0
// The configuration configs/shapes_unet.yaml, on generated pictures and on files of such pictures.
#include <gtest/gtest.h>

#include "app/record/metrics.h"
#include "tests/support/drawn_files.h"
#include "tests/support/program.h"

namespace lockstep::testing {
namespace {

double trained_iou(std::vector<std::string> more) {
  const TemporaryFolder folder;
  more.insert(more.begin(),
              {"train", std::string(LOCKSTEP_SOURCE_DIR) + "/configs/shapes_unet.yaml",
               "OUTPUT_DIR", folder / "run", "SOLVER.MAX_ITER", "300"});
  const Outcome outcome = run_lockstep(more);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto rows = read_metrics(folder / "run/metrics.jsonl");
  return rows.empty() ? 0 : value_of(rows.back(), "test_iou");
}

TEST(UnetAcceptance, SeparatesDrawnShapes) { EXPECT_GE(trained_iou({}), 0.85); }

TEST(UnetAcceptance, SeparatesShapesInFiles) {
  const TemporaryFolder folder;
  write_drawn_shapes(folder / "shapes", 64, 2000, 200);
  EXPECT_GE(trained_iou({"DATA.NAME", "image_masks", "DATA.ROOT", folder / "shapes", "DATA.RESIZE",
                         "64", "DATA.CROP_SCALE", "[0.7, 1]"}),
            0.85);
}

}  // namespace
}  // namespace lockstep::testing
