// SPDX-License-Identifier: Apache-2.0
// The layout of a folded graph. Each phase is a column: the forward pass runs down in layers, the
// backward pass runs up beside it, and a gradient's reduces and updates follow to the right of it.
(function (lockstep) {
  'use strict';

  const {width: kWidth, height: kHeight} = lockstep.kBox;
  const {x: kStepX, y: kStepY} = lockstep.kStep;
  const kColumnGap = 84, kBlockGap = 260;
  const kMostStretch = 2.2;
  const kForward = 0, kBackward = 1, kPhases = 4;

  function extent(boxes, position) {
    let least = Infinity, most = -Infinity;
    for (const box of boxes) {
      least = Math.min(least, position[box]);
      most = Math.max(most, position[box]);
    }
    return {least, most};
  }

  // Moves the boxes' left edge to `left`; returns where the next column begins.
  function moveTo(boxes, x, left) {
    const {least, most} = extent(boxes, x);
    for (const box of boxes) x[box] += left - least;
    return left + most - least + kWidth + kColumnGap;
  }

  // Reduces and updates: layers run to the right; each box is level with its makers.
  function placeBeside(graph, boxes, layer, placed, x, y, height) {
    const layers = [];
    for (const box of boxes) (layers[layer[box]] = layers[layer[box]] || []).push(box);
    let left = 0;
    for (const column of layers.filter(Boolean)) {
      const wish = new Map();
      for (const box of column) {
        let sum = 0, count = 0;
        for (let i = graph.in.begins[box]; i < graph.in.begins[box + 1]; ++i) {
          const maker = graph.edgeFrom[graph.in.items[i]];
          if (!placed[maker]) continue;
          sum += y[maker];
          ++count;
        }
        wish.set(box, count > 0 ? sum / count : height);
      }
      column.sort((a, b) => wish.get(a) - wish.get(b) || a - b);
      const lanes = Math.max(1, Math.ceil((column.length * kStepY) / Math.max(height * 1.3, 12 * kStepY)));
      for (let lane = 0; lane < lanes; ++lane) {
        const part = column.filter((box, i) => i % lanes === lane);
        lockstep.spread(part, part.map((box) => wish.get(box)), kStepY, y);
        for (const box of part) {
          x[box] = left + lane * kStepX;
          placed[box] = 1;
        }
      }
      left += lanes * kStepX;
    }
  }

  // Forward and backward passes of a block, level with each other. Returns the block's height.
  function placePasses(graph, cell, phases, {layer, reach}, x, y, placed) {
    const rows = [kForward, kBackward].map((phase) => lockstep.placeRows(graph, cell, phases[phase], layer, reach, x));
    const most = Math.max(rows[0].length, rows[1].length, 1), height = (most - 1) * kStepY;
    for (const phase of [kForward, kBackward]) {
      const count = rows[phase].length;
      const step = count > 1 ? kStepY * Math.min((most - 1) / (count - 1), kMostStretch) : kStepY;
      rows[phase].forEach((row, i) => {
        for (const box of row) {
          y[box] = phase === kBackward ? height - i * step : i * step;
          placed[box] = 1;
        }
      });
    }
    return height;
  }

  // Columns of a block from left to right. Returns their headings, with x and width.
  function placeColumns(phases, x) {
    let left = 0;
    const headings = [];
    phases.forEach((boxes, phase) => {
      if (boxes.length === 0) return;
      const next = moveTo(boxes, x, left);
      headings.push({phase, x: left, width: next - left - kColumnGap, boxes: boxes.length});
      left = next;
    });
    return headings;
  }

  // The corner of each box, the headings of columns and blocks, and the bounds of all. A block has
  // all boxes shown of a replica, or of all replicas.
  lockstep.layoutOf = function (graph) {
    const count = graph.boxCount, all = graph.shown === lockstep.kAllReplicas;
    const x = new Float64Array(count), y = new Float64Array(count), cell = new Int32Array(count);
    const blocks = new Map();
    for (let box = 0; box < count; ++box) {
      const replica = all ? graph.boxReplica[box] : 0;
      if (!blocks.has(replica)) blocks.set(replica, {replica, phases: Array.from({length: kPhases}, () => [])});
      blocks.get(replica).phases[graph.boxPhase[box]].push(box);
      cell[box] = (replica + 1) * kPhases + graph.boxPhase[box];
    }
    const layer = lockstep.layersOf(graph, cell), placed = new Uint8Array(count);
    const order = {layer, reach: lockstep.reachOf(graph, cell, layer)};
    const laid = [...blocks.values()];
    let tallest = 0;
    for (const block of laid) {
      block.passes = placePasses(graph, cell, block.phases, order, x, y, placed);
      tallest = Math.max(tallest, block.passes);
    }
    // Reduces have makers in all blocks, and updates have reduces as makers.
    for (let phase = kBackward + 1; phase < kPhases; ++phase)
      for (const block of laid)
        if (block.phases[phase].length > 0)
          placeBeside(graph, block.phases[phase], layer, placed, x, y, Math.max(block.passes, tallest));
    for (const block of laid) {
      block.headings = placeColumns(block.phases, x);
      block.boxes = block.phases.flat();
      const high = extent(block.boxes, y);
      block.y = high.least;
      block.height = high.most - high.least + kHeight;
      block.width = extent(block.boxes, x).most + kWidth;
    }
    return {...arrange(laid, x, y), layer};
  };

  // Blocks in rows, in the order of replicas; values of all replicas come first.
  function arrange(laid, x, y) {
    laid.sort((a, b) => a.replica - b.replica);
    const headings = [], names = [];
    let area = 0;
    for (const block of laid) area += (block.width + kBlockGap) * (block.height + kBlockGap);
    const room = Math.sqrt(area * 1.7);
    let left = 0, top = 0, tallest = 0, width = 0;
    for (const block of laid) {
      if (left > 0 && left + block.width > room) {
        top += tallest + kBlockGap;
        left = tallest = 0;
      }
      for (const box of block.boxes) {
        x[box] += left;
        y[box] += top - block.y;
      }
      for (const heading of block.headings)
        headings.push({...heading, x: heading.x + left, y: top, height: block.height});
      names.push({replica: block.replica, x: left, y: top, width: block.width, height: block.height});
      tallest = Math.max(tallest, block.height);
      width = Math.max(width, left + block.width);
      left += block.width + kBlockGap;
    }
    const bounds = {x: -30, y: -90, width: width + 60, height: top + tallest + 130};
    return {x, y, headings, names, bounds};
  }
})(window.lockstep = window.lockstep || {});
