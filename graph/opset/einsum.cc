// SPDX-License-Identifier: Apache-2.0
// Einsum as products of two operands at a time, from left to right. A product becomes a MatMul: the
// letters that both operands have and that are needed later are its batch, and the other common
// letters are summed over. A letter is summed over as soon as no further operand has it.
#include <algorithm>
#include <map>

#include "graph/opset/equation.h"
#include "graph/opset/rewrites.h"

namespace lockstep {
namespace {

using Labels = std::vector<EinsumLabel>;

bool has(const Labels& labels, EinsumLabel label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

int64_t place_of(const Labels& labels, EinsumLabel label) {
  return std::find(labels.begin(), labels.end(), label) - labels.begin();
}

Labels joined(std::initializer_list<Labels> parts) {
  Labels all;
  for (const Labels& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

// A value and the label of each of its dimensions.
struct Factor {
  Value value;
  Labels labels;
};

// Neighbouring dimensions [begin, end) of `of`, which become one dimension. A dimension of size 1
// if there are none.
struct LetterGroup {
  Value of;
  std::size_t begin = 0, end = 0;
};

class Einsum {
 public:
  explicit Einsum(NewerNode& node) : node_(node) {
    std::vector<std::size_t> dims;
    for (std::size_t i = 0; node.input(i); ++i) dims.push_back(node.shape(i).size());
    try {
      equation_ = read_equation(node.attributes().text("equation", ""), dims);
    } catch (const Error& error) {
      fail(node.description(), ": ", error.what());
    }
    for (std::size_t i = 0; i < dims.size(); ++i) {
      factors_.push_back({node.input(i), equation_.operands[i]});
      check_sizes(factors_.back());
    }
  }

  void write() {
    Factor all = without_repeats(factors_[0]);
    for (std::size_t i = 1; i < factors_.size(); ++i)
      all = product(all, without_repeats(factors_[i]), needed_after(i));
    all = summed(all, equation_.result);
    if (all.labels == equation_.result) return node_.become("Identity", {all.value});
    node_.become("Transpose", {all.value}, {{"perm", order_of(all.labels, equation_.result)}});
  }

 private:
  Dim size(const Factor& factor, EinsumLabel label) const {
    return node_.graph().shape(factor.value)[place_of(factor.labels, label)];
  }

  // A size of 1 is repeated, as if operands were broadcast.
  void check_sizes(const Factor& factor) {
    const Shape shape = node_.graph().shape(factor.value);
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (!shape[d].known() || shape[d].size() == 1) continue;
      const auto [known, added] = sizes_.emplace(factor.labels[d], shape[d].size());
      if (!added && known->second != shape[d].size())
        fail(node_.description(), ": ", text_of_label(factor.labels[d]), " has the sizes ",
             known->second, " and ", shape[d].size());
    }
  }

  // The labels of the result and of all operands after operand i.
  Labels needed_after(std::size_t i) const {
    Labels needed = equation_.result;
    for (++i; i < factors_.size(); ++i) needed = joined({needed, factors_[i].labels});
    return needed;
  }

  static std::vector<int64_t> order_of(const Labels& from, const Labels& to) {
    std::vector<int64_t> order;
    for (EinsumLabel label : to) order.push_back(place_of(from, label));
    return order;
  }

  Factor ordered(const Factor& factor, const Labels& labels) {
    if (factor.labels == labels) return factor;
    return {node_.add("Transpose", {factor.value}, {{"perm", order_of(factor.labels, labels)}}),
            labels};
  }

  // Takes the diagonal of dimensions with one letter: as one dimension, it has every (n+1)-th
  // element.
  Factor without_repeats(Factor factor) {
    for (std::size_t i = 0; i < factor.labels.size(); ++i) {
      const EinsumLabel label = factor.labels[i];
      const auto from = factor.labels.begin() + static_cast<std::ptrdiff_t>(i) + 1;
      const auto again = std::find(from, factor.labels.end(), label);
      if (again == factor.labels.end()) continue;
      const int64_t j = again - factor.labels.begin();
      const Shape shape = node_.graph().shape(factor.value);
      const Dim n = shape[i].known() ? shape[i] : shape[j];
      if (!n.known())
        node_.refuse("takes a diagonal along ", text_of_label(label), ", whose size is not known");
      if (shape[j].known() && shape[j] != n)
        fail(node_.description(), ": takes a diagonal along ", text_of_label(label), " of sizes ",
             n.size(), " and ", shape[j].size());
      Labels rest;
      std::vector<int64_t> order, target;
      for (std::size_t d = 0; d < shape.size(); ++d) {
        if (d == i || static_cast<int64_t>(d) == j) continue;
        rest.push_back(factor.labels[d]);
        order.push_back(static_cast<int64_t>(d));
        target.push_back(0);
      }
      const auto axis = static_cast<int64_t>(order.size());
      order.push_back(static_cast<int64_t>(i));
      order.push_back(j);
      target.push_back(n.size() * n.size());
      const Value last = node_.add("Transpose", {factor.value}, {{"perm", order}});
      const Value flat = node_.add("Reshape", {last, node_.vector(target)});
      const Value diagonal =
          node_.add("Slice", {flat, node_.vector({0}), node_.vector({n.size() * n.size()}),
                              node_.vector({axis}), node_.vector({n.size() + 1})});
      return without_repeats({diagonal, joined({rest, {label}})});
    }
    return factor;
  }

  // Sums over the labels that are not in `kept`.
  Factor summed(const Factor& factor, const Labels& kept) {
    Labels left;
    std::vector<int64_t> axes;
    for (std::size_t d = 0; d < factor.labels.size(); ++d) {
      if (has(kept, factor.labels[d]))
        left.push_back(factor.labels[d]);
      else
        axes.push_back(static_cast<int64_t>(d));
    }
    if (axes.empty()) return factor;
    return {node_.add("ReduceSum", {factor.value, node_.vector(axes)}, {{"keepdims", int64_t{0}}}),
            left};
  }

  // Removes dimensions of size 1 that the other factor has with another size.
  Factor without_ones(const Factor& factor, const Factor& other) {
    Labels left;
    std::vector<int64_t> axes;
    for (EinsumLabel label : factor.labels) {
      if (size(factor, label) == Dim(1) && has(other.labels, label) && size(other, label) != Dim(1))
        axes.push_back(place_of(factor.labels, label));
      else
        left.push_back(label);
    }
    if (axes.empty()) return factor;
    return {node_.add("Squeeze", {factor.value, node_.vector(axes)}), left};
  }

  bool is_empty(const Factor& factor) const {
    const Shape shape = node_.graph().shape(factor.value);
    return std::find(shape.begin(), shape.end(), Dim(0)) != shape.end();
  }

  Factor product(const Factor& left, const Factor& right, const Labels& needed) {
    Factor a = without_ones(left, right), b = without_ones(right, left);
    a = summed(a, joined({b.labels, needed}));
    b = summed(b, joined({a.labels, needed}));
    Labels batch, common, of_a, of_b;
    for (EinsumLabel label : a.labels)
      (!has(b.labels, label) ? of_a : has(needed, label) ? batch : common).push_back(label);
    for (EinsumLabel label : b.labels)
      if (!has(a.labels, label)) of_b.push_back(label);
    const bool by_elements =
        common.empty() || !is_floating(node_.dtype()) || is_empty(a) || is_empty(b);
    return by_elements ? summed(element_product(a, b, batch, of_a, of_b, common), needed)
                       : matrix_product(a, b, batch, of_a, of_b, common);
  }

  Factor element_product(const Factor& a, const Factor& b, const Labels& batch, const Labels& of_a,
                         const Labels& of_b, const Labels& common) {
    const Labels all = joined({batch, of_a, of_b, common});
    const auto spread = [&](const Factor& factor, const Labels& labels) {
      const Value value = ordered(factor, labels).value;
      std::vector<int64_t> ones;
      for (std::size_t d = 0; d < all.size(); ++d)
        if (!has(labels, all[d])) ones.push_back(static_cast<int64_t>(d));
      return ones.empty() ? value : node_.add("Unsqueeze", {value, node_.vector(ones)});
    };
    return {node_.add("Mul", {spread(a, joined({batch, of_a, common})),
                              spread(b, joined({batch, of_b, common}))}),
            all};
  }

  // [batch, of a, common] x [batch, common, of b]
  Factor matrix_product(const Factor& a, const Factor& b, const Labels& batch, const Labels& of_a,
                        const Labels& of_b, const Labels& common) {
    const Value x = ordered(a, joined({batch, of_a, common})).value;
    const Value y = ordered(b, joined({batch, common, of_b})).value;
    const std::size_t n = batch.size();
    // All dimensions of a may be rows of one matrix, if b is a single matrix.
    const bool rows = n == 0 && !of_a.empty();
    std::vector<LetterGroup> left = each(x, 0, rows ? of_a.size() : n), right = each(y, 0, n);
    if (!rows) left.push_back({x, n, n + of_a.size()});
    left.push_back({x, n + of_a.size(), n + of_a.size() + common.size()});
    right.push_back({y, n, n + common.size()});
    right.push_back({y, n + common.size(), n + common.size() + of_b.size()});
    const Value z = node_.add("MatMul", {reshaped(x, left), reshaped(y, right)});
    std::vector<LetterGroup> result = each(z, 0, n);
    for (const LetterGroup& group : each(x, n, n + of_a.size())) result.push_back(group);
    for (const LetterGroup& group : each(y, n + common.size(), n + common.size() + of_b.size()))
      result.push_back(group);
    return {reshaped(z, result), joined({batch, of_a, of_b})};
  }

  static std::vector<LetterGroup> each(Value of, std::size_t begin, std::size_t end) {
    std::vector<LetterGroup> groups;
    for (std::size_t d = begin; d < end; ++d) groups.push_back({of, d, d + 1});
    return groups;
  }

  // The number of elements of a group's dimensions; "?" if a size is not known.
  Dim size_of(const LetterGroup& group) const {
    const Shape shape = node_.graph().shape(group.of);
    int64_t size = 1;
    for (std::size_t d = group.begin; d < group.end; ++d) {
      if (!shape[d].known()) return group.end == group.begin + 1 ? shape[d] : Dim("?");
      size *= shape[d].size();
    }
    return size;
  }

  // The number of elements of a group's dimensions, computed by the graph.
  Value computed_size(const LetterGroup& group) {
    if (const Dim size = size_of(group); size.known()) return node_.vector({size.size()});
    const Value sizes = node_.add(
        "Slice", {node_.shape_of(group.of), node_.vector({static_cast<int64_t>(group.begin)}),
                  node_.vector({static_cast<int64_t>(group.end)})});
    if (group.end == group.begin + 1) return sizes;
    return node_.add("ReduceProd", {sizes},
                     {{"axes", std::vector<int64_t>{0}}, {"keepdims", int64_t{1}}});
  }

  // x with one dimension for each group.
  Value reshaped(Value x, const std::vector<LetterGroup>& groups) {
    const Shape shape = node_.graph().shape(x);
    std::vector<int64_t> target;
    std::size_t kept = 0;
    int open = 0;
    for (const LetterGroup& group : groups) {
      const Dim size = size_of(group);
      const bool itself = group.of == x && group.begin == kept && group.end == kept + 1;
      const bool same = kept == target.size() && kept < shape.size() &&
                        (itself || (size == shape[kept] && size != Dim("?")));
      if (same) ++kept;
      if (!same && !size.known()) ++open;
      target.push_back(same ? 0 : size.known() ? size.size() : -1);
    }
    if (kept == groups.size() && kept == shape.size()) return x;
    if (open <= 1) return node_.add("Reshape", {x, node_.vector(target)});
    std::vector<Value> sizes;
    for (const LetterGroup& group : groups) sizes.push_back(computed_size(group));
    return node_.add("Reshape", {x, node_.add("Concat", sizes, {{"axis", int64_t{0}}})});
  }

  NewerNode& node_;
  EinsumEquation equation_;
  std::vector<Factor> factors_;
  std::map<EinsumLabel, int64_t> sizes_;  // known sizes other than 1
};

}  // namespace

void write_einsum(NewerNode& node) { Einsum(node).write(); }

}  // namespace lockstep
