// SPDX-License-Identifier: Apache-2.0
// The arena of one worker over time: a rectangle for each block, and the bytes in use as a line.
(function (lockstep) {
  'use strict';

  const kLabel = {width: 60, height: 13};  // least size of a rectangle with its name

  lockstep.PlanArena = class {
    constructor(data, selected, lanes) {
      this.data = data;
      this.selected = selected;
      this.lanes = lanes;  // for its hatches
      this.worker = 0;
      this.high = 200;     // pixels
      this.uses = new Map();
    }

    get size() { return Math.max(this.data.workers[this.worker].arena, 1); }

    bounds() { return {x: 0, y: 0, width: Math.max(this.data.run_ns, 1), height: this.high}; }

    use() {
      if (!this.uses.has(this.worker)) this.uses.set(this.worker, this.data.useOf(this.worker));
      return this.uses.get(this.worker);
    }

    // Offsets grow upwards, as a chart's values do.
    yOf(view, bytes) { return view.toScreenY(4 + (this.high - 8) * (1 - bytes / this.size)); }

    rectangleAt(time, y) {
      const offset = (1 - (y - 4) / (this.high - 8)) * this.size;
      const {begin, end, offset: from, bytes} = this.data.rectangles;
      const hits = this.data.arenas[this.worker].filter((i) =>
        begin[i] <= time && time <= end[i] && from[i] <= offset && offset < from[i] + bytes[i]);
      return hits.length > 0 ? hits[hits.length - 1] : -1;
    }

    phaseOf(rectangle) {
      const producer = this.data.rectangles.producer[rectangle];
      if (this.data.rectangles.slots[rectangle].length === 0) return {name: 'waiting', letter: 'W'};
      return producer < 0 ? {name: 'data', letter: 'D'} : this.data.phase(producer);
    }

    draw(context, view) {
      const {begin, end, offset, bytes} = this.data.rectangles;
      this.high = Math.max(view.height - 2, 60);
      view.y = 0;
      const from = view.x, until = view.toWorldX(view.width);
      lockstep.drawTimes(context, view, 0, view.height, false);
      context.fillStyle = view.colour('shade');
      context.fillRect(view.toScreenX(0), this.yOf(view, this.size),
                       this.data.run_ns * view.scaleX, this.high - 8);
      for (const i of this.data.arenas[this.worker]) {
        if (begin[i] > until) break;
        if (end[i] < from) continue;
        const x = view.toScreenX(begin[i]), y = this.yOf(view, offset[i] + bytes[i]);
        const width = (end[i] - begin[i]) * view.scaleX;
        const height = bytes[i] / this.size * (this.high - 8);
        this.drawRectangle(context, view, i, x, y, width, height);
      }
      this.drawUse(context, view);
      const selected = this.selected.rectangle;
      if (selected < 0 || this.data.rectangles.worker[selected] !== this.worker) return;
      context.strokeStyle = view.colour('ink');
      context.lineWidth = 2.5;
      const y = this.yOf(view, offset[selected] + bytes[selected]);
      context.strokeRect(view.toScreenX(begin[selected]) - 1, y - 1,
                         Math.max((end[selected] - begin[selected]) * view.scaleX, 1) + 2,
                         Math.max(bytes[selected] / this.size * (this.high - 8), 1) + 2);
    }

    drawRectangle(context, view, i, x, y, width, height) {
      const phase = this.phaseOf(i);
      const left = Math.max(x, -4), shown = Math.min(x + width, view.width + 4) - left;
      if (width < 2 || height < 2) {
        context.fillStyle = view.colour(phase.name);
        context.globalAlpha = 0.7;
        context.fillRect(left, y, Math.max(shown, 0.7), Math.max(height, 0.7));
        context.globalAlpha = 1;
        return;
      }
      context.fillStyle = view.colour(phase.name + '-fill');
      context.fillRect(left, y, shown, height);
      const hatch = phase.hatch && this.lanes.hatch(context, view, phase);
      if (hatch) {
        context.fillStyle = hatch;
        context.globalAlpha = 0.5;
        context.fillRect(left, y, shown, height);
        context.globalAlpha = 1;
      }
      context.strokeStyle = view.colour(phase.name);
      context.lineWidth = 1;
      context.strokeRect(left + 0.5, y + 0.5, Math.max(shown - 1, 0.5), Math.max(height - 1, 0.5));
      if (shown < kLabel.width || height < kLabel.height) return;
      const begin = Math.max(left, 0);
      context.font = '11px system-ui, sans-serif';
      context.save();
      context.beginPath();
      context.rect(begin, y, Math.min(left + shown, view.width) - begin - 2, height);
      context.clip();
      const text = phase.letter + ' ' + this.data.rectangleName(i).slice(0, 80);
      context.fillStyle = view.colour(phase.name + '-fill');
      context.fillRect(begin + 2, y + height / 2 - 6, context.measureText(text).width + 4, 12);
      context.fillStyle = view.colour('ink');
      context.fillText(text, begin + 4, y + height / 2 + 4);
      context.restore();
    }

    drawUse(context, view) {
      const use = this.use();
      context.strokeStyle = view.colour('ink');
      context.lineWidth = 1.5;
      context.beginPath();
      let before = 0, lastX = -Infinity;
      context.moveTo(view.toScreenX(0), this.yOf(view, 0));
      for (const [at, bytes] of use) {
        const x = view.toScreenX(at);
        if (x > view.width + 10) break;
        if (x - lastX >= 0.5 || bytes > before) {
          context.lineTo(x, this.yOf(view, before));
          context.lineTo(x, this.yOf(view, bytes));
          lastX = x;
        }
        before = bytes;
      }
      context.stroke();
      const peak = this.data.workers[this.worker];
      const y = this.yOf(view, peak.peak);
      context.setLineDash([5, 4]);
      context.lineWidth = 1;
      context.beginPath();
      context.moveTo(0, y);
      context.lineTo(view.width, y);
      context.stroke();
      context.setLineDash([]);
      const text = 'peak ' + lockstep.bytesText(peak.peak);
      context.font = '11px system-ui, sans-serif';
      const wide = context.measureText(text).width;
      context.fillStyle = view.colour('page');
      context.fillRect(view.width - wide - 10, y + 2, wide + 8, 15);
      context.fillStyle = view.colour('ink');
      context.fillText(text, view.width - wide - 6, y + 13);
    }
  };
})(window.lockstep = window.lockstep || {});
