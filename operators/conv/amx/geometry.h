// SPDX-License-Identifier: Apache-2.0
// Mapping of convolutions and of their gradients with respect to the data to sums over the planes
// that kernels.h packs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "operators/conv/amx/first_layer.h"
#include "operators/conv/amx/kernels.h"

namespace lockstep::amx {

// One direction of images. The result rows of one phase are positions of a grid; the grid's
// positions read rows of planes.
struct GridAxis {
  int64_t source, result;             // sizes
  int64_t source_step, source_first;  // rows of the source in plane 0; plane p begins p rows later
  int64_t planes;
  int64_t more;                       // rows of a plane beyond the grid's rows
  int64_t count;                      // of the grid
  int64_t result_step, result_first;  // the same for the result, in phase 0
  int64_t phases;

  struct Seen {
    int64_t plane, shift, phase;
  };
  std::vector<Seen> seen;  // for each element of the window

  // The range of the grid's positions that the result has in this phase.
  int64_t begin(int64_t phase) const;
  int64_t end(int64_t phase) const;
};
// The axis from images to results of a convolution, and from gradients of results to gradients of
// images.
GridAxis forward_axis(const ConvAxis& axis);
GridAxis backward_axis(const ConvAxis& axis);

// Division, rounded up; `value` may be negative.
int64_t divided_up(int64_t value, int64_t by);

// A range of rows of the grid, of a range of images.
struct GridStrip {
  int64_t image, images;
  int64_t row, rows;
};

// A grid in strips. All packed strips have the same distances, though the last strips are smaller.
class Strips {
 public:
  // Makes strips of about `most_pixels` packed pixels and at most `most_images` images. With
  // windows, the grid's pixels are the windows' pixels.
  Strips(GridAxis down, GridAxis across, std::optional<Windows> windows, int64_t images,
         int64_t most_pixels, int64_t most_images);

  int64_t count() const { return groups_ * bands_; }
  GridStrip at(int64_t index) const;

  const GridAxis& down() const { return down_; }
  const GridAxis& across() const { return across_; }
  int64_t plane_row() const { return across_.count + across_.more; }  // pixels
  int64_t image_rows() const { return rows_ + down_.more; }           // of a plane
  int64_t image_pixels() const { return image_rows() * plane_row(); }
  int64_t plane_pixels() const { return group_ * image_pixels(); }
  int64_t pixels() const { return down_.planes * across_.planes * plane_pixels(); }

  int64_t phases() const { return down_.phases * across_.phases; }
  // The elements of the window in this phase; `filter_tap` is the distance of their tiles.
  std::vector<Tap> taps(int64_t phase, int64_t filter_tap) const;
  Grid grid(const GridStrip& strip, int64_t phase) const;

  // The distances of a tensor in channel blocks on the grid. The first position may be before the
  // tensor's start.
  Distances distances(int64_t blocks) const;
  int64_t first_place(const GridStrip& strip, int64_t phase, int64_t blocks) const;

  // Packs two channel blocks of the source (or the last block), or a plane of windows. `whole`:
  // writes 0 wherever tiles may read.
  void pack_planes(const GridStrip& strip, const BFloat16* source, int64_t blocks, int64_t block,
                   bool whole, BFloat16* to) const;
  // The memory that packing reads. Images with few channels need no prefetch.
  LinesAhead source_of(const GridStrip& strip, const BFloat16* source, int64_t blocks) const;

 private:
  bool is_flat() const;
  void pack_windows(const GridStrip& strip, const BFloat16* source, int64_t plane, bool whole,
                    BFloat16* to) const;

  GridAxis down_, across_;
  std::optional<Windows> windows_;
  int64_t images_, rows_, group_, groups_, bands_;
};

}  // namespace lockstep::amx
