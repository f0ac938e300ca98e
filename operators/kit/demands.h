// What laws demand of operands. A demand holds as far as sizes are known; where a plan is made all
// of them are, and every law is asked again. Errors name operands as their operator does.
#pragma once

#include <initializer_list>

#include "graph/op.h"

namespace lockstep {

// Could they be the same once symbols are numbers?
bool may_be(const Dim& a, const Dim& b);
bool may_be(const Shape& a, const Shape& b);

// "its input 1, y, is float32[3]"
std::string what_is(const Inference& inference, std::size_t i);

// All of those that are not left out have one element type and one shape.
void demand_alike(const Inference& inference, std::initializer_list<std::size_t> operands);
void demand_shape(const Inference& inference, std::size_t i, const Shape& expected);
void demand_dims(const Inference& inference, std::size_t i, std::size_t count);
void demand_at_least_dims(const Inference& inference, std::size_t i, std::size_t count);
void demand_one_element(const Inference& inference, std::size_t i);
void demand_type(const Inference& inference, std::size_t i, DType type);

// Law of operators whose operands and results are all alike.
void all_alike(Inference& inference);

}  // namespace lockstep
