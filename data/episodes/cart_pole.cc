// SPDX-License-Identifier: Apache-2.0
#include "data/episodes/cart_pole.h"

#include <cmath>

#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr double kGravity = 9.8;
constexpr double kPoleMass = 0.1, kMass = 1.0 + kPoleMass;  // kilograms; kMass is of both
constexpr double kForce = 10;                               // newtons
constexpr double kMostAtFirst = 0.05;                       // largest initial size of each number
constexpr int64_t kTimeLimit = 500;

}  // namespace

void CartPole::begin(PhiloxSequence& random) {
  for (double* number : {&place_, &speed_, &angle_, &turning_})
    *number = random.uniform(-kMostAtFirst, kMostAtFirst);
}

// Newton's laws for cart and pole without friction, and one step of the explicit Euler method.
Environment::Moved CartPole::move(int64_t action) {
  check(action == 0 || action == 1, "cart_pole: action ", action, ", should be 0 or 1");
  const double force = action == 1 ? kForce : -kForce;
  const double sine = std::sin(angle_), cosine = std::cos(angle_);
  const double lever = kPoleMass * kHalfLength;
  const double pushed = (force + lever * turning_ * turning_ * sine) / kMass;
  const double angular = (kGravity * sine - cosine * pushed) /
                         (kHalfLength * (4.0 / 3 - kPoleMass * cosine * cosine / kMass));
  const double forward = pushed - lever * angular * cosine / kMass;
  place_ += kStep * speed_;
  speed_ += kStep * forward;
  angle_ += kStep * turning_;
  turning_ += kStep * angular;
  return {1, std::abs(place_) > kMostPlace || std::abs(angle_) > kMostAngle};
}

void CartPole::observe(std::span<float> values) const {
  std::size_t next = 0;
  for (double number : state()) values[next++] = static_cast<float>(number);
}

std::vector<double> CartPole::state() const { return {place_, speed_, angle_, turning_}; }

void CartPole::restore(std::span<const double> state) {
  place_ = state[0], speed_ = state[1], angle_ = state[2], turning_ = state[3];
}

EnvironmentKind cart_pole() {
  return {.name = "cart_pole",
          .observations = 4,
          .actions = 2,
          .states = 4,
          .time_limit = kTimeLimit,
          .most_return = kTimeLimit,
          .make = []() -> std::unique_ptr<Environment> { return std::make_unique<CartPole>(); }};
}

}  // namespace lockstep
