// SPDX-License-Identifier: Apache-2.0
// Draws a laid-out graph. The farther away, the less is drawn: texts and curves, then plain boxes,
// then one mark for all boxes of a cell.
(function (lockstep) {
  'use strict';

  const kTextFrom = 18, kBoxesFrom = 5, kCellsUnder = 1.4;  // heights of a box in pixels
  const kCurvesFrom = 9;
  const kMostEdges = 2500;         // of one frame; with more, every n-th is drawn
  const kMostText = 120;           // characters of a name that are measured
  const kDashes = [[], [6, 3], [2, 3], []];  // borders by phase; a second mark beside the letter

  lockstep.GraphDrawing = class {
    constructor(graph, viewport) {
      this.graph = graph;
      this.viewport = viewport;
      this.selected = -1;
      this.found = new Set();  // boxes that a search marks
    }

    setLayout(layout) {
      this.layout = layout;
      this.cells = new lockstep.Cells(layout, this.graph.boxPhase);
      this.mostWork = 0;
      for (let box = 0; box < this.graph.boxCount; ++box)
        this.mostWork = Math.max(this.mostWork, this.load(box));
    }

    // The time of a box where a trace has it, else its operations: for the bar in the box.
    load(box) {
      const time = this.graph.boxTime[box];
      return this.graph.data.hasTimes ? (isNaN(time) ? 0 : time) : this.graph.boxWork[box];
    }

    draw(context, view) {
      const height = lockstep.kBox.height * view.scaleY;
      this.drawHeadings(context, view);
      if (height < kCellsUnder) {
        this.drawSpans(context, view);
      } else {
        const boxes = [];
        this.cells.within(view.x, view.y, view.toWorldX(view.width), view.toWorldY(view.height),
                          (box) => { boxes.push(box); });
        if (height >= kBoxesFrom) this.drawEdges(context, view, boxes, height);
        if (height >= kBoxesFrom) this.drawBoxes(context, view, boxes, height);
        else this.drawMarks(context, view, boxes);
      }
      this.drawSelected(context, view, height);
      this.drawHeadingTexts(context, view);
    }

    drawSpans(context, view) {
      context.globalAlpha = 0.75;
      for (const [phase, x, y, width, height] of this.cells.spans) {
        const left = view.toScreenX(x), top = view.toScreenY(y);
        if (left > view.width || top > view.height) continue;
        const wide = Math.max(width * view.scaleX, 1), high = Math.max(height * view.scaleY, 1);
        if (left + wide < 0 || top + high < 0) continue;
        context.fillStyle = view.colour(lockstep.kPhases[phase]);
        context.fillRect(left, top, wide, high);
      }
      context.globalAlpha = 1;
    }

    // Boxes without texts, by phase.
    drawMarks(context, view, boxes) {
      const {x, y} = this.layout;
      const wide = Math.max(lockstep.kBox.width * view.scaleX, 1);
      const high = Math.max(lockstep.kBox.height * view.scaleY, 1);
      for (let phase = 0; phase < lockstep.kPhases.length; ++phase) {
        context.fillStyle = view.colour(lockstep.kPhases[phase]);
        for (const box of boxes)
          if (this.graph.boxPhase[box] === phase)
            context.fillRect(view.toScreenX(x[box]), view.toScreenY(y[box]), wide, high);
      }
    }

    drawEdges(context, view, boxes, height) {
      const {begins, items} = this.graph.in, out = this.graph.out;
      const edges = [], seen = new Set();
      const add = (edge) => {
        if (seen.has(edge)) return;
        seen.add(edge);
        edges.push(edge);
      };
      for (const box of boxes) {
        for (let i = begins[box]; i < begins[box + 1]; ++i) add(items[i]);
        for (let i = out.begins[box]; i < out.begins[box + 1]; ++i) add(out.items[i]);
        if (edges.length > 40 * kMostEdges) break;
      }
      const step = Math.ceil(edges.length / kMostEdges);
      context.strokeStyle = view.colour('soft');
      // Edges of one phase show the flow; edges between phases are many, and fainter.
      for (const between of [true, false]) {
        context.globalAlpha = between ? 0.22 : 0.65;
        context.lineWidth = between ? 1 : 1.3;
        context.beginPath();
        for (let i = 0; i < edges.length; i += step) {
          const from = this.graph.edgeFrom[edges[i]], to = this.graph.edgeTo[edges[i]];
          if ((this.graph.boxPhase[from] !== this.graph.boxPhase[to]) === between)
            this.trace(context, view, from, to, height >= kCurvesFrom);
        }
        context.stroke();
      }
      context.globalAlpha = 1;
    }

    // The path of one edge: between a lower and an upper side in a phase, else between the sides.
    trace(context, view, from, to, curved) {
      const {x, y} = this.layout, {width, height} = lockstep.kBox;
      const place = (box, right, down) => [view.toScreenX(x[box] + right * width),
                                           view.toScreenY(y[box] + down * height)];
      const vertical = this.graph.boxPhase[from] === this.graph.boxPhase[to] &&
                       this.graph.boxPhase[from] < 2 && Math.abs(y[from] - y[to]) > height / 2;
      const down = y[to] > y[from], right = x[to] > x[from] + 1;
      if (vertical && curved && Math.abs(this.layout.layer[from] - this.layout.layer[to]) > 1) {
        this.traceAround(context, place, from, to, down, view.scaleX);
        return;
      }
      const [x1, y1] = vertical ? place(from, 0.5, down ? 1 : 0) : place(from, right ? 1 : 0, 0.5);
      const [x2, y2] = vertical ? place(to, 0.5, down ? 0 : 1) : place(to, right ? 0 : 1, 0.5);
      context.moveTo(x1, y1);
      if (!curved) {
        context.lineTo(x2, y2);
      } else if (vertical) {
        const bend = (y2 - y1) / 2;
        context.bezierCurveTo(x1, y1 + bend, x2, y2 - bend, x2, y2);
      } else {
        const bend = Math.max(Math.abs(x2 - x1) / 2, 20) * (right ? 1 : -1);
        context.bezierCurveTo(x1 + bend, y1, x2 - bend, y2, x2, y2);
      }
    }

    // A long edge within a phase passes beside the boxes between its ends, and ends at a side.
    traceAround(context, place, from, to, down, scale) {
      const {x, y} = this.layout, aside = x[from] - x[to];
      const side = aside > -1 ? 1 : 0;
      const [x2, y2] = place(to, side, 0.5);
      if (Math.abs(aside) > 20) {
        const [x1, y1] = place(from, 0.5, down ? 1 : 0);
        context.moveTo(x1, y1);
        context.bezierCurveTo(x1, y1 + (y2 - y1) * 0.9, x1, y2, x2, y2);
        return;
      }
      const [x1, y1] = place(from, side, 0.5);
      const bulge = Math.min(40 + Math.abs(y[from] - y[to]) * 0.05, 110) * scale;
      context.moveTo(x1, y1);
      context.bezierCurveTo(x1 + bulge, y1, x2 + bulge, y2, x2, y2);
    }

    drawBoxes(context, view, boxes, height) {
      const {x, y} = this.layout;
      const width = lockstep.kBox.width * view.scaleX;
      context.lineWidth = 1.2;
      for (const box of boxes) {
        const phase = this.graph.boxPhase[box], name = lockstep.kPhases[phase];
        const left = view.toScreenX(x[box]), top = view.toScreenY(y[box]);
        const folded = this.graph.boxScope[box] >= 0;
        context.setLineDash(height >= kTextFrom ? kDashes[phase] : []);
        context.fillStyle = view.colour(name + '-fill');
        context.strokeStyle = view.colour(name);
        if (folded && height >= kTextFrom) this.outline(context, left + 3, top + 3, width, height);
        this.outline(context, left, top, width, height);
        const load = this.mostWork > 0 ? this.load(box) / this.mostWork : 0;
        if (load > 0) {
          context.fillStyle = view.colour(name);
          context.fillRect(left, top + height * 0.93, width * Math.max(load, 0.01), height * 0.07);
        }
        if (height >= kTextFrom) this.drawTexts(context, view, box, left, top, width, height);
      }
      context.setLineDash([]);
    }

    outline(context, left, top, width, height) {
      context.beginPath();
      if (context.roundRect) context.roundRect(left, top, width, height, Math.min(6, height / 6));
      else context.rect(left, top, width, height);
      context.fill();
      context.stroke();
    }

    drawTexts(context, view, box, left, top, width, height) {
      const graph = this.graph, phase = graph.boxPhase[box];
      const size = Math.min(15, height * 0.3), inner = width - height * 0.52 - 8;
      context.textBaseline = 'middle';
      context.font = `700 ${size}px system-ui, sans-serif`;
      context.fillStyle = view.colour(lockstep.kPhases[phase]);
      context.textAlign = 'center';
      context.fillText(lockstep.kLetters[phase], left + height * 0.26, top + height * 0.48);
      context.textAlign = 'left';
      context.font = `600 ${size}px system-ui, sans-serif`;
      context.fillStyle = view.colour('ink');
      const begin = left + height * 0.52;
      context.fillText(this.fitted(context, graph.label(box), inner), begin, top + height * 0.31);
      context.font = `${size * 0.88}px system-ui, sans-serif`;
      context.fillStyle = view.colour('soft');
      context.fillText(this.secondLine(context, box, inner), begin, top + height * 0.69);
    }

    // The operator or the number of nodes, and where there is room the time or the work.
    secondLine(context, box, width) {
      const graph = this.graph, time = graph.boxTime[box];
      const what = graph.boxScope[box] >= 0 ? lockstep.count(graph.boxNodes[box], 'node')
                                            : graph.data.operator(graph.boxFirst[box]);
      const much = !isNaN(time) ? lockstep.time(time)
                                : graph.boxWork[box] > 0 ? lockstep.flop(graph.boxWork[box]) : '';
      const both = what + ' · ' + much;
      return much && context.measureText(both).width <= width ? both : this.fitted(context, what, width);
    }

    // The text, or its beginning and end around a mark of what is left out.
    fitted(context, text, width) {
      const wide = context.measureText(text.slice(0, kMostText)).width;
      if (text.length <= kMostText && wide <= width) return text;
      const each = Math.max(wide / Math.min(text.length, kMostText), 1);
      for (let most = Math.max(Math.floor(width / each), 2); ; --most) {
        const tail = Math.floor((most - 1) / 2);
        const cut = text.slice(0, most - 1 - tail) + '…' + (tail > 0 ? text.slice(-tail) : '');
        if (most <= 2 || context.measureText(cut).width <= width) return cut;
      }
    }

    drawSelected(context, view, height) {
      const box = this.selected;
      const {x, y} = this.layout, grow = 3;
      const frame = (of, colour, width) => {
        context.strokeStyle = view.colour(colour);
        context.lineWidth = width;
        context.strokeRect(view.toScreenX(x[of]) - grow, view.toScreenY(y[of]) - grow,
                           Math.max(lockstep.kBox.width * view.scaleX, 4) + 2 * grow,
                           Math.max(height, 4) + 2 * grow);
      };
      for (const of of this.found) frame(of, 'reduce', 1.5);
      if (box < 0) return;
      context.strokeStyle = view.colour('accent');
      context.lineWidth = 1.8;
      context.beginPath();
      let left = 400;  // edges of a node that all nodes read would cover the page
      for (const {begins, items} of [this.graph.in, this.graph.out])
        for (let i = begins[box]; i < begins[box + 1] && left > 0; ++i, --left)
          this.trace(context, view, this.graph.edgeFrom[items[i]], this.graph.edgeTo[items[i]], true);
      context.stroke();
      frame(box, 'accent', 2.5);
    }

    // Pale columns behind the boxes.
    drawHeadings(context, view) {
      for (const heading of this.layout.headings) {
        context.globalAlpha = 0.28;
        context.fillStyle = view.colour(lockstep.kPhases[heading.phase] + '-fill');
        context.fillRect(view.toScreenX(heading.x - 24), view.toScreenY(heading.y - 56),
                         (heading.width + 48) * view.scaleX, (heading.height + 80) * view.scaleY);
      }
      context.globalAlpha = 1;
    }

    // Names of columns stay in sight at the upper edge.
    drawHeadingTexts(context, view) {
      context.textBaseline = 'middle';
      context.textAlign = 'left';
      for (const heading of this.layout.headings) {
        const left = Math.max(view.toScreenX(heading.x - 24), 4);
        const right = Math.min(view.toScreenX(heading.x + heading.width + 24), view.width);
        const bottom = view.toScreenY(heading.y + heading.height + 20);
        if (right - left < 18 || bottom < 24 || right < 0 || left > view.width) continue;
        const top = Math.max(view.toScreenY(heading.y - 40), 14);
        context.font = '600 13px system-ui, sans-serif';
        const text = lockstep.kLetters[heading.phase] + ' ' + lockstep.kPhases[heading.phase];
        const fits = context.measureText(text).width <= right - left - 10;
        const shown = fits ? text : lockstep.kLetters[heading.phase];
        const wide = context.measureText(shown).width + 12;
        context.fillStyle = view.colour('page');
        context.globalAlpha = 0.85;
        context.fillRect(left, top - 11, wide, 22);
        context.globalAlpha = 1;
        context.fillStyle = view.colour(lockstep.kPhases[heading.phase]);
        context.fillText(shown, left + 6, top);
      }
      if (this.layout.names.length < 2) return;
      context.font = '600 12px system-ui, sans-serif';
      context.fillStyle = view.colour('soft');
      for (const block of this.layout.names) {
        if (block.width * view.scaleX < 70) continue;
        const text = this.graph.data.deviceText(block.replica);
        context.fillText(this.fitted(context, text, block.width * view.scaleX - 8),
                         view.toScreenX(block.x), view.toScreenY(block.y - 80));
      }
    }
  };
})(window.lockstep = window.lockstep || {});
