// SPDX-License-Identifier: Apache-2.0
#include "operators/conv/amx/geometry.h"

#include <algorithm>

namespace lockstep::amx {
int64_t divided_up(int64_t value, int64_t by) {
  return value >= 0 ? (value + by - 1) / by : -(-value / by);
}

int64_t GridAxis::begin(int64_t phase) const {
  return std::clamp<int64_t>(divided_up(-(result_first + phase), result_step), 0, count);
}
int64_t GridAxis::end(int64_t phase) const {
  return std::clamp<int64_t>(divided_up(result - result_first - phase, result_step), 0, count);
}

GridAxis forward_axis(const ConvAxis& from) {
  GridAxis axis{.source = from.image,
                .result = from.result,
                .source_step = from.step,
                .source_first = -from.pad,
                .planes = 1,
                .more = (from.window - 1) * from.hole / from.step,
                .count = from.result,
                .result_step = 1,
                .result_first = 0,
                .phases = 1,
                .seen = {}};
  for (int64_t k = 0; k < from.window; ++k) {
    const int64_t place = k * from.hole;
    axis.seen.push_back({place % from.step, place / from.step, 0});
    axis.planes = std::max(axis.planes, place % from.step + 1);
  }
  return axis;
}

// With tap offset t = k * hole: image row + pad = result row * step + t.
GridAxis backward_axis(const ConvAxis& from) {
  const int64_t most = (from.window - 1) * from.hole / from.step, skipped = from.pad / from.step;
  GridAxis axis{.source = from.result,
                .result = from.image,
                .source_step = 1,
                .source_first = skipped - most,
                .planes = 1,
                .more = most,
                .count = (from.image - 1 + from.pad) / from.step - skipped + 1,
                .result_step = from.step,
                .result_first = from.step * skipped - from.pad,
                .phases = from.step,
                .seen = {}};
  for (int64_t k = 0; k < from.window; ++k) {
    const int64_t place = k * from.hole;
    axis.seen.push_back({0, most - place / from.step, place % from.step});
  }
  return axis;
}

Strips::Strips(GridAxis down, GridAxis across, std::optional<Windows> windows, int64_t images,
               int64_t most_pixels, int64_t most_images)
    : down_(std::move(down)), across_(std::move(across)), windows_(windows), images_(images) {
  const int64_t planes = down_.planes * across_.planes;
  const int64_t most_rows = most_pixels / (planes * plane_row());
  bands_ = divided_up(down_.count, std::max<int64_t>(1, most_rows - down_.more));
  rows_ = divided_up(down_.count, bands_);
  bands_ = divided_up(down_.count, rows_);
  group_ = bands_ > 1 ? 1 : std::clamp<int64_t>(most_rows / image_rows(), 1, most_images);
  group_ = divided_up(images, divided_up(images, group_));
  groups_ = divided_up(images, group_);
}

GridStrip Strips::at(int64_t index) const {
  const int64_t image = index / bands_ * group_, row = index % bands_ * rows_;
  return {image, std::min(group_, images_ - image), row, std::min(rows_, down_.count - row)};
}

std::vector<Tap> Strips::taps(int64_t phase, int64_t filter_tap) const {
  std::vector<Tap> taps;
  int64_t filter = 0;
  for (const GridAxis::Seen& row : down_.seen)
    for (const GridAxis::Seen& column : across_.seen) {
      const int64_t plane = row.plane * across_.planes + column.plane;
      if (row.phase * across_.phases + column.phase == phase)
        taps.push_back({plane * plane_pixels() + row.shift * plane_row() + column.shift, filter});
      filter += filter_tap;
    }
  return taps;
}

// True if rows of the grid are consecutive in the packed pixels and in the result.
bool Strips::is_flat() const {
  return across_.more == 0 && phases() == 1 && across_.result_step == 1 && down_.result_step == 1 &&
         across_.count == across_.result && down_.begin(0) == 0 && across_.begin(0) == 0 &&
         down_.result_first == 0 && across_.result_first == 0;
}

Grid Strips::grid(const GridStrip& strip, int64_t phase) const {
  const int64_t row_phase = phase / across_.phases, column_phase = phase % across_.phases;
  const auto within = [&](int64_t row) {
    return std::clamp<int64_t>(row - strip.row, 0, strip.rows);
  };
  Grid grid{.images = strip.images,
            .image = image_pixels(),
            .row = plane_row(),
            .row_begin = within(down_.begin(row_phase)),
            .row_end = within(down_.end(row_phase)),
            .column_begin = across_.begin(column_phase),
            .column_end = across_.end(column_phase)};
  if (is_flat()) {
    grid.column_end *= grid.row_end;
    grid.row = grid.image;
    grid.row_end = 1;
  }
  return grid;
}

Distances Strips::distances(int64_t blocks) const {
  const int64_t row = across_.result * kBlock, plane = down_.result * row;
  return {.image = blocks * plane,
          .block = plane,
          .down = down_.result_step * row,
          .across = across_.result_step * kBlock};
}

int64_t Strips::first_place(const GridStrip& strip, int64_t phase, int64_t blocks) const {
  const Distances at = distances(blocks);
  const int64_t row = down_.result_first + phase / across_.phases;
  const int64_t column = across_.result_first + phase % across_.phases;
  return strip.image * at.image + strip.row * at.down + (row * across_.result + column) * kBlock;
}

void Strips::pack_planes(const GridStrip& strip, const BFloat16* source, int64_t blocks,
                         int64_t block, bool whole, BFloat16* to) const {
  if (windows_) return pack_windows(strip, source, block / 2, whole, to);
  const int64_t area = down_.source * across_.source * kBlock;
  for (int64_t plane = 0; plane < down_.planes * across_.planes; ++plane) {
    const int64_t down = plane / across_.planes, across = plane % across_.planes;
    PlaneRows rows{.data = nullptr,
                   .two = block + 1 < blocks,
                   .block = area,
                   .height = down_.source,
                   .width = across_.source,
                   .first_row = strip.row * down_.source_step + down_.source_first + down,
                   .first_column = across_.source_first + across,
                   .step_down = down_.source_step,
                   .step_across = across_.source_step,
                   .rows = whole ? image_rows() : strip.rows + down_.more,
                   .columns = plane_row()};
    for (int64_t i = 0; i < group_; ++i) {
      BFloat16* const image = to + (plane * group_ + i) * image_pixels() * kDeep;
      rows.data = source + ((strip.image + i) * blocks + block) * area;
      if (i < strip.images)
        pack(rows, image);
      else if (whole)
        std::fill_n(image, image_pixels() * kDeep, BFloat16());
    }
  }
}

void Strips::pack_windows(const GridStrip& strip, const BFloat16* source, int64_t plane, bool whole,
                          BFloat16* to) const {
  const int64_t image = windows_->inputs * windows_->down.image * windows_->across.image;
  const int64_t rows = whole ? image_rows() : strip.rows;
  for (int64_t i = 0; i < group_; ++i, to += image_pixels() * kDeep) {
    if (i < strip.images)
      windows_->pack(source + (strip.image + i) * image, plane, strip.row, rows, to);
    else if (whole)
      std::fill_n(to, image_pixels() * kDeep, BFloat16());
  }
}

LinesAhead Strips::source_of(const GridStrip& strip, const BFloat16* source, int64_t blocks) const {
  if (windows_) return {};
  constexpr int64_t kElement = sizeof(BFloat16), kLine = 64;
  const int64_t width = across_.source * kBlock * kElement, area = down_.source * width;
  const int64_t first = strip.row * down_.source_step + down_.source_first;
  const int64_t end = first + (strip.rows + down_.more - 1) * down_.source_step + down_.planes;
  const int64_t begin = std::clamp<int64_t>(first, 0, down_.source);
  const int64_t rows = std::clamp<int64_t>(end, begin, down_.source) - begin;
  const bool all_rows = down_.planes == down_.source_step;
  return {
      .from = reinterpret_cast<const char*>(source) + strip.image * blocks * area + begin * width,
      .lines = divided_up(all_rows ? rows * width : width, kLine),
      .rows = all_rows ? 1 : divided_up(rows, down_.source_step),
      .row = down_.source_step * width,
      .blocks = blocks,
      .block = area,
      .images = rows > 0 ? strip.images : 0,
      .image = blocks * area};
}

}  // namespace lockstep::amx
