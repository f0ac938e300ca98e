// SPDX-License-Identifier: Apache-2.0
// Layers that enlarge images, against their definitions: every product of a transposed convolution,
// the bilinear filter, a bilinear resize where the two agree, and PyTorch's resizes.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "builders/detection/bilinear.h"
#include "lockstep/data_parallel.h"
#include "lockstep/layers.h"
#include "lockstep/operators.h"
#include "lockstep/optimizers.h"
#include "lockstep/session.h"
#include "operators/resize/resize.h"
#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

using Values = std::vector<float>;

Values numbers(int64_t count, int64_t seed) {
  Values values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(static_cast<float>((i * 37 + seed * 11) % 29 - 14) / 8);
  return values;
}

Values read(const Session& session, const std::string& state) {
  const Literal value = session.read(session.model().find_state(state)->values.at(0));
  return {value.values<float>().begin(), value.values<float>().end()};
}

// ---- a transposed convolution of [4, 3, 4, 5], kernel 4, stride 2, pad 1, to [4, 2, 8, 10]
constexpr int64_t kBatch = 4, kIn = 3, kOut = 2, kHeight = 4, kWidth = 5, kSide = 4;
constexpr float kLearning = 0.5F;

// Calls visit(x, w, y) with the positions of the factors and of the sum of every product.
void each_product(const std::function<void(int64_t, int64_t, int64_t)>& visit) {
  for (int64_t n = 0; n < kBatch; ++n)
    for (int64_t c = 0; c < kIn; ++c)
      for (int64_t m = 0; m < kOut; ++m)
        for (int64_t h = 0; h < kHeight; ++h)
          for (int64_t w = 0; w < kWidth; ++w)
            for (int64_t i = 0; i < kSide; ++i)
              for (int64_t j = 0; j < kSide; ++j) {
                const int64_t a = 2 * h + i - 1, b = 2 * w + j - 1;
                if (a < 0 || b < 0 || a >= 2 * kHeight || b >= 2 * kWidth) continue;
                visit(((n * kIn + c) * kHeight + h) * kWidth + w,
                      ((c * kOut + m) * kSide + i) * kSide + j,
                      ((n * kOut + m) * 2 * kHeight + a) * 2 * kWidth + b);
              }
}

// The loss is the mean of result times target.
void enlarging_network(Net& net) {
  const Value x = net.input("data", {DType::float32, {"N", kIn, kHeight, kWidth}});
  const Value target = net.input("target", {DType::float32, {"N", kOut, 2 * kHeight, 2 * kWidth}});
  const Value y = conv_transpose_layer(
      net, x, kOut, {.kernel = kSide, .pad = 1, .first_bias = constant(0.25F)}, "up");
  net.loss("loss", reduce_mean(net.graph, mul(net.graph, y, target, "product"), {}, false));
}

TEST(EnlargingLayers, ATransposedConvolutionTrainsByItsDefinitionOnAnyReplicas) {
  const Dims of_x{kBatch, kIn, kHeight, kWidth}, of_y{kBatch, kOut, 2 * kHeight, 2 * kWidth};
  Values x = numbers(element_count(of_x), 1), target = numbers(element_count(of_y), 2);
  for (const int replicas : {1, 2, 4}) {
    SCOPED_TRACE(replicas);
    const TrainingModel model =
        build_data_parallel_model(all_ops(), enlarging_network, MomentumSgd{.momentum = 0},
                                  {.replicas = replicas,
                                   .scope = "cpu",
                                   .rules = {.weight_decay = 0, .bias_rate_factor = 1}});
    Session session(model, cpu_devices(replicas), all_kernels(), {.seed = 3, .threads = 1});
    session.initialise();
    const Values weight = read(session, "up_w"), bias = read(session, "up_b");
    ASSERT_EQ(weight.size(), static_cast<std::size_t>(kIn * kOut * kSide * kSide));
    EXPECT_EQ(bias, Values(kOut, 0.25F));

    const auto count = static_cast<double>(target.size());
    std::vector<double> y(target.size(), 0.25), of_weight(weight.size(), 0), of_bias(kOut, 0);
    each_product([&](int64_t from, int64_t w, int64_t to) {
      y[to] += static_cast<double>(x[from]) * weight[w];
      of_weight[w] += static_cast<double>(x[from]) * target[to] / count;
    });
    double loss = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      loss += y[i] * target[i] / count;
      of_bias[i / (4 * kHeight * kWidth) % kOut] += target[i] / count;
    }

    Feeds feeds(model);
    feeds.set("data", {{DType::float32, of_x}, x.data()});
    feeds.set("target", {{DType::float32, of_y}, target.data()});
    feeds.set(Role::rate, kLearning);
    EXPECT_NEAR(session.run_step(feeds, 0).loss(), loss, 1e-6);
    const Values weight_after = read(session, "up_w"), bias_after = read(session, "up_b");
    for (std::size_t i = 0; i < weight.size(); ++i)
      EXPECT_NEAR(weight_after[i], weight[i] - kLearning * of_weight[i], 1e-6) << i;
    for (std::size_t i = 0; i < bias.size(); ++i)
      EXPECT_NEAR(bias_after[i], bias[i] - kLearning * of_bias[i], 1e-6) << i;
  }
}

double deviation_of(const Values& values) {
  double squares = 0;
  for (const float value : values) squares += static_cast<double>(value) * value;
  return std::sqrt(squares / static_cast<double>(values.size()));
}

// Caffe2's MSRAFill divides by all elements but the second dimension's: C * kernel^2.
TEST(EnlargingLayers, FirstWeightsAreOfDetectronsFills) {
  const auto network = [](Net& net) {
    Value x = net.input("data", {DType::float32, {"N", 64, 2, 2}});
    x = conv_transpose_layer(net, x, 16, {.kernel = 4, .pad = 1}, "msra");
    x = conv_transpose_layer(net, x, 64, {.weight = gaussian(0.001F)}, "gauss");
    net.loss("loss", reduce_mean(net.graph, x, {}, false));
  };
  const TrainingModel model = build_data_parallel_model(all_ops(), network, MomentumSgd{}, {});
  Session session(model, cpu_devices(1), all_kernels(), {.seed = 3, .threads = 1});
  session.initialise();
  EXPECT_NEAR(deviation_of(read(session, "msra_w")), std::sqrt(2.0 / (64 * 16)), 0.001);
  EXPECT_NEAR(deviation_of(read(session, "gauss_w")), 0.001, 0.00005);
  EXPECT_EQ(read(session, "gauss_b"), Values(64, 0));
}

TEST(EnlargingLayers, ATransposedConvolutionOnTwoDimensionsIsNamed) {
  const auto network = [](Net& net) {
    conv_transpose_layer(net, net.input("data", {DType::float32, {"N", 12}}), 8, {}, "up1");
  };
  expect_error([&] { build_data_parallel_model(all_ops(), network, MomentumSgd{}, {}); }, "up1 (",
               "enlarging_layers_test.cc:",
               "the data of a convolution is [N,12], should be [batch, channels, height, width]");
}

// ---- bilinear enlargement
TEST(EnlargingLayers, TheBilinearFilterIsDetectrons) {
  // upsample_filt(4)
  const Values along{0.25F, 0.75F, 0.75F, 0.25F};
  const Values filter = bilinear_filter(2);
  ASSERT_EQ(filter.size(), 16u);
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(filter[i], along[i / 4] * along[i % 4]) << i;
  // upsample_filt(8)[0, 0] and [3, 4]
  EXPECT_EQ(bilinear_filter(4).at(0), 0.125F * 0.125F);
  EXPECT_EQ(bilinear_filter(4).at(3 * 8 + 4), 0.875F * 0.875F);
}

struct Predicted {
  std::vector<Literal> outputs;
  std::vector<std::string> trained;
  Values weight;  // of "up", if there is one
};

Predicted predicted(const ModelFn& network, const Dims& dims, Values images) {
  const TrainingModel model = build_data_parallel_model(all_ops(), network, MomentumSgd{}, {});
  Session session(model, cpu_devices(1), all_kernels(), {.seed = 3, .threads = 1});
  session.initialise();
  const Tensor feed{{DType::float32, dims}, images.data()};
  Predicted result;
  for (const Tensor& output : session.inference().run({&feed, 1}, session.run_options(0))) {
    const Values values(output.as<float>(), output.as<float>() + output.count());
    result.outputs.push_back(Literal::of<float>(values, output.desc.dims));
  }
  for (const Replicated& gradient : model.gradients) result.trained.push_back(gradient.name);
  if (model.find_state("up_w")) result.weight = read(session, "up_w");
  return result;
}

// Enlarges maps [2, 3, 5, 4] by the layer and by a resize.
Predicted enlarged(int64_t scale, const Values& maps) {
  const auto network = [&](Net& net) {
    Value x = net.input("data", {DType::float32, {2, 3, 5, 4}});
    x = conv_layer(net, x, 3, {.kernel = 1, .bias = false, .weight = constant(1)}, "mixed");
    const Value up = bilinear_layer(net, x, scale, "up");
    EXPECT_FALSE(net.fixed);
    if (net.training()) net.loss("loss", reduce_mean(net.graph, up, {}, false));
    net.output("layer", up);
    net.output("resized",
               resize_images(net.graph, x, 5 * scale, 4 * scale, ResizeMode::linear, "by_resize"));
  };
  return predicted(network, {2, 3, 5, 4}, maps);
}

TEST(EnlargingLayers, BilinearMapsAreAResizeInsideAndFadeAtTheBorder) {
  for (const int64_t scale : {2, 4}) {
    SCOPED_TRACE(scale);
    const Predicted found = enlarged(scale, numbers(2 * 3 * 5 * 4, 5));
    EXPECT_EQ(found.trained, (std::vector<std::string>{"mixed_w"}));
    ASSERT_EQ(found.outputs.size(), 2u);
    ASSERT_EQ(found.outputs[0].dims(), (Dims{2, 3, 5 * scale, 4 * scale}));
    const auto layer = found.outputs[0].values<float>(), resized = found.outputs[1].values<float>();
    int64_t inside = 0;
    for (int64_t i = 0; i < found.outputs[0].count(); ++i) {
      const int64_t x = i % (4 * scale), y = i / (4 * scale) % (5 * scale);
      if (std::min(x, y) < scale / 2 || x >= 4 * scale - scale / 2 || y >= 5 * scale - scale / 2)
        continue;
      ++inside;
      EXPECT_NEAR(layer[i], resized[i], 1e-5) << x << ", " << y;
    }
    EXPECT_EQ(inside, 2 * 3 * 4 * scale * 3 * scale);
    // No channel reaches another.
    const std::size_t filter = static_cast<std::size_t>(4 * scale * scale);
    for (std::size_t i = 0; i < found.weight.size(); ++i) {
      const std::size_t from = i / filter / 3, to = i / filter % 3;
      EXPECT_EQ(found.weight[i], from == to ? bilinear_filter(scale)[i % filter] : 0) << i;
    }
  }
  // A constant map: 3 channels of 1, mixed to 3.
  const auto flat = enlarged(2, Values(2 * 3 * 5 * 4, 1)).outputs[0];
  EXPECT_FLOAT_EQ(flat.values<float>()[0], 3 * 0.5625F);
  EXPECT_FLOAT_EQ(flat.values<float>()[3], 3 * 0.75F);
  EXPECT_FLOAT_EQ(flat.values<float>()[8 * 3 + 3], 3);
}

// The expected values are interpolate()'s, with modes bilinear and bicubic.
TEST(EnlargingLayers, ResizedImagesArePyTorchs) {
  const Values linear{1,    -0.875F, -0.125F,  3,       0.95F,  -0.51875F, 0.1F,
                      2.6F, 0.75F,   0.90625F, 1,       1,      0.55F,     2.33125F,
                      1.9F, -0.6F,   0.5F,     2.6875F, 2.125F, -1};
  const Values cubic{1.321895F,  -1.992648F, -0.870775F, 3.879021F, 1.136075F,
                     -1.078241F, -0.272763F, 2.972029F,  0.732056F, 0.909912F,
                     1.027466F,  1,          0.328036F,  2.898067F, 2.327696F,
                     -0.972031F, 0.142217F,  3.812473F,  2.925707F, -1.879021F};
  for (const Dim& batch : {Dim(1), Dim("N")}) {
    const auto network = [&](Net& net) {
      Value x = net.input("data", {DType::float32, {batch, 1, 2, 3}});
      x = conv_layer(net, x, 1, {.kernel = 1, .bias = false, .weight = constant(1)}, "same");
      if (net.training()) net.loss("loss", reduce_mean(net.graph, x, {}, false));
      net.output("linear", resize_images(net.graph, x, 5, 4, ResizeMode::linear, "a"));
      net.output("cubic", resize_images(net.graph, x, 5, 4, ResizeMode::cubic, "b"));
    };
    const auto found = predicted(network, {1, 1, 2, 3}, {1, -2, 3, 0.5F, 4, -1}).outputs;
    for (std::size_t i = 0; i < 20; ++i) {
      EXPECT_NEAR(found.at(0).values<float>()[i], linear[i], 1e-5) << i;
      EXPECT_NEAR(found.at(1).values<float>()[i], cubic[i], 1e-5) << i;
    }
  }
}

TEST(EnlargingLayers, AnOddScaleIsNamed) {
  for (const int64_t scale : {3, 0, -2}) {
    const auto network = [&](Net& net) {
      bilinear_layer(net, net.input("data", {DType::float32, {"N", 2, 3, 3}}), scale, "up2");
    };
    expect_error([&] { build_data_parallel_model(all_ops(), network, MomentumSgd{}, {}); }, "up2 (",
                 join("maps are enlarged ", scale, " times, should be an even number"));
  }
}

}  // namespace
}  // namespace lockstep::testing
