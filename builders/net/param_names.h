// SPDX-License-Identifier: Apache-2.0
// Names of a layer's parameters. Each family of models keeps its published weights' names, so that
// those load by name.
#pragma once

namespace lockstep {

struct ParamNames {
  const char* weight;
  const char* bias;
  const char* scale;   // of a normalisation
  const char* offset;  // of a normalisation
  const char* mean;
  const char* variance;
};

inline constexpr ParamNames kCaffe2Names{"_w", "_b", "_s", "_b", "_rm", "_riv"};
inline constexpr ParamNames kPyTorchNames{".weight", ".bias",         ".weight",
                                          ".bias",   ".running_mean", ".running_var"};
inline constexpr ParamNames kKerasNames{"/kernel", "/bias",        "/gamma",
                                        "/beta",   "/moving_mean", "/moving_variance"};

}  // namespace lockstep
