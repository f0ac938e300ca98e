// SPDX-License-Identifier: Apache-2.0
// The data of a plan's page, as columns of numbers, and questions about them.
(function (lockstep) {
  'use strict';

  const kLongestText = 300;  // of names: a file may have a name of a megabyte

  // Phases by number: a letter and a hatch tell them apart without colours.
  lockstep.kPhases = [
    {name: 'forward', letter: 'F', hatch: 'none'},
    {name: 'backward', letter: 'B', hatch: 'rising'},
    {name: 'reduce', letter: 'R', hatch: 'crossed'},
    {name: 'update', letter: 'U', hatch: 'level'}];

  lockstep.timeText = function (ns) {
    if (ns >= 1e9) return (ns / 1e9).toPrecision(4) + ' s';
    if (ns >= 1e6) return (ns / 1e6).toPrecision(4) + ' ms';
    if (ns >= 1e3) return (ns / 1e3).toPrecision(4) + ' us';
    return Math.round(ns) + ' ns';
  };

  // A moment of the run, exact to a tenth of a microsecond.
  lockstep.momentText = function (ns) {
    return (ns / 1e6).toFixed(4) + ' ms';
  };

  // A mark of an axis whose marks have this gap.
  lockstep.markText = function (ns, gap) {
    if (ns === 0) return '0';
    const [unit, size] = gap >= 1e8 ? ['s', 1e9] : ns >= 1e6 || gap >= 1e5 ? ['ms', 1e6]
      : ['us', 1e3];
    return (ns / size).toFixed(Math.max(Math.ceil(-Math.log10(gap / size) - 1e-9), 0)) + ' ' + unit;
  };

  lockstep.bytesText = function (bytes) {
    const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
    let unit = 0;
    for (; bytes >= 1024 && unit < 4; ++unit) bytes /= 1024;
    return (unit === 0 ? bytes : bytes.toPrecision(bytes < 1000 ? 3 : 4)) + ' ' + units[unit];
  };

  lockstep.shortName = function (name) {
    return name.length <= kLongestText
      ? name : name.slice(0, kLongestText) + ' .. (' + name.length + ' characters)';
  };

  lockstep.PlanData = class {
    constructor(json) {
      Object.assign(this, json);
      const {steps, rectangles} = this;
      for (const name of ['begin', 'end']) {
        steps[name] = Float64Array.from(steps[name]);
        rectangles[name] = Float64Array.from(rectangles[name]);
      }
      this.stepCount = steps.name.length;
      this.lanes = this.workers.map(() => []);  // steps by worker, in order
      for (let i = 0; i < this.stepCount; ++i) this.lanes[steps.worker[i]].push(i);
      this.arenas = this.workers.map(() => []);  // rectangles by worker, by their begin
      this.rectangleOfBlock = new Map();
      rectangles.block.forEach((block, i) => {
        this.arenas[rectangles.worker[i]].push(i);
        this.rectangleOfBlock.set(block, i);
      });
      for (const arena of this.arenas)
        arena.sort((a, b) => rectangles.begin[a] - rectangles.begin[b] || a - b);
      this.users = steps.waits.map(() => []);  // steps that wait for a step
      steps.waits.forEach((waits, i) => {
        for (const awaited of waits) this.users[awaited].push(i);
      });
    }

    stepName(i) { return lockstep.shortName(this.texts[this.steps.name[i]]); }
    slotName(i) { return lockstep.shortName(this.texts[this.slots.name[i]]); }
    workerName(w) { return this.workers[w].name; }
    phase(i) { return lockstep.kPhases[this.steps.phase[i]]; }
    duration(i) { return this.steps.end[i] - this.steps.begin[i]; }

    rectangleName(i) {
      const slots = this.rectangles.slots[i];
      return slots.length > 0 ? this.slotName(slots[0])
        : 'workspace of ' + this.stepName(this.rectangles.producer[i]);
    }

    // The rectangle of a slot's block, or -1.
    rectangleOf(slot) {
      const found = this.rectangleOfBlock.get(this.slots.block[slot]);
      return found === undefined ? -1 : found;
    }

    // The first of `list` that ends after `time`; ends ascend on a lane.
    firstEndingAfter(list, ends, time) {
      let low = 0, high = list.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (ends[list[middle]] > time) high = middle;
        else low = middle + 1;
      }
      return low;
    }

    // Bytes of an arena in use: [time, bytes] at each change.
    useOf(worker) {
      const changes = [];
      const {begin, end, bytes} = this.rectangles;
      for (const i of this.arenas[worker]) {
        changes.push([begin[i], bytes[i]]);
        changes.push([end[i], -bytes[i]]);
      }
      changes.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
      const use = [];
      let sum = 0;
      for (const [at, change] of changes) {
        sum += change;
        if (use.length > 0 && use[use.length - 1][0] === at) use[use.length - 1][1] = sum;
        else use.push([at, sum]);
      }
      return use;
    }

    // Steps and rectangles whose names contain the text, steps first.
    find(text, most) {
      const wanted = text.toLowerCase(), hits = [];
      const has = this.texts.map((name) => name.toLowerCase().includes(wanted));
      const {steps, slots, rectangles} = this;
      for (let i = 0; i < this.stepCount && hits.length < most; ++i)
        if (has[steps.name[i]] || has[steps.type[i]]) hits.push({step: i});
      for (let i = 0; i < rectangles.block.length && hits.length < 2 * most; ++i)
        if (rectangles.slots[i].some((slot) => has[slots.name[slot]])) hits.push({rectangle: i});
      return hits.slice(0, 2 * most);
    }
  };
})(window.lockstep = window.lockstep || {});
