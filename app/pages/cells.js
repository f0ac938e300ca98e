// SPDX-License-Identifier: Apache-2.0
// A grid of cells over the boxes of a layout: finds the boxes in a window, and draws whole cells
// where boxes would be smaller than a pixel.
(function (lockstep) {
  'use strict';

  const kColumns = 4, kRows = 16;  // boxes in a cell, roughly

  lockstep.Cells = class {
    constructor(layout, boxPhase) {
      this.layout = layout;
      const {bounds, x, y} = layout, count = x.length;
      // A sparse layout has larger cells, so that their number stays near the boxes'.
      const wide = 200 * kColumns, high = 70 * kRows;
      const wanted = (bounds.width / wide) * (bounds.height / high);
      const growth = Math.max(1, Math.sqrt(wanted / (count + 64)));
      this.wide = wide * growth;
      this.high = high * growth;
      this.columns = Math.max(1, Math.ceil(bounds.width / this.wide));
      this.rows = Math.max(1, Math.ceil(bounds.height / this.high));
      const cells = new Int32Array(count);
      for (let box = 0; box < count; ++box)
        cells[box] = this.row(y[box]) * this.columns + this.column(x[box]);
      this.boxes = lockstep.grouped(cells, Int32Array.from(cells.keys()), this.columns * this.rows);
      this.findSpans(boxPhase);
    }

    column(x) { return this.clamp(Math.floor((x - this.layout.bounds.x) / this.wide), this.columns); }
    row(y) { return this.clamp(Math.floor((y - this.layout.bounds.y) / this.high), this.rows); }
    clamp(index, count) { return Math.min(Math.max(index, 0), count - 1); }

    // The rectangle around the boxes of each phase in each cell, as five numbers: phase, x, y, width
    // and height.
    findSpans(boxPhase) {
      const {x, y} = this.layout, {width, height} = lockstep.kBox;
      this.spans = [];
      for (let cell = 0; cell + 1 < this.boxes.begins.length; ++cell) {
        const found = new Map();
        for (let i = this.boxes.begins[cell]; i < this.boxes.begins[cell + 1]; ++i) {
          const box = this.boxes.items[i], phase = boxPhase[box];
          const span = found.get(phase) || [Infinity, Infinity, -Infinity, -Infinity];
          span[0] = Math.min(span[0], x[box]);
          span[1] = Math.min(span[1], y[box]);
          span[2] = Math.max(span[2], x[box] + width);
          span[3] = Math.max(span[3], y[box] + height);
          found.set(phase, span);
        }
        for (const [phase, [left, top, right, bottom]] of found)
          this.spans.push([phase, left, top, right - left, bottom - top]);
      }
    }

    // Calls use(box) for the boxes in the window; false from `use` ends the search.
    within(left, top, right, bottom, use) {
      const {x, y} = this.layout, {width, height} = lockstep.kBox;
      const firstColumn = this.column(left - width), lastColumn = this.column(right);
      const lastRow = this.row(bottom);
      for (let row = this.row(top - height); row <= lastRow; ++row)
        for (let column = firstColumn; column <= lastColumn; ++column) {
          const cell = row * this.columns + column;
          for (let i = this.boxes.begins[cell]; i < this.boxes.begins[cell + 1]; ++i) {
            const box = this.boxes.items[i];
            if (x[box] > right || x[box] + width < left || y[box] > bottom || y[box] + height < top)
              continue;
            if (use(box) === false) return;
          }
        }
    }

    at(pointX, pointY) {
      let hit = -1;
      this.within(pointX, pointY, pointX, pointY, (box) => {
        hit = box;
        return false;
      });
      return hit;
    }
  };
})(window.lockstep = window.lockstep || {});
