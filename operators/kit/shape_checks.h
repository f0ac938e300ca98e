// SPDX-License-Identifier: Apache-2.0
// Checks of operands for shape laws. A check compares only known sizes; a plan, which has all
// sizes, runs every law again. Errors name operands as the operator's signature does.
#pragma once

#include <initializer_list>

#include "lockstep/op.h"

namespace lockstep {

// True if the two may be equal once symbols have numbers.
bool may_be(const Dim& a, const Dim& b);
bool may_be(const Shape& a, const Shape& b);

// "its input 1, y, is float32[3]"
std::string what_is(const Inference& inference, std::size_t i);

// Throws unless all given operands in the list have one element type and one shape.
void demand_alike(const Inference& inference, std::initializer_list<std::size_t> operands);
void demand_shape(const Inference& inference, std::size_t i, const Shape& expected);
void demand_dims(const Inference& inference, std::size_t i, std::size_t count);
void demand_at_least_dims(const Inference& inference, std::size_t i, std::size_t count);
void demand_one_element(const Inference& inference, std::size_t i);
void demand_type(const Inference& inference, std::size_t i, DType type);

// The law of operators that have one type and one shape for all operands and results.
void all_alike(Inference& inference);

}  // namespace lockstep
