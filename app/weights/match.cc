// SPDX-License-Identifier: Apache-2.0
#include "app/weights/match.h"

#include <algorithm>
#include <set>
#include <utility>

#include "app/weights/agreement.h"
#include "app/weights/parts.h"
#include "app/weights/translate.h"
#include "graph/average.h"
#include "graph/listed.h"
#include "graph/printable.h"
#include "runtime/finite.h"

namespace lockstep {
namespace {

constexpr std::size_t kNamesShown = 5;
constexpr std::size_t kMostShapes = 20;  // lines of an error

std::string some_of(const std::vector<std::string>& names) {
  return first_listed(names, kNamesShown);
}

// True if the shapes differ in one dimension only, where ours is the number of classes.
bool differs_by_classes(const Dims& ours, const Dims& theirs, int64_t classes) {
  if (ours.size() != theirs.size()) return false;
  int differences = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (ours[i] == theirs[i]) continue;
    if (ours[i] != classes) return false;
    ++differences;
  }
  return differences == 1;
}

// True for a last layer of a detector with another number of classes or keypoints.
bool is_other_last_layer(const std::string& name, const Dims& ours, const Dims& theirs) {
  const LastLayer* const layer = last_layer_of(name);
  if (!layer || ours.size() != theirs.size()) return false;
  std::set<std::pair<int64_t, int64_t>> numbers;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (ours[i] == theirs[i]) continue;
    if (i >= layer->counting_dims) return false;
    numbers.emplace(ours[i], theirs[i]);
  }
  return numbers.size() == 1;
}

class Matcher {
 public:
  Matcher(const std::vector<WeightSlot>& slots, Safetensors file, const WeightsOptions& options)
      : slots_(slots), options_(options) {
    result_.source = source_of(contents_of(file));
    const bool translates = options.for_detector || result_.source.to_pytorch;
    check(!translates || result_.source.refusal.empty(), printable(options.path), ": is ",
          result_.source.name, ": ", result_.source.refusal);
    TranslationOptions how{options.path, options.for_detector, options.raw, {}};
    for (const WeightSlot& slot : slots) how.kept.insert(slot.name);
    for (const auto& [name, unused] : file.tensors) first_names_.push_back(name);
    file_ = translated(std::move(file.tensors), result_.source, how);
  }

  MatchedWeights result() {
    attempt([&] { check_source_agrees(slots_, file_, result_.source, options_); });
    for (const WeightSlot& slot : slots_) {
      if (is_weight(slot.kind))
        match(slot);
      else if (options_.momentum)
        match_slot(slot);
    }
    // First: says more than a list of shapes.
    attempt([&] { check_whole_parts(slots_, file_, options_); });
    attempt([&] { check_matches(); });
    attempt([&] { check_nothing_more(slots_, first_names_, result_.source, options_); });
    attempt([&] { check_frozen(); });
    list_unused();
    if (!result_.refusal) summarise();
    return std::move(result_);
  }

 private:
  using Found = StateValues::const_iterator;

  // Runs a check. Keeps its error, if wished, unless there is an earlier one.
  template <class Check>
  void attempt(const Check& check) {
    if (!options_.keeps_refusal) return check();
    try {
      check();
    } catch (const Error&) {
      if (!result_.refusal) result_.refusal = std::current_exception();
    }
  }

  Found none() const { return file_.tensors.end(); }
  // PyTorch's data-parallel wrapper prefixes all names. Detectron shares tensors between heads.
  Found find(const std::string& name) const {
    auto found = file_.tensors.find(name);
    if (found == none()) found = file_.tensors.find("module." + name);
    const std::string shared = found == none() ? shared_name_of(name) : "";
    return shared.empty() ? found : file_.tensors.find(shared);
  }
  Found find_trained(const WeightSlot& slot) const {
    const auto average =
        options_.raw || !is_parameter(slot.kind) ? none() : find(average_of(slot.name));
    return average != none() ? average : find(slot.name);
  }
  std::string in_file(const std::string& name) const {
    const auto found = file_.from.find(name);
    return found == file_.from.end() ? name : found->second;
  }

  void check_finite(const Literal& weights, const std::string& name) const {
    const Tensor tensor = view_of(weights);
    const int64_t place = first_not_finite(tensor);
    if (place < 0) return;
    fail(options_.path, ": '", name, "' holds ", text_of_value(tensor, place), " at ",
         text_of_place(tensor.desc.dims, place), "; weights should be finite");
  }

  void match(const WeightSlot& slot) {
    const auto found = find_trained(slot);
    if (found == none()) {
      missing_.push_back(slot.name);
      result_.lines.push_back({slot.name, WeightFate::missing});
      return;
    }
    used_.insert(found->first);
    for (const std::string& name : {slot.name, average_of(slot.name)})
      if (const auto beside = find(name); beside != none()) used_.insert(beside->first);
    const Literal& theirs = found->second;
    attempt([&] { check_finite(theirs, in_file(found->first)); });
    const Dims ours = to_dims(slot.type.shape);
    if (theirs.type() == slot.type) {
      result_.values.emplace(slot.name, theirs);
      result_.lines.push_back({slot.name, WeightFate::matched, in_file(found->first)});
    } else if (theirs.dtype() == slot.type.dtype && is_renewed(slot.name, ours, theirs.dims())) {
      renewed_.push_back(slot.name);
      result_.lines.push_back({slot.name, WeightFate::begins_anew, in_file(found->first),
                               join("is ", slot.type, ", in the file ", theirs.type())});
    } else {
      result_.lines.push_back({slot.name, WeightFate::misfit, in_file(found->first),
                               join("is ", slot.type, ", in the file ", theirs.type())});
      wrong_shapes_ += theirs.dims() != ours;
      wrong_.push_back(
          join(slot.name, " is ", slot.type, ", in the file ", theirs.type(),
               in_file(found->first) == slot.name ? "" : join(" (", in_file(found->first), ")")));
    }
  }

  bool is_renewed(const std::string& name, const Dims& ours, const Dims& theirs) const {
    if (options_.new_classifier) return differs_by_classes(ours, theirs, options_.classes);
    return options_.for_detector && !options_.whole && is_other_last_layer(name, ours, theirs);
  }

  void match_slot(const WeightSlot& slot) {
    const auto found = file_.tensors.find(slot.name);
    if (found == none() || found->second.type() != slot.type) return;
    attempt([&] { check_finite(found->second, slot.name); });
    used_.insert(slot.name);
    result_.values.emplace(slot.name, found->second);
  }

  void check_matches() const {
    std::string mismatches;
    for (std::size_t i = 0; i < std::min(wrong_.size(), kMostShapes); ++i)
      mismatches += "\n  " + wrong_[i];
    if (wrong_.size() > kMostShapes)
      mismatches += join("\n  and ", wrong_.size() - kMostShapes, " more");
    check(wrong_.empty() || wrong_shapes_ > 0, options_.path,
          ": types differ; weights should be float32 (in PyTorch: tensor.float()):", mismatches);
    check(wrong_.empty(), options_.path, ": shapes differ",
          options_.classes > 0 ? " (MODEL.NEW_CLASSIFIER true makes a new last layer for another "
                                 "number of classes)"
                               : "",
          ":", mismatches);
    check(!result_.values.empty(), options_.path,
          ": contains no tensor of the model: the model has ", some_of(missing_), "; the file has ",
          first_names_.empty() ? "none" : some_of(first_names_));
    check(!options_.whole || missing_.empty(), options_.path, ": lacks ", some_of(missing_),
          " of the network");
  }

  void check_frozen() const {
    if (options_.random_may_freeze) return;
    std::vector<std::string> random;
    for (const WeightSlot& slot : slots_)
      if (slot.is_frozen && slot.is_random && result_.values.count(slot.name) == 0)
        random.push_back(slot.name);
    check(random.empty(), Key{"TRAIN.WEIGHTS"}, " ", printable(options_.path), " lacks ",
          some_of(random), ", which ", Key{"TRAIN.FREEZE_AT"}, " or ",
          Key{"TRAIN.FREEZE_CONV_BODY"},
          " keeps from learning, so that they would stay random; set TRAIN.FREEZE_AT to 0, or ",
          Key{"TRAIN.FREEZE_RANDOM"}, " to true if this is meant");
  }

  void list_unused() {
    std::set<std::string> momenta;
    for (const WeightSlot& slot : slots_)
      if (!is_weight(slot.kind)) momenta.insert(slot.name);
    for (const auto& [name, value] : file_.tensors) {
      if (used_.count(name) > 0) continue;
      const bool is_momentum = momenta.count(name) > 0 || name.ends_with("_momentum");
      (options_.for_detector && is_momentum ? result_.momenta : result_.unused)
          .push_back(in_file(name));
    }
  }

  void summarise() {
    std::vector<std::string>& lines = result_.summary;
    const std::size_t of = result_.lines.size();
    const std::size_t matched = of - missing_.size() - renewed_.size();
    lines.push_back(join("weights: ", matched, " of ", of, " tensors from ", options_.path,
                         options_.for_detector ? join(" (", result_.source.name, ")") : ""));
    if (!file_.from.empty()) {
      const auto& [now, before] = *file_.from.begin();
      lines.push_back(join(
          "  ", file_.from.size(), " have other names in the file: ", now, " is ", before, ", ..",
          file_.folded.empty() || !options_.for_detector ? "" : "; statistics are folded"));
    }
    for (const std::string& line : intended_differences(slots_, result_.source, options_))
      lines.push_back("  " + line);
    if (!renewed_.empty())
      lines.push_back(options_.new_classifier
                          ? join("  ", renewed_.size(), " new, for ", options_.classes,
                                 " classes: ", some_of(renewed_))
                          : join("  ", renewed_.size(), " renewed, for another number of ",
                                 counted_by(renewed_), ": ", some_of(renewed_), "; ",
                                 why_of(renewed_[0])));
    if (!missing_.empty())
      lines.push_back(join("  ", missing_.size(),
                           " not in the file, with initial values: ", some_of(missing_)));
    if (!result_.momenta.empty())
      lines.push_back(join("  ", result_.momenta.size(),
                           " momenta of the file are not taken (TRAIN.WEIGHTS_MOMENTUM)"));
    if (!result_.unused.empty())
      lines.push_back(join("  ", result_.unused.size(),
                           " in the file, but not in the network: ", some_of(result_.unused)));
  }
  static std::string counted_by(const std::vector<std::string>& last_layers) {
    std::set<std::string> counted;
    for (const std::string& name : last_layers)
      if (const LastLayer* const layer = last_layer_of(name)) counted.insert(layer->counted);
    return listed(std::vector<std::string>(counted.begin(), counted.end()), " and ");
  }
  std::string why_of(const std::string& name) const {
    for (const WeightLine& line : result_.lines)
      if (line.name == name) return join(name, " ", line.why);
    return "";
  }

  const std::vector<WeightSlot>& slots_;
  const WeightsOptions& options_;
  TranslatedWeights file_;
  MatchedWeights result_;
  std::vector<std::string> missing_, renewed_, wrong_, first_names_;
  int64_t wrong_shapes_ = 0;  // of wrong_: the others differ in their types only
  std::set<std::string> used_;
};

// True if the value is drawn: the producer of its first operand decides for copies.
bool is_drawn(const Graph& graph, Value value) {
  for (auto maker = graph.producer(value); maker; maker = graph.producer(value)) {
    if (maker->type().starts_with("Random")) return true;
    if (maker->inputs().empty()) return false;
    value = maker->inputs()[0];
  }
  return false;
}

}  // namespace

bool is_weight(StateKind kind) { return is_parameter(kind) || kind == StateKind::computed; }

std::vector<WeightSlot> weight_slots(const TrainingModel& model) {
  std::set<std::string> updated, drawn;
  for (const Binding& update : model.updates) updated.insert(update.state);
  for (const Binding& first : model.initial)
    if (const Value value = model.init.find(first.value); value && is_drawn(model.init, value))
      drawn.insert(first.state);
  std::vector<WeightSlot> slots;
  for (const State& state : model.states) {
    if (!is_weight(state.kind) && state.kind != StateKind::slot) continue;
    const std::string& full = state.values[0];
    Value value = model.step.find(full);
    const Graph& graph = value ? model.step : model.inference;
    if (!value) value = graph.find(state.name);
    if (!value) continue;
    slots.push_back({state.name, state.kind, graph.type(value),
                     is_parameter(state.kind) && updated.count(full) == 0, drawn.count(full) > 0});
  }
  return slots;
}

MatchedWeights matched_weights(const std::vector<WeightSlot>& slots, Safetensors file,
                               const WeightsOptions& options) {
  return Matcher(slots, std::move(file), options).result();
}

}  // namespace lockstep
