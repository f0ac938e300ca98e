// SPDX-License-Identifier: Apache-2.0
// cuDNN's verdict on descriptions of convolutions. Requires the library, but no GPU.
#include "operators/conv/cudnn_convolution.h"

#include <gtest/gtest.h>

#include <set>

#include "operators/conv/cudnn_graph.h"
#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

class Cudnn : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!cudnn_is_there()) GTEST_SKIP() << "skipped: no cuDNN, the oracle here";
  }
};

const std::vector<Convolution>& convolutions() {
  static const std::vector<Convolution> all{{.x = {4, 8, 14, 14},
                                             .w = {16, 8, 3, 3},
                                             .y = {4, 16, 7, 7},
                                             .strides = {2, 2},
                                             .dilations = {1, 1},
                                             .pads_before = {1, 1},
                                             .pads_after = {0, 0}},
                                            {.x = {2, 8, 9, 9},
                                             .w = {16, 2, 3, 3},
                                             .y = {2, 16, 5, 7},
                                             .strides = {1, 1},
                                             .dilations = {2, 1},
                                             .pads_before = {0, 0},
                                             .pads_after = {0, 0}},
                                            {.x = {2, 6, 20},
                                             .w = {4, 6, 5},
                                             .y = {2, 4, 16},
                                             .strides = {1},
                                             .dilations = {1},
                                             .pads_before = {0},
                                             .pads_after = {0}},
                                            {.x = {1, 3, 6, 6, 6},
                                             .w = {5, 3, 3, 3, 3},
                                             .y = {1, 5, 6, 6, 6},
                                             .strides = {1, 1, 1},
                                             .dilations = {1, 1, 1},
                                             .pads_before = {1, 1, 1},
                                             .pads_after = {1, 1, 1}}};
  return all;
}

TEST_F(Cudnn, TakesEveryKindTypeAndLayout) {
  for (Convolution c : convolutions())
    for (auto pass : {ConvPass::forward, ConvPass::grad_x, ConvPass::grad_w})
      for (DType type : {DType::float32, DType::float16, DType::bfloat16})
        for (bool channels_last : {false, true}) {
          c.pass = pass;
          c.type = type;
          c.channels_last = channels_last;
          EXPECT_NO_THROW(describe_to_cudnn(c)) << text_of(c.x) << " " << type;
        }
}

// An engine reads scales in the type of its sums. cuDNN keeps scales in the type that they were set
// in.
TEST_F(Cudnn, ScalesByFloats) {
  for (const bool adds : {false, true}) {
    Convolution c = convolutions()[0];
    c.adds = adds;
    const DnnOperations made = operations_of(c);
    float alpha = -1, beta = -1;
    made.operations[0].read(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, 1,
                            &alpha);
    made.operations[0].read(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, 1,
                            &beta);
    EXPECT_EQ(alpha, 1);
    EXPECT_EQ(beta, adds ? 1 : 0);
  }
}

// Accepts every combination of operations after the convolution.
TEST_F(Cudnn, TakesWhatIsDoneWithTheResult) {
  for (Convolution c : convolutions())
    for (DType type : {DType::float32, DType::float16, DType::bfloat16})
      for (unsigned what = 1; what < 16; ++what) {
        c.type = type;
        c.channels_last = true;
        c.bias = what & 1U;
        c.relu = what & 2U;
        c.statistics = what & 4U;
        c.addition = what & 8U;
        EXPECT_NO_THROW(describe_to_cudnn(c)) << text_of(c.x) << " " << type << " " << what;
      }
}

// The text is the key of cached choices.
TEST_F(Cudnn, TellsApartWhatIsDoneWithTheResult) {
  std::set<std::string> texts;
  for (unsigned what = 0; what < 16; ++what) {
    Convolution c = convolutions()[0];
    c.bias = what & 1U;
    c.relu = what & 2U;
    c.statistics = what & 4U;
    c.addition = what & 8U;
    texts.insert(problem_text(c, "a GPU"));
  }
  EXPECT_EQ(texts.size(), 16U);
}

// Ensures that the tests above can fail.
TEST_F(Cudnn, RefusesWhatIsNone) {
  Convolution c = convolutions()[0];
  c.y[2] = 9;
  expect_error([&] { describe_to_cudnn(c); }, "cuDNN: a descriptor");
}

}  // namespace
}  // namespace lockstep::testing
