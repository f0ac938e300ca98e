// SPDX-License-Identifier: Apache-2.0
// Recurrent operators as ONNX describes them, computed example by example and number by number.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/op_case.h"

namespace lockstep::testing {

using Curve = std::function<double(double)>;

struct NaiveRecurrence {
  std::string cell;  // RNN, GRU, LSTM
  std::string direction = "forward";
  bool batch_first = false;
  double clip = std::numeric_limits<double>::infinity();
  bool input_forget = false;
  bool linear_before_reset = false;
  std::vector<Curve> curves = {};  // of all directions; empty: Sigmoid and Tanh
};

// Computes Y, Y_h and, for an LSTM, Y_c. Operands are ONNX's; omitted operands are empty.
Reference naive_recurrence(const NaiveRecurrence& how);

}  // namespace lockstep::testing
