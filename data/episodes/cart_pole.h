// SPDX-License-Identifier: Apache-2.0
// Cart-pole (Barto, Sutton and Anderson 1983): a cart on a track balances a pole that is hinged to
// it. Each step pushes the cart to the left or to the right with the same force.
#pragma once

#include "lockstep/episodes.h"

namespace lockstep {

class CartPole final : public Environment {
 public:
  static constexpr double kMostPlace = 2.4;                                // metres from the middle
  static constexpr double kMostAngle = 12 * 3.14159265358979323846 / 180;  // from upright
  static constexpr double kHalfLength = 0.5;                               // of the pole
  static constexpr double kStep = 0.02;                                    // seconds

  // At rest in the middle, but for small errors.
  void begin(PhiloxSequence& random) override;
  // 0 pushes to the left, 1 to the right. Each step is worth 1, the one that fails too.
  Moved move(int64_t action) override;
  // Place and speed of the cart, angle and angular speed of the pole.
  void observe(std::span<float> values) const override;
  std::vector<double> state() const override;
  void restore(std::span<const double> state) override;

 private:
  double place_ = 0, speed_ = 0, angle_ = 0, turning_ = 0;
};

// With a time limit of 500 steps.
EnvironmentKind cart_pole();

}  // namespace lockstep
