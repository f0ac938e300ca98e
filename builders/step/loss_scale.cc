// SPDX-License-Identifier: Apache-2.0
#include "builders/step/loss_scale.h"

#include "builders/step/initial_states.h"
#include "builders/step/one_replica.h"
#include "lockstep/operators.h"

namespace lockstep {
namespace {

constexpr const char* kScale = "loss_scale";
constexpr const char* kSoundSteps = "loss_scale_sound_steps";

struct Next {
  Value scale, sound_steps;
};

Next next_of(Graph& step, const LossScale& scale, Value skipped, const LossScaling& options) {
  const std::string name = step.name(scale.scale);
  auto number = [&](const char* what, float value) {
    return step.constant(join(name, "_", what), Literal::scalar(value));
  };
  auto node = [&](const char* type, std::vector<Value> inputs, const char* what) {
    return step.add_value({.type = type, .inputs = std::move(inputs)}, join(name, "_", what));
  };
  const Value none_skipped = step.constant(name + "_none_skipped", Literal::scalar<int64_t>(0));
  const Value sound = node("Less", {skipped, none_skipped}, "sound");
  const Value counted = node("Add", {scale.sound_steps, number("one", 1)}, "counted");
  const Value limit = number("growth_steps", static_cast<float>(options.growth_steps));
  const Value before_growth = node("Less", {counted, limit}, "before_growth");
  const Value doubled = node("Mul", {scale.scale, number("two", 2)}, "doubled");
  const Value grown = node("Min", {doubled, number("most", options.most)}, "grown");
  const Value after_sound = node("Where", {before_growth, scale.scale, grown}, "after_sound");
  const Value halved = node("Mul", {scale.scale, number("half", 0.5F)}, "halved");
  const Value zero = number("zero", 0);
  const Value kept = node("Where", {before_growth, counted, zero}, "count_kept");
  return {node("Where", {sound, after_sound, halved}, "next"),
          node("Where", {sound, kept, zero}, "sound_steps_next")};
}

}  // namespace

LossScale add_loss_scale(Graph& step) {
  const TensorType scalar{DType::float32, {}};
  Value scale = step_input(step, kScale, scalar, "the scale of its losses");
  Value inverse =
      step.add_value({.type = "Reciprocal", .inputs = {scale}}, join(kScale, "_inverse"));
  return {scale, inverse,
          step_input(step, kSoundSteps, scalar, "the number of steps since that scale changed")};
}

Value seed_of(Graph& step, const LossScale& scale, Value loss) {
  if (step.shape(loss).empty()) return scale.scale;
  return expand_like(step, scale.scale, loss, step.name(loss) + "_seed");
}

Value unscaled(Graph& step, const LossScale& scale, Value gradient) {
  const std::string name = step.name(gradient);
  step.rename(gradient, name + "_times_scale");
  return mul(step, gradient, scale.inverse, name);
}

std::vector<Binding> update_loss_scale(Graph& step, const LossScale& scale, Value skipped,
                                       const LossScaling& options) {
  const Next next = next_of(step, scale, skipped, options);
  return {{kScale, step.name(next.scale)}, {kSoundSteps, step.name(next.sound_steps)}};
}

void add_loss_scale_states(TrainingModel& one, const LossScaling& options, int replicas) {
  for (const auto& [name, first] : {std::pair(kScale, options.first), {kSoundSteps, 0.0F}})
    add_state(one, {State{{name, {name}}, StateKind::scaling}, {}, constant(first)}, {}, replicas);
}

}  // namespace lockstep
