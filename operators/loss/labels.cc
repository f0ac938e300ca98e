// SPDX-License-Identifier: Apache-2.0
#include "operators/loss/labels.h"

#include "lockstep/error.h"
#include "lockstep/graph.h"
#include "runtime/finite.h"

namespace lockstep {
LabelErrors::LabelErrors(const KernelRequest& request, std::size_t labels, int64_t classes)
    : node_(request.node.description()),
      operand_(request.node.graph().name(request.node.inputs()[labels])),
      dims_(request.in[labels].dims),
      classes_(classes) {}

std::string LabelErrors::text(int64_t label, int64_t place) const {
  // Labels of positions in an image have several dimensions.
  const std::string where =
      dims_.size() < 2 ? join("of row ", place) : "at " + text_of_place(dims_, place);
  return join("label ", label, " ", where, " of '", operand_, "' is outside 0..", classes_ - 1,
              " (and is not ignored)");
}

void LabelErrors::raise(int64_t label, int64_t place) const {
  fail(node_, ": ", text(label, place));
}

}  // namespace lockstep
