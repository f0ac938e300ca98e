// SPDX-License-Identifier: Apache-2.0
#include "lockstep/net.h"

#include <cmath>
#include <memory>

#include "lockstep/operators.h"
#include "operators/fill/fill.h"

namespace lockstep {
namespace {

// The number of elements for each index of dimension `kept`.
float fan(const Dims& dims, std::size_t kept) {
  check(dims.size() >= 2, "MSRA and Xavier fills need a weight of 2 or more dimensions, not ",
        dims);
  return static_cast<float>(element_count(dims)) / static_cast<float>(dims[kept]);
}

}  // namespace

Initializer constant(float value) {
  return [value](Graph& init, const Dims& dims, int, const Site& site) {
    return constant_fill(init, dims, value, site);
  };
}

Initializer given(Literal value) {
  return [value = std::make_shared<Literal>(std::move(value))](Graph& init, const Dims& dims, int,
                                                               const Site& site) {
    check(value->dims() == dims, site.name, ": the given value is ", value->type(),
          ", should have shape ", dims);
    return identity(init, init.constant(site.name + "_value", *value), site);
  };
}

Initializer gaussian(float deviation, float mean) {
  return [=](Graph& init, const Dims& dims, int stream, const Site& site) {
    return random_normal(init, dims, mean, deviation, stream, site);
  };
}

Initializer uniform(float low, float high) {
  return [=](Graph& init, const Dims& dims, int stream, const Site& site) {
    return random_uniform(init, dims, low, high, stream, site);
  };
}

Initializer msra() {
  return [](Graph& init, const Dims& dims, int stream, const Site& site) {
    return random_normal(init, dims, 0, std::sqrt(2 / fan(dims, 1)), stream, site);
  };
}

Initializer glorot() {
  return [](Graph& init, const Dims& dims, int stream, const Site& site) {
    float bound = std::sqrt(6 / (fan(dims, 0) + fan(dims, 1)));
    return random_uniform(init, dims, -bound, bound, stream, site);
  };
}

Initializer xavier() {
  return [](Graph& init, const Dims& dims, int stream, const Site& site) {
    float bound = std::sqrt(3 / fan(dims, 0));
    return random_uniform(init, dims, -bound, bound, stream, site);
  };
}

}  // namespace lockstep
