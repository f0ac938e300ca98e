// SPDX-License-Identifier: Apache-2.0
#include "app/diff/diff.h"

#include <algorithm>
#include <future>

#include "app/diff/diff_side.h"
#include "app/diff/model_changes.h"
#include "app/diff/plan_changes.h"
#include "app/diff/result_changes.h"
#include "app/diff/settings_changes.h"
#include "app/diff/weight_changes.h"
#include "app/format.h"
#include "app/inspect/requests.h"
#include "graph/auxiliaries.h"
#include "lockstep/operators.h"

namespace lockstep {
namespace {

struct Sides {
  DiffSide a, b;
};

// Reads two files at the same time. Models that are built are built one after the other: builders
// print notes.
Sides open_both(const DiffRequest& request) {
  SideRequest a{request.a, request.settings, request.weights};
  SideRequest b{request.b, request.settings, request.weights};
  b.settings.insert(b.settings.end(), request.settings_of_b.begin(), request.settings_of_b.end());
  if (!is_stored(a.source) || !is_stored(b.source)) {
    DiffSide first = open_side(a);
    return {std::move(first), open_side(b)};
  }
  all_ops();  // made once, before threads ask for it
  std::future<DiffSide> other = std::async(std::launch::async, open_side, b);
  DiffSide first = open_side(a);
  return {std::move(first), other.get()};
}

class SideComparison {
 public:
  SideComparison(const DiffRequest& request, const DiffSide& a, const DiffSide& b)
      : request_(request), a_(a), b_(b) {}

  DiffResult run() {
    found_.a = a_.name;
    found_.b = b_.name;
    if (both(a_.settings, b_.settings, "configuration")) {
      add_named_changes(DiffPart::configuration, "key", *a_.settings, *b_.settings, found_.changes);
      found_.compared.push_back(count_of(std::ssize(*a_.settings), "key", "keys"));
    }
    ModelDifference models;
    if (both(a_.model, b_.model, "graph")) {
      models = differences_of(a_.model->model, b_.model->model);
      found_.replicas = std::min(a_.model->model.replicas, b_.model->model.replicas);
      found_.changes.insert(found_.changes.end(), models.changes.begin(), models.changes.end());
      found_.compared.push_back(count_of(models.nodes_a, "node", "nodes"));
    }
    if (request_.plan) compare_plans();
    if (request_.weights)
      compare_weights(models);
    else if (a_.has_weights && b_.has_weights)
      found_.notes.emplace_back("not compared: the values of tensors (--weights)");
    if (both(a_.results, b_.results, "metrics.jsonl")) {
      add_result_changes(*a_.results, *b_.results, found_.changes);
      found_.compared.push_back("the numbers of " +
                                count_of(std::ssize(*a_.results), "row", "rows"));
    }
    check(!found_.compared.empty(), a_.name, " (", a_.sort, ") and ", b_.name, " (", b_.sort,
          ") have nothing in common to compare",
          request_.weights ? "" : "; --weights compares the values of their tensors");
    return std::move(found_);
  }

 private:
  // Says which side lacks the part.
  template <class Part>
  bool both(const std::optional<Part>& a, const std::optional<Part>& b, const char* part) {
    if (a.has_value() != b.has_value())
      found_.notes.push_back(join("not compared: ", a ? b_.name : a_.name, " has no ", part));
    return a && b;
  }

  void compare_plans() {
    check(a_.model && b_.model, "--plan compares the plans of two models; ",
          a_.model ? b_.name : a_.name, " is ", (a_.model ? b_ : a_).sort, " without a model");
    const Plan of_a = plan_of(a_), of_b = plan_of(b_);
    add_plan_changes(of_a, of_b, found_.changes);
    found_.compared.push_back(
        count_of(std::ssize(of_a.steps), "step of a plan", "steps of a plan"));
  }

  static Plan plan_of(const DiffSide& side) {
    const bool inference = has_no_step(side);
    const std::vector<Device> devices = devices_of(*side.model, inference);
    const int places = inference ? 1 : places_of(side.model->model);
    check(std::ssize(devices) == places, side.name, " needs ",
          count_of(places, "device", "devices"), " for its replicas, but DEVICES has ",
          devices.size());
    return compile(plan_request(*side.model, inference, devices, all_kernels()));
  }

  void compare_weights(const ModelDifference& models) {
    for (const DiffSide* side : {&a_, &b_})
      check(side->weights.has_value(), side->name,
            " has no weights to compare: ", side->why_no_weights);
    WeightRequest request{*a_.weights, *b_.weights};
    const bool of_networks = a_.model && b_.model && has_no_step(a_) && has_no_step(b_);
    if (of_networks) {
      request.partners = models.constants;
      // Weights tell more about constants than their contents do.
      std::erase_if(found_.changes, [](const Change& change) {
        return change.part == DiffPart::inference && change.of == "constant" &&
               (change.what == "content" || change.kind == DiffKind::renamed);
      });
    } else {
      request.partners = models.states;
    }
    add_weight_changes(request, found_.changes);
    found_.compared.push_back(count_of(std::ssize(*a_.weights), "tensor", "tensors"));
  }

  static bool has_no_step(const DiffSide& side) { return side.model->model.step.node_count() == 0; }

  const DiffRequest& request_;
  const DiffSide &a_, &b_;
  DiffResult found_;
};

}  // namespace

DiffResult diff(const DiffRequest& request) {
  const Sides sides = open_both(request);
  return SideComparison(request, sides.a, sides.b).run();
}

}  // namespace lockstep
