// SPDX-License-Identifier: Apache-2.0
#include "graph/flow/sequences.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace lockstep {
namespace {

constexpr int64_t kMost = int64_t{1} << 40;       // elements along one axis
constexpr int64_t kMostParts = int64_t{1} << 16;  // of one sequence

struct Range {
  int64_t start, size;
};

FlowValue tensor_of(NewerNode& node) { return {.tensor = node.result()}; }

FlowValue sequence_of(Sequence sequence) {
  return {.sequence = std::make_shared<const Sequence>(std::move(sequence))};
}

const Sequence& sequence_in(NewerNode& node, const std::vector<FlowValue>& inputs) {
  if (inputs.empty()) fail(node.description(), ": has no operand or no result");
  if (inputs[0].tensor)
    node.refuse("its operand '", node.graph().name(inputs[0].tensor), "' is not a sequence");
  if (!inputs[0].sequence) fail(node.description(), ": its sequence is an empty optional");
  return *inputs[0].sequence;
}

int64_t constant_position(NewerNode& node, std::size_t operand) {
  if (!node.input(operand)) fail(node.description(), ": has no position");
  const std::vector<int64_t> position = node.integers(operand, "position");
  if (position.size() != 1) fail(node.description(), ": has ", position.size(), " positions");
  return position[0];
}

// Returns a position from a constant operand. `last` is the largest position.
int64_t position_in(NewerNode& node, std::size_t operand, int64_t parts, int64_t last) {
  const int64_t at = constant_position(node, operand);
  if (at < -parts || at > last)
    fail(node.description(), ": position ", at, " is outside of ", parts, " parts");
  return at < 0 ? at + parts : at;
}

Value part_of(NewerNode& node, const Split& split, const Range& range, bool named) {
  const std::vector<Value> operands{split.data, node.vector({range.start}),
                                    node.vector({range.start + range.size}),
                                    node.vector({split.axis})};
  auto write = [&](const char* type, const std::vector<Value>& from) {
    if (!named) return node.add(type, from);
    node.become(type, from);
    return node.result();
  };
  if (!split.squeezed) return write("Slice", operands);
  return write("Squeeze", {node.add("Slice", operands), node.vector({split.axis})});
}

// The part at a constant position of parts of one size, out of a whole that may be unknown.
Range equal_part(NewerNode& node, const Split& split, int64_t at) {
  const int64_t size = split.sizes[0];
  const Dim whole = node.graph().shape(split.data)[split.axis];
  if (at < 0 && whole.known() && size >= 1) at += (whole.size() + size - 1) / size;
  if (at < 0) node.refuse("position ", at, " from the end of parts of one size is not supported");
  if (size < 1 || (whole.known() && at > (whole.size() - 1) / size))
    fail(node.description(), ": position ", at, " is outside of parts of ", size, " out of ",
         node.graph().type(split.data));
  if (at > kMost / size) node.refuse("position ", at, " of parts of ", size, " is not supported");
  return {at * size, size};
}

std::vector<Range> ranges_of(NewerNode& node, const Split& split) {
  std::vector<Range> ranges;
  if (!split.one_for_all) {
    int64_t start = 0;
    for (int64_t size : split.sizes) {
      ranges.push_back({start, size});
      start += size;
    }
    return ranges;
  }
  const int64_t size = split.sizes[0];
  const Dim whole = node.graph().shape(split.data)[split.axis];
  if (!whole.known())
    node.refuse("the number of parts of '", node.graph().name(split.data), "' ",
                node.graph().type(split.data), " is not known");
  if (size < 1 || whole.size() / size > kMostParts)
    node.refuse("parts of ", size, " out of ", whole.size(), " are not supported");
  for (int64_t start = 0; start < whole.size(); start += size)
    ranges.push_back({start, std::min(size, whole.size() - start)});
  return ranges;
}

FlowValue split_to_sequence(NewerNode& node, const std::vector<FlowValue>&) {
  Split split{.data = node.input(0), .sizes = {1}, .one_for_all = true};
  split.axis = normal_axis(node, node.attributes().integer("axis", 0), node.shape(0).size());
  if (const Value sizes = node.input(1)) {
    split.sizes = node.integers(1, "sizes");
    split.one_for_all = node.graph().shape(sizes).empty();
    for (int64_t size : split.sizes)
      if (size < 0 || size > kMost) fail(node.description(), ": a part has ", size, " elements");
    if (split.one_for_all && split.sizes.size() != 1) fail(node.description(), ": has no size");
  } else {
    split.squeezed = node.attributes().integer("keepdims", 1) == 0;
  }
  return sequence_of({.split = std::move(split)});
}

FlowValue sequence_at(NewerNode& node, const std::vector<FlowValue>& inputs) {
  const Sequence& sequence = sequence_in(node, inputs);
  if (sequence.split && sequence.split->one_for_all) {
    const int64_t at = constant_position(node, 1);
    part_of(node, *sequence.split, equal_part(node, *sequence.split, at), true);
    return tensor_of(node);
  }
  if (sequence.split) {
    const std::vector<Range> ranges = ranges_of(node, *sequence.split);
    const auto parts = static_cast<int64_t>(ranges.size());
    part_of(node, *sequence.split, ranges[position_in(node, 1, parts, parts - 1)], true);
    return tensor_of(node);
  }
  const std::vector<Value> all = parts_of(node, sequence);
  const auto parts = static_cast<int64_t>(all.size());
  return {.tensor = all[position_in(node, 1, parts, parts - 1)]};
}

FlowValue sequence_empty(NewerNode&, const std::vector<FlowValue>&) { return sequence_of({}); }

FlowValue sequence_construct(NewerNode& node, const std::vector<FlowValue>& inputs) {
  Sequence made;
  for (const FlowValue& input : inputs) {
    if (!input.tensor) fail(node.description(), ": an operand is not a tensor");
    made.parts.push_back(input.tensor);
  }
  return sequence_of(std::move(made));
}

FlowValue sequence_insert(NewerNode& node, const std::vector<FlowValue>& inputs) {
  Sequence made{.parts = parts_of(node, sequence_in(node, inputs))};
  const auto parts = static_cast<int64_t>(made.parts.size());
  if (inputs.size() < 2 || !inputs[1].tensor) fail(node.description(), ": needs a tensor");
  if (parts >= kMostParts) node.refuse("more than ", kMostParts, " parts are not supported");
  const bool given = node.input(2).id >= 0;
  const int64_t at = given ? position_in(node, 2, parts, parts) : parts;
  made.parts.insert(made.parts.begin() + at, inputs[1].tensor);
  return sequence_of(std::move(made));
}

FlowValue sequence_erase(NewerNode& node, const std::vector<FlowValue>& inputs) {
  Sequence made{.parts = parts_of(node, sequence_in(node, inputs))};
  const auto parts = static_cast<int64_t>(made.parts.size());
  const int64_t at = node.input(1) ? position_in(node, 1, parts, parts - 1) : parts - 1;
  if (parts == 0) fail(node.description(), ": the sequence is empty");
  made.parts.erase(made.parts.begin() + at);
  return sequence_of(std::move(made));
}

FlowValue sequence_length(NewerNode& node, const std::vector<FlowValue>& inputs) {
  const Sequence& sequence = sequence_in(node, inputs);
  const std::size_t count = sequence.joined  ? parts_of(node, sequence).size()
                            : sequence.split ? ranges_of(node, *sequence.split).size()
                                             : sequence.parts.size();
  return {.tensor = node.constant(Literal::scalar(static_cast<int64_t>(count)))};
}

FlowValue concat_from_sequence(NewerNode& node, const std::vector<FlowValue>& inputs) {
  const Sequence& sequence = sequence_in(node, inputs);
  auto attributes = node.attributes();
  const bool stacked = attributes.integer("new_axis", 0) != 0;
  const int64_t axis = attributes.integer("axis", 0);
  if (sequence.joined && axis == 0 && stacked != sequence.kept_axis)
    return {.tensor = sequence.joined};
  return {.tensor = joined_parts(node, parts_of(node, sequence), axis, stacked)};
}

FlowValue optional(NewerNode&, const std::vector<FlowValue>& inputs) {
  if (inputs.empty()) return {.absent = true};
  return inputs[0];
}

FlowValue optional_has_element(NewerNode& node, const std::vector<FlowValue>& inputs) {
  return {.tensor = node.constant(Literal::scalar(!inputs.empty() && !inputs[0].absent))};
}

FlowValue optional_get_element(NewerNode& node, const std::vector<FlowValue>& inputs) {
  if (inputs.empty() || inputs[0].absent) fail(node.description(), ": there is no element");
  return inputs[0];
}

using Rule = FlowValue (*)(NewerNode&, const std::vector<FlowValue>&);

const std::map<std::string, Rule>& rules() {
  static const std::map<std::string, Rule> all{
      {"SplitToSequence", split_to_sequence},
      {"SequenceAt", sequence_at},
      {"SequenceEmpty", sequence_empty},
      {"SequenceConstruct", sequence_construct},
      {"SequenceInsert", sequence_insert},
      {"SequenceErase", sequence_erase},
      {"SequenceLength", sequence_length},
      {"ConcatFromSequence", concat_from_sequence},
      {"Optional", optional},
      {"OptionalHasElement", optional_has_element},
      {"OptionalGetElement", optional_get_element},
  };
  return all;
}

}  // namespace

bool is_of_sequences(const std::string& type) { return rules().count(type) > 0; }

FlowValue of_sequences(NewerNode& node, const std::vector<FlowValue>& inputs) {
  if (!node.wants(0)) fail(node.description(), ": has no operand or no result");
  return rules().at(node.type())(node, inputs);
}

std::vector<Value> parts_of(NewerNode& node, const Sequence& sequence) {
  if (sequence.joined) node.refuse("the number of the sequence's parts is not known");
  if (!sequence.split) return sequence.parts;
  std::vector<Value> parts;
  for (const Range& range : ranges_of(node, *sequence.split))
    parts.push_back(part_of(node, *sequence.split, range, false));
  return parts;
}

Value joined_parts(NewerNode& node, const std::vector<Value>& parts, int64_t axis, bool stacked,
                   int output) {
  if (parts.empty()) node.refuse("an empty sequence cannot be joined");
  std::vector<Value> joined = parts;
  if (stacked)
    for (Value& part : joined) part = node.add("Unsqueeze", {part, node.vector({axis})});
  node.become("Concat", joined, {{"axis", axis}}, output);
  return node.result(output);
}

}  // namespace lockstep
