// SPDX-License-Identifier: Apache-2.0
// The lanes of workers over time: steps as bars, waits as arrows. The world is nanoseconds by
// pixels.
(function (lockstep) {
  'use strict';

  const kAxis = 22;          // height of the time axis
  const kMostArrows = 600;   // more would hide the bars; then only waits that delay a step are drawn
  const kLeastArrow = 4;     // pixels between the ends of an arrow that is drawn
  const kNames = 50;         // width of the names of lanes
  const kLetter = 11, kName = 44;  // widths of bars with a letter, with a name

  // Hatches of phases, as patterns in a phase's colour.
  lockstep.hatchOf = function (context, kind, colour) {
    if (kind === 'none') return null;
    const tile = document.createElement('canvas');
    tile.width = tile.height = 7;
    const ink = tile.getContext('2d');
    ink.strokeStyle = colour;
    ink.globalAlpha = 0.55;
    ink.lineWidth = 1;
    const line = (x, y, toX, toY) => {
      ink.beginPath();
      ink.moveTo(x, y);
      ink.lineTo(toX, toY);
      ink.stroke();
    };
    if (kind === 'rising' || kind === 'crossed') {
      line(-1, 8, 8, -1);
      line(-1, 1, 1, -1);
      line(6, 8, 8, 6);
    }
    if (kind === 'crossed') {
      line(-1, -1, 8, 8);
      line(6, -1, 8, 1);
      line(-1, 6, 1, 8);
    }
    if (kind === 'level') line(0, 3.5, 7, 3.5);
    return context.createPattern(tile, 'repeat');
  };

  // Marks at round times; the same for both charts.
  lockstep.drawTimes = function (context, view, bottom, height, withText) {
    const wanted = 90 / view.scaleX, power = Math.pow(10, Math.floor(Math.log10(wanted)));
    const gap = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= wanted);
    context.strokeStyle = view.colour('edge');
    context.fillStyle = view.colour('soft');
    context.font = '11px system-ui, sans-serif';
    context.textAlign = 'center';
    context.lineWidth = 1;
    for (let at = Math.ceil(view.x / gap) * gap; at < view.toWorldX(view.width); at += gap) {
      if (at < 0) continue;
      const x = Math.round(view.toScreenX(at)) + 0.5;
      context.beginPath();
      context.moveTo(x, bottom);
      context.lineTo(x, height);
      context.stroke();
      if (withText) context.fillText(lockstep.markText(at, gap), x, 12);
    }
    context.textAlign = 'left';
  };

  lockstep.PlanLanes = class {
    constructor(data, selected) {
      this.data = data;
      this.selected = selected;  // {step, rectangle}, shared by both charts
      this.showsWaits = true;
      this.hatches = new Map();
      this.pitch = data.workers.length > 10 ? 24 : data.workers.length > 5 ? 28 : 40;
      this.bar = this.pitch > 30 ? 24 : this.pitch - 6;
    }

    get height() { return this.data.workers.length * this.pitch; }
    top(worker) { return worker * this.pitch + (this.pitch - this.bar) / 2; }

    bounds() {
      return {x: 0, y: -kAxis, width: Math.max(this.data.run_ns, 1), height: this.height + kAxis};
    }

    stepAt(time, y) {
      const worker = Math.floor(y / this.pitch), lane = this.data.lanes[worker];
      if (!lane) return -1;
      const step = lane[this.data.firstEndingAfter(lane, this.data.steps.end, time)];
      return step !== undefined && this.data.steps.begin[step] <= time ? step : -1;
    }

    draw(context, view) {
      const first = Math.max(Math.floor(view.toWorldY(0) / this.pitch), 0);
      const end = Math.min(Math.ceil(view.toWorldY(view.height) / this.pitch),
                           this.data.workers.length);
      lockstep.drawTimes(context, view, kAxis, view.height, false);
      for (let worker = first; worker < end; ++worker) this.drawLane(context, view, worker);
      if (this.showsWaits) this.drawWaits(context, view, first, end);
      this.drawSelected(context, view);
      for (let worker = first; worker < end; ++worker) this.drawName(context, view, worker);
      context.fillStyle = view.colour('page');
      context.fillRect(0, 0, view.width, kAxis);
      lockstep.drawTimes(context, view, kAxis - 4, kAxis, true);
    }

    // Bars thinner than a pixel are drawn as one, in the colour that takes most of its time.
    drawLane(context, view, worker) {
      const {steps} = this.data, lane = this.data.lanes[worker];
      const y = view.toScreenY(this.top(worker)), until = view.toWorldX(view.width);
      context.fillStyle = view.colour('waiting-fill');
      context.fillRect(view.toScreenX(0), y + this.bar / 2 - 1, this.data.run_ns * view.scaleX, 2);
      let i = this.data.firstEndingAfter(lane, steps.end, view.x);
      while (i < lane.length && steps.begin[lane[i]] < until) {
        const step = lane[i], x = view.toScreenX(steps.begin[step]);
        const width = view.toScreenX(steps.end[step]) - x;
        if (width >= 1) {
          this.drawBar(context, view, step, x, y, width);
          ++i;
          continue;
        }
        const sums = [0, 0, 0, 0];
        const pixel = Math.floor(x) + 1;
        let last = step;
        for (; i < lane.length && view.toScreenX(steps.end[lane[i]]) <= pixel; ++i) {
          last = lane[i];
          sums[steps.phase[last]] += this.data.duration(last) + 1;
        }
        if (last === step && sums.every((sum) => sum === 0)) {
          sums[steps.phase[step]] = 1;  // over the edge of a pixel
          ++i;
        }
        const phase = lockstep.kPhases[sums.indexOf(Math.max(...sums))];
        context.fillStyle = view.colour(phase.name);
        context.fillRect(x, y, Math.max(view.toScreenX(steps.end[last]) - x, 0.6), this.bar);
      }
    }

    drawBar(context, view, step, x, y, width) {
      const phase = this.data.phase(step), bar = this.bar;
      const left = Math.max(x, -20), shown = Math.min(x + width, view.width + 20) - left;
      const strong = view.colour(phase.name);
      context.fillStyle = width < 3 ? strong : view.colour(phase.name + '-fill');
      context.fillRect(left, y, shown, bar);
      if (width < 3) return;
      const hatch = this.hatch(context, view, phase);
      if (hatch) {
        context.fillStyle = hatch;
        context.fillRect(left, y, shown, bar);
      }
      context.strokeStyle = strong;
      context.lineWidth = 1;
      context.strokeRect(left + 0.5, y + 0.5, Math.max(shown - 1, 0.5), bar - 1);
      if (this.data.steps.collective[step]) {  // two thick edges: all replicas meet here
        context.fillStyle = strong;
        context.fillRect(left, y, shown, 3);
        context.fillRect(left, y + bar - 3, shown, 3);
      }
      if (shown < kLetter) return;
      const begin = left < 0 ? Math.min(kNames, left + shown) : left;  // beside the lane's name
      const room = Math.min(left + shown, view.width) - begin - 8;
      context.font = '11px system-ui, sans-serif';
      let text = phase.letter;
      if (shown >= kName) text += ' ' + this.data.stepName(step).slice(0, Math.ceil(room / 5));
      context.save();
      context.beginPath();
      context.rect(left, y, shown - 2, bar);
      context.clip();
      const wide = Math.min(context.measureText(text).width + 4, shown - 3);
      context.fillStyle = view.colour(phase.name + '-fill');
      context.fillRect(begin + 2, y + bar / 2 - 7, wide, 14);
      context.fillStyle = view.colour('ink');
      context.fillText(text, begin + 3, y + bar / 2 + 4);
      context.restore();
    }

    hatch(context, view, phase) {
      const key = phase.name + view.colour(phase.name);
      if (!this.hatches.has(key))
        this.hatches.set(key, lockstep.hatchOf(context, phase.hatch, view.colour(phase.name)));
      return this.hatches.get(key);
    }

    // Waits of visible steps for other lanes. A wait that delays its step is drawn stronger.
    drawWaits(context, view, first, end) {
      const {steps} = this.data, arrows = [];
      const until = view.toWorldX(view.width);
      let all = 0;
      for (let worker = 0; worker < this.data.workers.length; ++worker) {
        const lane = this.data.lanes[worker];
        for (let i = this.data.firstEndingAfter(lane, steps.end, view.x);
          i < lane.length && steps.begin[lane[i]] < until; ++i)
          for (const awaited of steps.waits[lane[i]]) {
            const from = steps.worker[awaited];
            const passes = Math.min(worker, from) < end && Math.max(worker, from) >= first;
            if (!passes) continue;
            const delays = steps.awaited[lane[i]] === awaited;
            ++all;
            arrows.push([awaited, lane[i], delays]);
          }
      }
      const last = new Map();  // one arrow for arrows that would cover each other
      for (const [from, to, delays] of arrows) {
        if (!delays && all > kMostArrows) continue;
        const key = steps.worker[from] + ':' + steps.worker[to];
        const x = view.toScreenX(steps.begin[to]);
        if (x - (last.has(key) ? last.get(key) : -Infinity) < kLeastArrow) continue;
        last.set(key, x);
        this.drawArrow(context, view, from, to, delays ? 'bad' : 'soft', delays ? 0.8 : 0.35);
      }
    }

    drawArrow(context, view, from, to, colour, alpha) {
      const {steps} = this.data;
      const middle = (step) => view.toScreenY(this.top(steps.worker[step]) + this.bar / 2);
      const down = steps.worker[to] >= steps.worker[from] ? 1 : -1;
      const x0 = view.toScreenX(steps.end[from]), y0 = middle(from) + down * this.bar / 2;
      const x1 = view.toScreenX(steps.begin[to]), y1 = middle(to) - down * this.bar / 2;
      context.globalAlpha = alpha;
      context.strokeStyle = context.fillStyle = view.colour(colour);
      context.lineWidth = 1.2;
      context.beginPath();
      context.moveTo(x0, y0);
      context.bezierCurveTo(x0, (y0 + y1) / 2, x1, (y0 + y1) / 2, x1, y1);
      context.stroke();
      context.beginPath();
      context.moveTo(x1, y1);
      context.lineTo(x1 - 3.5, y1 - down * 6);
      context.lineTo(x1 + 3.5, y1 - down * 6);
      context.fill();
      context.globalAlpha = 1;
    }

    drawSelected(context, view) {
      const step = this.selected.step, {steps} = this.data;
      if (step < 0) return;
      for (const awaited of steps.waits[step])
        this.drawArrow(context, view, awaited, step, 'accent', 1);
      for (const user of this.data.users[step].slice(0, 200))
        this.drawArrow(context, view, step, user, 'accent', 1);
      const x = view.toScreenX(steps.begin[step]), y = view.toScreenY(this.top(steps.worker[step]));
      context.strokeStyle = view.colour('ink');
      context.lineWidth = 2.5;
      context.strokeRect(x - 2, y - 3, Math.max(this.data.duration(step) * view.scaleX, 1) + 4,
                         this.bar + 6);
    }

    drawName(context, view, worker) {
      const name = this.data.workerName(worker);
      const y = view.toScreenY(this.top(worker));
      context.font = '600 11px system-ui, sans-serif';
      context.fillStyle = view.colour('page');
      context.globalAlpha = 0.88;
      context.fillRect(0, y, context.measureText(name).width + 10, this.bar);
      context.globalAlpha = 1;
      context.fillStyle = view.colour('ink');
      context.fillText(name, 4, y + this.bar / 2 + 4);
    }
  };
})(window.lockstep = window.lockstep || {});
