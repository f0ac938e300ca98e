// SPDX-License-Identifier: Apache-2.0
// Networks by name. A model is a function that writes a Net; its options are a struct.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/imported.h"
#include "lockstep/losses.h"
#include "lockstep/net.h"

namespace lockstep {

struct ImageShape {
  int64_t channels = 1;
  int64_t height = 28;
  int64_t width = 28;
};

struct ClassifierOptions {
  ImageShape image;
  std::optional<ByteScale> bytes = {};  // if set, images are fed as bytes and normalised by it
  int64_t classes = 10;
  std::vector<int64_t> hidden = {256, 128};  // mlp only: width of each hidden layer
  // resnets with bottlenecks: the convolution in which a block halves the image. true: the first
  // 1x1; false: the 3x3.
  bool stride_in_1x1 = false;
  bool zero_init_gamma = true;  // resnets: blocks start as the identity
};

// LeCun's network in Caffe2's variant: two convolutions with max pooling, two fully connected
// layers.
ModelFn lenet(const ClassifierOptions& options = {});
// Fully connected layers with ReLU in between.
ModelFn mlp(const ClassifierOptions& options = {});
// He et al. 2015, parameters named as in torchvision; resnext50_32x4d: Xie et al. 2016.
ModelFn resnet18(const ClassifierOptions& options);
ModelFn resnet34(const ClassifierOptions& options);
ModelFn resnet50(const ClassifierOptions& options);
ModelFn resnet101(const ClassifierOptions& options);
ModelFn resnet152(const ClassifierOptions& options);
ModelFn resnext50_32x4d(const ClassifierOptions& options);
// keras.applications' ResNet50: strides in 1x1, convolutions with bias, names and order of its 320
// variables.
ModelFn resnet50_keras(const ClassifierOptions& options);
// Simonyan and Zisserman 2014, without batch normalisation; parameters named as in torchvision.
ModelFn vgg16(const ClassifierOptions& options);
// Sandler et al. 2018, parameters named as in torchvision.
ModelFn mobilenet_v2(const ClassifierOptions& options);

struct LanguageOptions {
  int64_t characters = 256;  // of the vocabulary
  int64_t embedding = 64;    // width
  int64_t hidden = 256;      // units of each layer
  int64_t layers = 1;
  int64_t length = 128;  // characters of a training row
  float dropout = 0;     // after each layer, in training
};
// Recurrent networks that predict the next character. Training: inputs `data` and `label`, int64
// [N, length]; a label of -1 does not count. Prediction: inputs `data` [N, T] of any length and the
// states that each layer continues from, zeros at first: `h1` and, for an LSTM, `c1`, [1, N,
// hidden]; outputs `prob` [N, T, characters] and `h1_last`, `c1_last`, .. Names: char_lstm,
// char_gru, char_rnn; throws for any other name, with the nearest one.
ModelFn language_model(const std::string& name, const LanguageOptions& options);
std::vector<std::string> language_model_names();

// The model of one of model_names(), as in `lockstep build`; throws for any other name, with the
// nearest one.
ModelFn model_named(const std::string& name, const ClassifierOptions& options);
// The published options: 28 x 28 digits for the small networks, ImageNet for the others.
ClassifierOptions published_options(const std::string& name);
std::vector<std::string> model_names();

// ---- networks that choose actions and predict returns

inline constexpr const char* kObservation = "observation";  // the name of the input

struct ActorCriticOptions {
  int64_t observations = 4;  // values of one observation
  int64_t actions = 2;
  std::vector<int64_t> hidden = {64, 64};  // width of each layer, for policy and value
  PolicyLoss loss = {};
};

// Policy and value have separate layers, with tanh. Input kObservation [N, observations].
// choose_actions() in losses.h lists the other inputs, losses and outputs.
ModelFn actor_critic(const ActorCriticOptions& options);

}  // namespace lockstep
