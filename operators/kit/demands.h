// SPDX-License-Identifier: Apache-2.0
// Demands of shape laws on operands. A demand is checked as far as sizes are known; a plan knows
// all, and checks every law again. Errors name operands as their operator does.
#pragma once

#include <initializer_list>

#include "graph/op.h"

namespace lockstep {

// True if they may be equal once symbols are numbers.
bool may_be(const Dim& a, const Dim& b);
bool may_be(const Shape& a, const Shape& b);

// "its input 1, y, is float32[3]"
std::string what_is(const Inference& inference, std::size_t i);

// All given operands among them have one element type and one shape.
void demand_alike(const Inference& inference, std::initializer_list<std::size_t> operands);
void demand_shape(const Inference& inference, std::size_t i, const Shape& expected);
void demand_dims(const Inference& inference, std::size_t i, std::size_t count);
void demand_at_least_dims(const Inference& inference, std::size_t i, std::size_t count);
void demand_one_element(const Inference& inference, std::size_t i);
void demand_type(const Inference& inference, std::size_t i, DType type);

// The law of operators whose operands and results are all alike.
void all_alike(Inference& inference);

}  // namespace lockstep
