// SPDX-License-Identifier: Apache-2.0
// Layers of a folded graph, and the order and places of boxes in them. A cell is a phase of a block:
// only edges within a cell count. Every step takes time near linear in boxes and edges.
(function (lockstep) {
  'use strict';

  const kSweeps = 4;
  lockstep.kBox = {width: 190, height: 46};
  lockstep.kStep = {x: 214, y: 70};
  const kStepX = lockstep.kStep.x;

  // Longest paths among boxes of one cell, a phase of a block. On a cycle, which folding may make,
  // the box with the first node goes first: its edges from behind are not counted.
  function layersOf(graph, cell) {
    const count = graph.boxCount, layer = new Int32Array(count), open = new Int32Array(count);
    const done = new Uint8Array(count), queue = new Int32Array(count);
    const sameCell = (edge) => cell[graph.edgeFrom[edge]] === cell[graph.edgeTo[edge]];
    for (let edge = 0; edge < graph.edgeTo.length; ++edge)
      if (sameCell(edge)) ++open[graph.edgeTo[edge]];
    let filled = 0, taken = 0, next = 0;
    const take = (box) => {
      done[box] = 1;
      queue[filled++] = box;
    };
    for (let box = 0; box < count; ++box)
      if (open[box] === 0) take(box);
    while (taken < count) {
      while (taken === filled) {  // a cycle
        if (!done[next]) take(next);
        ++next;
      }
      const box = queue[taken++];
      for (let i = graph.out.begins[box]; i < graph.out.begins[box + 1]; ++i) {
        const edge = graph.out.items[i], to = graph.edgeTo[edge];
        if (!sameCell(edge) || done[to]) continue;
        layer[to] = Math.max(layer[to], layer[box] + 1);
        if (--open[to] === 0) take(to);
      }
    }
    pullSources(graph, cell, layer);
    return layer;
  }

  // A box without a maker in its cell moves next to its first user.
  function pullSources(graph, cell, layer) {
    for (let box = 0; box < graph.boxCount; ++box) {
      let hasMaker = false;
      for (let i = graph.in.begins[box]; i < graph.in.begins[box + 1] && !hasMaker; ++i)
        hasMaker = cell[graph.edgeFrom[graph.in.items[i]]] === cell[box];
      if (hasMaker) continue;
      let least = Infinity;
      for (let i = graph.out.begins[box]; i < graph.out.begins[box + 1]; ++i) {
        const to = graph.edgeTo[graph.out.items[i]];
        if (cell[to] === cell[box]) least = Math.min(least, layer[to]);
      }
      if (least !== Infinity && least > 0) layer[box] = least - 1;
    }
  }

  // The mean of a coordinate over a box's neighbours in the same cell, where long ways weigh most;
  // NaN without any.
  function meanOf(graph, cell, position, weight, box, ahead) {
    const {begins, items} = ahead ? graph.out : graph.in;
    const ends = ahead ? graph.edgeTo : graph.edgeFrom;
    let sum = 0, weights = 0;
    for (let i = begins[box]; i < begins[box + 1]; ++i) {
      const other = ends[items[i]];
      if (cell[other] !== cell[box]) continue;
      const weighs = 4 ** Math.min(weight[other] + 1 - weight[box], 0);
      sum += position[other] * weighs;
      weights += weighs;
    }
    return weights > 0 ? sum / weights : NaN;
  }

  // Places items at least `step` apart, near their wishes, in this order. The item `main` is placed
  // as it wishes; -1: the mean is.
  function spread(items, wishes, step, position, main = -1) {
    let sum = 0;
    for (let i = 0, last = -Infinity; i < items.length; ++i) {
      last = Math.max(wishes[i], last + step);
      position[items[i]] = last;
      sum += wishes[i] - last;
    }
    const shift = main >= 0 ? wishes[main] - position[items[main]] : sum / items.length;
    for (const item of items) position[item] += shift;
  }

  // The item on the longest way: chains are straight, and their leaves are beside them.
  function mainOf(items, reach) {
    let main = 0;
    for (let i = 1; i < items.length; ++i) if (reach[items[i]] > reach[items[main]]) main = i;
    return items.some((item, i) => i !== main && reach[item] === reach[items[main]]) ? -1 : main;
  }

  // The number of layers behind each box in its cell.
  function reachOf(graph, cell, layer) {
    const count = graph.boxCount, reach = new Int32Array(count), numbers = new Int32Array(count);
    let layers = 1;
    for (let box = 0; box < count; ++box) {
      numbers[box] = box;
      layers = Math.max(layers, layer[box] + 1);
    }
    const order = lockstep.grouped(layer, numbers, layers).items;
    for (let k = count - 1; k >= 0; --k) {
      const box = order[k];
      for (let i = graph.out.begins[box]; i < graph.out.begins[box + 1]; ++i) {
        const to = graph.edgeTo[graph.out.items[i]];
        if (cell[to] === cell[box] && layer[to] > layer[box]) reach[box] = Math.max(reach[box], reach[to] + 1);
      }
    }
    return reach;
  }

  // Orders each layer by the barycentres of its neighbours, and finds x. Returns visual rows: a very
  // wide layer has several.
  function placeRows(graph, cell, boxes, layer, reach, x) {
    const layers = [];
    for (const box of boxes) (layers[layer[box]] = layers[layer[box]] || []).push(box);
    const rows = layers.filter(Boolean);
    for (const row of rows) row.forEach((box, i) => { x[box] = (i - (row.length - 1) / 2) * kStepX; });
    for (let sweep = 0; sweep < kSweeps; ++sweep) {
      const ahead = sweep % 2 === 1;
      for (const row of ahead ? [...rows].reverse() : rows) {
        const wish = new Map();
        for (const box of row) {
          const mean = meanOf(graph, cell, x, ahead ? reach : layer, box, ahead);
          wish.set(box, isNaN(mean) ? x[box] : mean);
        }
        row.sort((a, b) => wish.get(a) - wish.get(b) || a - b);
        spread(row, row.map((box) => wish.get(box)), kStepX, x, mainOf(row, reach));
      }
    }
    // Boxes at the ends of ways stay beside their makers.
    for (const row of rows) {
      const wish = new Map();
      for (const box of row) {
        const mean = reach[box] === 0 ? meanOf(graph, cell, x, layer, box, false) : NaN;
        wish.set(box, isNaN(mean) ? x[box] : mean);
      }
      row.sort((a, b) => wish.get(a) - wish.get(b) || reach[b] - reach[a] || a - b);
      spread(row, row.map((box) => wish.get(box)), kStepX, x, mainOf(row, reach));
    }
    const most = Math.max(8, Math.ceil(1.5 * Math.sqrt(boxes.length)));
    const visual = [];
    for (const row of rows) {
      if (row.length <= most) {
        visual.push(row);
        continue;
      }
      for (let i = 0; i < row.length; i += most) {
        const part = row.slice(i, i + most);
        part.forEach((box, k) => { x[box] = (k - (part.length - 1) / 2) * kStepX; });
        visual.push(part);
      }
    }
    return visual;
  }

  Object.assign(lockstep, {layersOf, reachOf, placeRows, spread});
})(window.lockstep = window.lockstep || {});
