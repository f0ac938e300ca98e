// SPDX-License-Identifier: Apache-2.0
// Attributes and operand indices of recurrent operators; the same on every device.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/attributes.h"
#include "runtime/state/session_members.h"

namespace lockstep {

enum class Cell { rnn, gru, lstm };

// The cell of RNN, RNNTrain, RNNGrad and so on.
Cell cell_of(std::string_view type);
constexpr const char* name_of(Cell cell) {
  return cell == Cell::rnn ? "RNN" : cell == Cell::gru ? "GRU" : "LSTM";
}
// The blocks of rows in W and R: GRU's z, r, h; LSTM's i, o, f, c.
constexpr int64_t gates_of(Cell cell) { return cell == Cell::rnn ? 1 : cell == Cell::gru ? 3 : 4; }
// The activations of a direction: f; f, g; f, g, h.
constexpr std::size_t activations_of(Cell cell) {
  return cell == Cell::rnn ? 1 : cell == Cell::gru ? 2 : 3;
}

struct RecurrentAttrs {
  std::string direction = "forward";  // reverse, bidirectional
  int64_t hidden = 0;                 // 0: derived from R's shape
  bool batch_first = false;           // ONNX's layout 1
  // Limits the arguments of the gates' activations to +-clip.
  float clip = std::numeric_limits<float>::infinity();
  bool input_forget = false;         // LSTM: the forget gate is 1 - i
  bool linear_before_reset = false;  // GRU: r scales the product with R, as in PyTorch
  // The activations of each direction, joined by commas; "": the cell's defaults. The parameters
  // belong, in order, to the activations that have a parameter; missing parameters have defaults.
  std::string activations = "";
  std::vector<float> alphas = {}, betas = {};

  int64_t directions() const { return direction == "bidirectional" ? 2 : 1; }
  bool reversed(int64_t d) const { return d == 1 || direction == "reverse"; }
};
// Throws for values that no recurrent operator supports.
RecurrentAttrs read_recurrent(Cell cell, AttributeReader reader);
Attributes write_recurrent(Cell cell, const RecurrentAttrs& attrs);

// The operands of every form; the last two belong to an LSTM.
struct RecurrentIn {
  enum : std::size_t { x, w, r, b, lengths, h, c, peepholes };
};
constexpr std::size_t operands_of(Cell cell) { return cell == Cell::lstm ? 8 : 6; }

// The results: y, the last states, and in the form for training
//   sums [directions, rows of x, gates * hidden]  the arguments of the gates' activations
//   kept [directions, rows of x, hidden]          LSTM: its cells; GRU: the vector r * state that R
//                                                 multiplies, or with linear_before_reset R's
//                                                 product, which r scales
struct RecurrentOut {
  enum : std::size_t { y, last_h, last_c };
};
constexpr std::size_t states_of(Cell cell) { return cell == Cell::lstm ? 2 : 1; }
constexpr std::size_t sums_of(Cell cell) { return 1 + states_of(cell); }
constexpr std::size_t kept_of(Cell cell) { return sums_of(cell) + 1; }
constexpr bool keeps(Cell cell) { return cell != Cell::rnn; }
constexpr std::size_t trained_results_of(Cell cell) {
  return kept_of(cell) + (keeps(cell) ? 1 : 0);
}

// The operands of a gradient: the operands of the node, then y, sums and kept, then the gradients
// of y and of the last states.
struct RecurrentGradIn {
  std::size_t y, sums, kept, dy, dlast_h, dlast_c, count;

  explicit constexpr RecurrentGradIn(Cell cell)
      : y(operands_of(cell)),
        sums(y + 1),
        kept(y + 2),
        dy(kept + (keeps(cell) ? 1 : 0)),
        dlast_h(dy + 1),
        dlast_c(dy + 2),
        count(dlast_h + states_of(cell)) {}
};
// The results of a gradient: the gradients of the operands, without the lengths.
struct RecurrentGradOut {
  enum : std::size_t { dx, dw, dr, db, dh, dc, dpeepholes };
};
constexpr std::size_t gradients_of(Cell cell) { return operands_of(cell) - 1; }

}  // namespace lockstep
