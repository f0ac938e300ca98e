// SPDX-License-Identifier: Apache-2.0
// Operators without a kernel, which import writes with others. tests/python/check_opsets.py and
// tests/python/check_operators.py check the numbers.
#include <gtest/gtest.h>

#include "tests/graph/newer_opset.h"

namespace lockstep::testing {
namespace {

Operand scalar(const std::string& name, int64_t value) {
  return {name, {}, Literal::scalar(value)};
}
Operand typed(const std::string& name, DType type, const Shape& shape) {
  return {name, {type, shape}};
}

class Decomposed : public NewerOpset {
 protected:
  Decomposed() { opset(17); }
};

TEST_F(Decomposed, TransformsKeepTheBatchOpen) {
  const Attributes half{{"onesided", int64_t{1}}};
  op("DFT", {floats("x", {"N", 16, 1})}, half);
  EXPECT_EQ(type_of_y(), "float32[N,9,2]");
  op("DFT", {floats("x", {"N", 3000, 2})});  // composed of shorter transforms
  EXPECT_EQ(type_of_y(), "float32[N,3000,2]");
  op("DFT", {floats("x", {"N", 1483, 2})});  // a convolution
  EXPECT_EQ(type_of_y(), "float32[N,1483,2]");
  op("DFT", {floats("x", {"N", "M", 8, 1})}, {{"axis", int64_t{2}}});
  EXPECT_EQ(type_of_y(), "float32[N,M,8,2]");
  op("STFT", {floats("x", {"N", 100, 1}), scalar("step", 10), floats("w", {20})});
  EXPECT_EQ(type_of_y(), "float32[N,9,11,2]");
  op("STFT", {floats("x", {"N", 100, 1}), scalar("step", 1), {}, scalar("length", 30)});
  EXPECT_EQ(type_of_y(), "float32[N,71,16,2]");
  opset(20);
  op("DFT", {floats("x", {"N", 9, 4, 2}), scalar("length", 16), scalar("axis", 1)},
     {{"onesided", int64_t{1}}, {"inverse", int64_t{1}}});
  EXPECT_EQ(type_of_y(), "float32[N,16,4,1]");
}

TEST_F(Decomposed, OtherOperatorsKeepTheBatchOpen) {
  const Operand picture = floats("x", {"N", 4, 6, 6});
  op("MeanVarianceNormalization", {picture});
  EXPECT_EQ(type_of_y(), "float32[N,4,6,6]");
  op("LpNormalization", {picture});
  EXPECT_EQ(type_of_y(), "float32[N,4,6,6]");
  op("LpPool", {picture}, {{"kernel_shape", std::vector<int64_t>{3, 3}}});
  EXPECT_EQ(type_of_y(), "float32[N,4,4,4]");
  op("GlobalLpPool", {picture});
  EXPECT_EQ(type_of_y(), "float32[N,4,1,1]");
  op("ReverseSequence", {floats("x", {5, "N", 3}), typed("lengths", DType::int64, {"N"})});
  EXPECT_EQ(type_of_y(), "float32[5,N,3]");
  op("QuantizeLinear", {picture, floats("s", {4}), typed("z", DType::int8, {4})});
  EXPECT_EQ(type_of_y(), "int8[N,4,6,6]");
  op("DequantizeLinear", {typed("x", DType::uint8, {"N", 4}), floats("s", {})});
  EXPECT_EQ(type_of_y(), "float32[N,4]");
  opset(18);
  op("Col2Im", {floats("x", {"N", 12, 4}), given("image", {4, 3}), given("block", {2, 3})},
     {{"strides", std::vector<int64_t>{1, 1}}, {"pads", std::vector<int64_t>{0, 0, 1, 0}}});
  EXPECT_EQ(type_of_y(), "float32[N,2,4,3]");
}

TEST_F(Decomposed, TransformsThatDoNotFitAreNamed) {
  const Operand x = floats("x", {2, 16, 2}), real = floats("x", {2, 16, 1});
  const Attributes half{{"onesided", int64_t{1}}};
  op("DFT", {x}, {{"axis", int64_t{2}}});
  refused("place (DFT of opset 17)", "axis 2 has the real and imaginary parts");
  op("DFT", {x}, half);
  refused("place (DFT", "half a spectrum is made of a real signal");
  op("DFT", {floats("x", {2, 16, 3})});
  refused("place (DFT", "the last dimension should be 1 (real) or 2 (complex), is 3");
  op("DFT", {floats("x", {2, "T", 2})});
  refused("place (DFT", "the size of 'x' float32[2,T,2] along axis 1 is not known");
  op("DFT", {x, scalar("length", 0)});
  refused("place (DFT", "the length is 0, should be 1 to 4194304");
  op("DFT", {typed("x", DType::float16, {2, 16, 2})});
  refused("place (DFT", "takes float32 or float64, not float16");
  op("STFT", {x, scalar("step", 4), floats("w", {8})});
  refused("place (STFT", "a complex signal has no half spectrum");
  op("STFT", {real, scalar("step", 0), floats("w", {8})});
  refused("place (STFT", "frames of 8 samples at steps of 0");
  op("STFT", {real, scalar("step", 4), floats("w", {17})});
  refused("place (STFT", "frames of 17 samples");
  op("STFT", {real, scalar("step", 4), floats("w", {8}), scalar("length", 4)});
  refused("place (STFT", "a window of 8 for frames of 4");
  op("STFT", {real, fed("step", 1), floats("w", {8})});
  refused("place (STFT", "its frame_step, 'step', are not constant");
}

TEST_F(Decomposed, OperandsThatDoNotFitAreNamed) {
  const Operand x = floats("x", {2, 3});
  op("Compress", {x, typed("c", DType::boolean, {3})});
  refused("place (Compress", "its condition is not constant");
  op("ReverseSequence", {x, fed("lengths", 3)}, {{"batch_axis", int64_t{2}}});
  refused("place (ReverseSequence", "batch_axis is 2");
  op("LpPool", {floats("x", {1, 2, 4, 4})},
     {{"kernel_shape", std::vector<int64_t>{2, 2}}, {"p", int64_t{0}}});
  refused("place (LpPool", "p is 0");
  op("MelWeightMatrix",
     {scalar("m", 0), scalar("l", 16), scalar("r", 8), scalar("a", 0), scalar("b", 4)});
  refused("place (MelWeightMatrix", "0 mel bins");
  op("MaxUnpool", {floats("x", {1, 2, 4, 4}), typed("i", DType::int64, {1, 2, 4, 4})},
     {{"kernel_shape", std::vector<int64_t>{2}}});
  refused("place (MaxUnpool", "have 1, 1 and 2 entries");
  opset(18);
  op("Col2Im", {floats("x", {1, 12, 4}), given("image", {4, 3}), given("block", {5, 3})});
  refused("place (Col2Im", "a block of 5 in an image of 4");
  opset(21);
  op("QuantizeLinear", {x, floats("s", {1, 3})}, {{"block_size", int64_t{2}}});
  refused("place (QuantizeLinear", "block_size is not supported");
  op("DequantizeLinear", {typed("x", DType::int16, {3}), floats("s", {})});
  refused("place (DequantizeLinear", "takes int8 or uint8, not int16");
}

}  // namespace
}  // namespace lockstep::testing
