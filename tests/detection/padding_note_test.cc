// SPDX-License-Identifier: Apache-2.0
// The detectors that padding affects: detectors that normalise whole pictures.
#include "app/detection/train/padding_note.h"

#include "app/detection/network.h"
#include "tests/detection/detector_config_fixture.h"

namespace lockstep::testing {
namespace {

class PaddingNote : public DetectorConfigTest {
 protected:
  std::string note(const Words& words) {
    Words small{"IMAGE", "64x64", "NUM_GPUS", "1", "TRAIN.TRUE_BOXES", "4"};
    small.insert(small.end(), words.begin(), words.end());
    const DetectorConfig config =
        read("SOLVER.BASE_LR: 0.001\nSOLVER.SCALE_TO_BATCH: true\n", small);
    return padding_note(detector_step(config, {64, 64}).inference);
  }
};

TEST_F(PaddingNote, IsOfNormalisationsOfPictures) {
  EXPECT_EQ(note({}), "") << "batch norm is frozen";
  EXPECT_EQ(note({"FPN.USE_GN", "true"}).find("8 normalisations count the padding"), 0u)
      << note({"FPN.USE_GN", "true"});
  EXPECT_NE(note({"RESNETS.STEM_FUNC", "basic_gn_stem"}).find("1 normalisation counts the padding"),
            std::string::npos);
}

TEST_F(PaddingNote, IsNotOfNormalisationsOfRois) {
  EXPECT_EQ(note({"FAST_RCNN.ROI_BOX_HEAD", "fast_rcnn_heads.add_roi_Xconv1fc_gn_head"}), "");
}

}  // namespace
}  // namespace lockstep::testing
