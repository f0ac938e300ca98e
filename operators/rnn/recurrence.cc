// SPDX-License-Identifier: Apache-2.0
#include "operators/rnn/recurrence.h"

#include "operators/rnn/activations.h"

namespace lockstep {

Cell cell_of(std::string_view type) {
  if (type.starts_with("LSTM")) return Cell::lstm;
  return type.starts_with("GRU") ? Cell::gru : Cell::rnn;
}

RecurrentAttrs read_recurrent(Cell cell, AttributeReader reader) {
  RecurrentAttrs attrs;
  attrs.direction = reader.text("direction", attrs.direction);
  check(attrs.direction == "forward" || attrs.direction == "reverse" ||
            attrs.direction == "bidirectional",
        "direction is '", attrs.direction, "', should be forward, reverse or bidirectional");
  if (reader.has("hidden_size")) {
    attrs.hidden = reader.integer("hidden_size", 0);
    check(attrs.hidden > 0 && attrs.hidden < (1 << 30), "hidden_size is ", attrs.hidden);
  }
  const int64_t layout = reader.integer("layout", 0);
  check(layout == 0 || layout == 1, "layout is ", layout, ", should be 0 or 1");
  attrs.batch_first = layout == 1;
  attrs.clip = reader.number("clip", attrs.clip);
  check(attrs.clip > 0, "clip is ", attrs.clip, ", should be more than 0");
  if (cell == Cell::lstm) attrs.input_forget = reader.integer("input_forget", 0) != 0;
  if (cell == Cell::gru) attrs.linear_before_reset = reader.integer("linear_before_reset", 0) != 0;
  attrs.activations = reader.text("activations", "");
  attrs.alphas = reader.numbers("activation_alpha");
  attrs.betas = reader.numbers("activation_beta");
  reader.done();
  recurrent_activations(cell, attrs);  // throws for unknown activations
  return attrs;
}

Attributes write_recurrent(Cell cell, const RecurrentAttrs& attrs) {
  const RecurrentAttrs usual;
  Attributes written{{"direction", attrs.direction}};
  if (attrs.hidden > 0) written.push_back({"hidden_size", attrs.hidden});
  if (attrs.batch_first) written.push_back({"layout", int64_t{1}});
  if (attrs.clip != usual.clip) written.push_back({"clip", attrs.clip});
  if (cell == Cell::lstm && attrs.input_forget) written.push_back({"input_forget", int64_t{1}});
  if (cell == Cell::gru && attrs.linear_before_reset)
    written.push_back({"linear_before_reset", int64_t{1}});
  if (!attrs.activations.empty()) written.push_back({"activations", attrs.activations});
  if (!attrs.alphas.empty()) written.push_back({"activation_alpha", attrs.alphas});
  if (!attrs.betas.empty()) written.push_back({"activation_beta", attrs.betas});
  return written;
}

}  // namespace lockstep
