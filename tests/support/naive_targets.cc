// SPDX-License-Identifier: Apache-2.0
#include "tests/support/naive_targets.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "graph/random_stream.h"
#include "lockstep/random.h"
#include "operators/targets/attributes.h"
#include "tests/support/case_run.h"

namespace lockstep::testing {
namespace {

using NaiveBox = std::array<double, 4>;

NaiveBox box_of(const Doubles& boxes, int64_t row) {
  return {boxes[4 * row], boxes[4 * row + 1], boxes[4 * row + 2], boxes[4 * row + 3]};
}
double naive_area(const NaiveBox& box) { return (box[2] - box[0]) * (box[3] - box[1]); }
bool usable(const NaiveBox& box) {
  for (double corner : box)
    if (!std::isfinite(corner)) return false;
  return box[2] > box[0] && box[3] > box[1] && std::isfinite(static_cast<float>(naive_area(box)));
}
double shared_area_of(const NaiveBox& a, const NaiveBox& b) {
  return std::max(0.0, std::min(a[2], b[2]) - std::max(a[0], b[0])) *
         std::max(0.0, std::min(a[3], b[3]) - std::max(a[1], b[1]));
}
float iou(const NaiveBox& a, const NaiveBox& b) {
  return static_cast<float>(shared_area_of(a, b) /
                            (naive_area(a) + naive_area(b) - shared_area_of(a, b)));
}
NaiveBox encoded(const NaiveBox& from, const NaiveBox& to, const std::vector<float>& weights) {
  NaiveBox deltas;
  for (std::size_t k : {0, 1}) {
    const double size = from[k + 2] - from[k], wanted = to[k + 2] - to[k];
    deltas[k] = weights[k] * ((to[k] + to[k + 2]) / 2 - (from[k] + from[k + 2]) / 2) / size;
    deltas[k + 2] = weights[k + 2] * std::log(wanted / size);
  }
  return deltas;
}

struct NaiveCandidate {
  int64_t number;  // the index used in draws
  int64_t place;
  int64_t row = -1;
  int64_t learnt = -1;  // the row whose box is learnt
};

// Returns at most `most` candidates, chosen by their keys, in the order of their indices.
std::vector<NaiveCandidate> drawn_candidates(std::vector<NaiveCandidate> all, int64_t most,
                                             double image_number) {
  const auto key = [&](const NaiveCandidate& c) {
    const auto number = static_cast<uint64_t>(c.number);
    const auto block = static_cast<uint64_t>(image_number) << 32 | number / 4;
    return std::tuple(philox(0, stream_in_step(0, kTargetsStream), block)[number % 4], c.number,
                      c.place);
  };
  std::sort(all.begin(), all.end(),
            [&](const NaiveCandidate& a, const NaiveCandidate& b) { return key(a) < key(b); });
  if (static_cast<int64_t>(all.size()) > most) all.resize(static_cast<std::size_t>(most));
  std::sort(all.begin(), all.end(), [](const NaiveCandidate& a, const NaiveCandidate& b) {
    return std::pair(a.number, a.place) < std::pair(b.number, b.place);
  });
  return all;
}

struct NaiveAnchor {
  NaiveBox box;
  std::size_t level;
  int64_t place;
  int64_t label = -1;  // 1: the anchor is assigned to an object
  int64_t row = -1;
};

std::vector<NaiveAnchor> all_anchors(const AnchorTargetsAttrs& attrs) {
  std::vector<NaiveAnchor> anchors;
  for (std::size_t l = 0; l < attrs.levels.size(); ++l) {
    const AnchorLevel& level = attrs.levels[l];
    int64_t place = 0;
    for (std::size_t a = 0; a < level.anchors.size(); a += 4)
      for (int64_t y = 0; y < level.height; ++y)
        for (int64_t x = 0; x < level.width; ++x) {
          const auto dx = static_cast<double>(x * level.stride);
          const auto dy = static_cast<double>(y * level.stride);
          anchors.push_back({{level.anchors[a] + dx, level.anchors[a + 1] + dy,
                              level.anchors[a + 2] + dx, level.anchors[a + 3] + dy},
                             l,
                             place++});
        }
  }
  return anchors;
}

void label_anchors(std::vector<NaiveAnchor>& anchors, const AnchorTargetsAttrs& attrs,
                   const std::vector<Doubles>& in, int64_t image) {
  const int64_t rows = in[0].dims[1];
  const double height = in[3][3 * image], width = in[3][3 * image + 1];
  const auto inside = [&](const NaiveBox& box) {
    return attrs.straddle == -1 ||
           (box[0] >= -attrs.straddle && box[1] >= -attrs.straddle &&
            box[2] - 1 < width + attrs.straddle && box[3] - 1 < height + attrs.straddle);
  };
  const auto counts = [&](int64_t row) {
    const int64_t at = image * rows + row;
    return in[1][at] > 0 && in[2][at] == 0 && usable(box_of(in[0], at));
  };
  bool any = false;
  std::vector<float> highest(static_cast<std::size_t>(rows), 0);
  for (int64_t row = 0; row < rows; ++row) {
    any = any || counts(row);
    for (const NaiveAnchor& anchor : anchors)
      if (counts(row) && inside(anchor.box))
        highest[row] = std::max(highest[row], iou(anchor.box, box_of(in[0], image * rows + row)));
  }
  for (NaiveAnchor& anchor : anchors) {
    if (!inside(anchor.box)) continue;
    float best = 0;
    bool is_best = false;
    for (int64_t row = 0; row < rows; ++row) {
      if (!counts(row)) continue;
      const float overlap = iou(anchor.box, box_of(in[0], image * rows + row));
      is_best = is_best || (overlap > 0 && overlap == highest[row]);
      if (overlap > best) anchor.row = row;
      best = std::max(best, overlap);
    }
    if (best >= attrs.positive_overlap || is_best)
      anchor.label = 1;
    else if (best < attrs.negative_overlap || !any)
      anchor.label = 0;
  }
}

Doubles all_of_value(const Dims& dims, double value) {
  return {dims, std::vector<double>(static_cast<std::size_t>(element_count(dims)), value)};
}

void write_dense(const std::vector<NaiveAnchor>& anchors, const AnchorTargetsAttrs& attrs,
                 const std::vector<Doubles>& in, int64_t image, std::vector<Doubles>& out) {
  for (const NaiveAnchor& anchor : anchors) {
    const AnchorLevel& level = attrs.levels[anchor.level];
    const int64_t cells = level.height * level.width, all = anchors_of(level);
    const int64_t truth = image * in[0].dims[1] + anchor.row;
    out[2 * anchor.level][image * all + anchor.place] =
        anchor.label == 1 ? in[1][truth] : static_cast<double>(anchor.label);
    if (anchor.label >= 0) ++out.back()[anchor.label == 1 ? 0 : 1];
    if (anchor.label != 1) continue;
    const NaiveBox deltas = encoded(anchor.box, box_of(in[0], truth), {1, 1, 1, 1});
    const int64_t a = anchor.place / cells, cell = anchor.place % cells;
    for (int64_t k = 0; k < 4; ++k)
      out[2 * anchor.level + 1][image * all * 4 + (4 * a + k) * cells + cell] = deltas[k];
  }
}

void write_sampled(const std::vector<NaiveAnchor>& anchors, const AnchorTargetsAttrs& attrs,
                   const std::vector<Doubles>& in, int64_t image, std::vector<Doubles>& out) {
  std::vector<NaiveCandidate> of_label[2];
  for (std::size_t i = 0; i < anchors.size(); ++i)
    if (anchors[i].label >= 0)
      of_label[anchors[i].label].push_back({static_cast<int64_t>(i), static_cast<int64_t>(i)});
  const auto objects = drawn_candidates(of_label[1], attrs.foreground, in[4][image]);
  const auto others = drawn_candidates(
      of_label[0], attrs.sample - static_cast<int64_t>(objects.size()), in[4][image]);
  std::vector<int64_t> count(attrs.levels.size(), 0);
  for (const auto* list : {&objects, &others})
    for (const NaiveCandidate& c : *list) {
      const NaiveAnchor& anchor = anchors[c.place];
      const int64_t at = image * attrs.sample + count[anchor.level]++;
      out[3 * anchor.level][at] = static_cast<double>(anchor.place);
      out[3 * anchor.level + 1][at] = static_cast<double>(anchor.label);
      if (anchor.label != 1) continue;
      const NaiveBox deltas =
          encoded(anchor.box, box_of(in[0], image * in[0].dims[1] + anchor.row), {1, 1, 1, 1});
      for (int64_t k = 0; k < 4; ++k) out[3 * anchor.level + 2][4 * at + k] = deltas[k];
    }
}

}  // namespace

Reference naive_anchor_targets(const AnchorTargetsAttrs& attrs) {
  return [attrs](const std::vector<Doubles>& in) {
    const int64_t images = in[0].dims[0], anchors = anchors_of_a_cell(attrs);
    std::vector<Doubles> out;
    for (const AnchorLevel& level : attrs.levels)
      if (attrs.sample > 0) {
        out.push_back(all_of_value({images, attrs.sample}, -1));
        out.push_back(all_of_value({images, attrs.sample}, -1));
        out.push_back(all_of_value({images, attrs.sample, 4}, 0));
      } else {
        out.push_back(all_of_value({images, anchors, level.height, level.width}, -1));
        out.push_back(all_of_value({images, anchors * 4, level.height, level.width}, 0));
      }
    if (attrs.sample == 0) out.push_back(all_of_value({2}, 0));
    for (int64_t image = 0; image < images; ++image) {
      std::vector<NaiveAnchor> all = all_anchors(attrs);
      label_anchors(all, attrs, in, image);
      attrs.sample > 0 ? write_sampled(all, attrs, in, image, out)
                       : write_dense(all, attrs, in, image, out);
    }
    return out;
  };
}

Reference naive_proposal_targets(const ProposalTargetsAttrs& attrs) {
  return [attrs](const std::vector<Doubles>& in) {
    const int64_t images = in[0].dims[0], proposals = in[0].dims[1], rows = in[2].dims[1];
    std::vector<Doubles> out{
        all_of_value({images, attrs.sample, 4}, 0), all_of_value({images, attrs.sample}, -1),
        all_of_value({images, attrs.sample, 4}, 0), all_of_value({images, attrs.sample}, -1)};
    if (attrs.box_overlap > 0) out.push_back(all_of_value({images, attrs.sample}, 0));
    for (int64_t image = 0; image < images; ++image) {
      const int64_t first = image * rows;
      const auto counts = [&](int64_t row) {
        return in[3][first + row] > 0 && usable(box_of(in[2], first + row));
      };
      const auto box = [&](int64_t i) {
        return i < proposals ? box_of(in[0], image * proposals + i)
                             : box_of(in[2], first + i - proposals);
      };
      std::vector<NaiveCandidate> objects, others;
      for (int64_t i = 0; i < proposals + rows; ++i) {
        const int64_t own = i - proposals;
        const double source = own < 0 ? in[1][image * proposals + i] : 0;
        if (own < 0 ? source < 0 : !counts(own) || in[4][first + own] != 0) continue;
        if (!usable(box(i))) continue;
        NaiveCandidate candidate{own < 0 ? static_cast<int64_t>(source) : (int64_t{1} << 31) + own,
                                 i};
        float best = 0, crowd = 0;
        bool hidden = false;
        for (int64_t row = 0; row < rows; ++row) {
          if (!counts(row)) continue;
          const NaiveBox object = box_of(in[2], first + row);
          const float overlap = iou(box(i), object);
          if (in[4][first + row] != 0) {
            crowd = std::max(crowd, overlap);
            const double share = shared_area_of(box(i), object) / naive_area(box(i));
            hidden = hidden || (own < 0 && attrs.crowd_overlap > 0 &&
                                static_cast<float>(share) > attrs.crowd_overlap);
          } else if (overlap > best) {
            best = overlap;
            candidate.row = row;
          }
        }
        if (hidden || crowd > best) continue;
        if (best >= attrs.box_overlap &&
            (attrs.box_overlap > 0 || best >= attrs.foreground_overlap))
          candidate.learnt = candidate.row;
        if (best >= attrs.foreground_overlap)
          objects.push_back(candidate);
        else if (best >= attrs.background_low && best < attrs.background_high)
          others.push_back({candidate.number, i, -1, candidate.learnt});
      }
      objects = drawn_candidates(objects, attrs.foreground, in[5][image]);
      others = drawn_candidates(others, attrs.sample - static_cast<int64_t>(objects.size()),
                                in[5][image]);
      int64_t at = image * attrs.sample;
      for (const auto* list : {&objects, &others})
        for (const NaiveCandidate& c : *list) {
          for (int64_t k = 0; k < 4; ++k) out[0][4 * at + k] = box(c.place)[k];
          out[1][at] = c.row < 0 ? 0 : in[3][first + c.row];
          if (c.learnt >= 0) {
            const NaiveBox deltas =
                encoded(box(c.place), box_of(in[2], first + c.learnt), attrs.weights);
            for (int64_t k = 0; k < 4; ++k) out[2][4 * at + k] = deltas[k];
            if (attrs.box_overlap > 0) out[4][at] = in[3][first + c.learnt];
          }
          out[3][at++] = static_cast<double>(c.row);
        }
    }
    return out;
  };
}

CaseInput of_floats(const std::vector<float>& values, const Dims& dims) {
  return given(Literal::of<float>(values, dims));
}

std::vector<Literal> results_of(const OpCase& c, int threads) {
  const Built built = build(c);
  std::vector<std::string> fetches;
  for (Value output : built.outputs) fetches.push_back(built.graph.name(output));
  return CaseRunner(built.graph, c, built.feeds, fetches, {.threads = threads}).run(fed_values(c));
}

OpCase anchor_targets_case(const std::string& name, const TargetOperands& operands,
                           const AnchorTargetsAttrs& attrs) {
  Attributes attributes = write_anchor_targets(attrs);
  attributes.push_back(random_stream_attribute(kTargetsStream));
  const int levels = static_cast<int>(attrs.levels.size());
  return {.name = name,
          .type = "AnchorTargets",
          .domain = kOwnDomain,
          .attributes = attributes,
          .inputs = {operands.boxes, operands.classes, operands.crowd, operands.im_info,
                     operands.image_number},
          .outputs = attrs.sample > 0 ? 3 * levels : 2 * levels + 1,
          .reference = naive_anchor_targets(attrs),
          .gradient = false,
          .oracle = false};
}

OpCase proposal_targets_case(const std::string& name, CaseInput proposals, CaseInput sources,
                             const TargetOperands& operands, const ProposalTargetsAttrs& attrs) {
  Attributes attributes = write_proposal_targets(attrs);
  attributes.push_back(random_stream_attribute(kTargetsStream));
  return {.name = name,
          .type = "ProposalTargets",
          .domain = kOwnDomain,
          .attributes = attributes,
          .inputs = {std::move(proposals), std::move(sources), operands.boxes, operands.classes,
                     operands.crowd, operands.image_number},
          .outputs = attrs.box_overlap > 0 ? 5 : 4,
          .reference = naive_proposal_targets(attrs),
          .gradient = false,
          .oracle = false};
}

}  // namespace lockstep::testing
