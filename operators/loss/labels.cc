#include "operators/loss/labels.h"

#include <algorithm>

#include "graph/error.h"
#include "graph/graph.h"

namespace lockstep {
namespace {

// "of row 3"; of labels for many places of a picture "at [3, 0, 17]".
std::string text_of_place(int64_t place, const Dims& dims) {
  if (dims.size() < 2) return join("of row ", place);
  Dims at(dims.size());
  for (std::size_t i = dims.size(); i-- > 0; place /= std::max<int64_t>(dims[i], 1))
    at[i] = place % std::max<int64_t>(dims[i], 1);
  std::string text;
  for (const int64_t index : at) text += (text.empty() ? "" : ", ") + std::to_string(index);
  return "at [" + text + "]";
}

}  // namespace

LabelErrors::LabelErrors(const KernelRequest& request, std::size_t labels, int64_t classes)
    : node_(request.node.description()),
      operand_(request.node.graph().name(request.node.inputs()[labels])),
      dims_(request.in[labels].dims),
      classes_(classes) {}

std::string LabelErrors::text(int64_t label, int64_t place) const {
  return join("label ", label, " ", text_of_place(place, dims_), " of '", operand_,
              "' is outside 0..", classes_ - 1, " (and is not ignored)");
}

void LabelErrors::raise(int64_t label, int64_t place) const {
  fail(node_, ": ", text(label, place));
}

}  // namespace lockstep
