// SPDX-License-Identifier: Apache-2.0
// Copies between the rows of a piece of an update and tiles of 16 by 16 or more. A square of 16
// outputs by 16 inputs fills 256 consecutive elements, so that whole cache lines are read and
// written at once.
#pragma once

#include <cstdint>
#include <optional>

#include "lockstep/tensor.h"
#include "operators/optimizer/traversal.h"
#include "runtime/layout/places_in_tiles.h"

namespace lockstep {

// Copies floats and 16-bit floats, in rows of kElementsAtOnce elements.
class Squares {
 public:
  // Empty if the tiles are smaller, or if rows of pieces are longer than a range.
  static std::optional<Squares> of(const TensorDesc& filter, const UpdateTraversal& order);

  void write(const UpdatePiece& piece, const void* rows, void* filter) const;
  void read(const UpdatePiece& piece, const void* filter, void* rows) const;

 private:
  explicit Squares(const TensorDesc& filter);

  template <class Body>
  void each(const UpdatePiece& piece, const Body& body) const;

  PlacesInTiles places_;
  FilterTiles tiles_;
  bool is_narrow_;  // 16 bits
};

}  // namespace lockstep
