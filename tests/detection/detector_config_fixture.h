// SPDX-License-Identifier: Apache-2.0
// A detector's configuration of four lines. Tests append the fifth line.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "app/detection/config/detector_config.h"
#include "graph/file.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {

using Words = std::vector<std::string>;

inline constexpr const char* kFasterFpn =
    R"(MODEL: {TYPE: generalized_rcnn, CONV_BODY: FPN.add_fpn_ResNet50_conv5_body, NUM_CLASSES: 81, FASTER_RCNN: True}
NUM_GPUS: 8
FPN: {FPN_ON: True, MULTILEVEL_ROIS: True, MULTILEVEL_RPN: True}
FAST_RCNN: {ROI_BOX_HEAD: fast_rcnn_heads.add_roi_2mlp_head, ROI_XFORM_METHOD: RoIAlign}
)";

class DetectorConfigTest : public ::testing::Test {
 protected:
  std::string file(const std::string& text, const std::string& name = "x.yaml") {
    write_file(folder / name, text);
    return folder / name;
  }
  DetectorConfig read(const std::string& more = "", const Words& words = {}, int processes = 1) {
    return read_detector_config(config_files(file(kFasterFpn + more)), words, processes);
  }
  template <class... Parts>
  void refused(const std::string& more, const Parts&... parts) {
    SCOPED_TRACE(more);
    expect_error([&] { read(more); }, parts...);
  }
  std::vector<std::string> notes(const DetectorConfig& config, DetectorNoteKind kind) {
    std::vector<std::string> texts;
    for (const DetectorNote& note : config.notes)
      if (note.kind == kind) texts.push_back(note.text);
    return texts;
  }
  TemporaryFolder folder;
};

}  // namespace lockstep::testing
