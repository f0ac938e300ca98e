// What the parameters of a layer are called after the layer: each family of models keeps the names
// that its published weights have, so that those load by name.
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
