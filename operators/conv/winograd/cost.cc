// SPDX-License-Identifier: Apache-2.0
#include "operators/conv/winograd/tuning.h"
#include "operators/conv/winograd/winograd.h"

namespace lockstep {
namespace {

double tiles(int64_t size) {
  const int64_t whole = (size + winograd::kTile - 1) / winograd::kTile;
  return static_cast<double>(whole);
}

}  // namespace

double WinogradCost::direct() const {
  return 9.0 * static_cast<double>(images * height * width) * static_cast<double>(inputs * outputs);
}

double WinogradCost::winograd() const {
  const double filters = static_cast<double>(inputs * outputs);
  const double channels = static_cast<double>(inputs + outputs);
  const double all = static_cast<double>(images) * tiles(height) * tiles(width);
  return winograd::kPoints * (all * (filters + winograd::kTuning.tile_value * channels) +
                              winograd::kTuning.filter_value * filters);
}

}  // namespace lockstep
