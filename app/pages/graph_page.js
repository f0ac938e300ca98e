// SPDX-License-Identifier: Apache-2.0
// The page of a graph: the state of the view, and what its controls and keys do.
(function (lockstep) {
  'use strict';

  const kMostAtFirst = 70;     // boxes of the first view
  const kLegible = 0.5;        // the least scale of the first view
  const kReading = 0.8;        // the least scale at which a node is shown that was looked for
  lockstep.kWholeDepth = 100;
  lockstep.measured = {};      // milliseconds of the last action of each kind

  const byId = (id) => document.getElementById(id);

  lockstep.GraphPage = class {
    constructor(json) {
      this.data = new lockstep.GraphData(json);
      this.graph = new lockstep.FoldedGraph(this.data);
      this.anchor = -1;    // the node that stands for the selection in every folding
      this.selected = -1;  // its box
      this.panel = new lockstep.Panel(this.graph, (node) => this.jump(node));
      this.viewport = new lockstep.Viewport(byId('graph'), {
        draw: (context, view) => { if (this.layout) this.drawing.draw(context, view); },
        bounds: () => (this.layout ? this.layout.bounds : {x: 0, y: 0, width: 1, height: 1}),
        click: (x, y) => this.select(this.drawing.cells.at(x, y), false),
        doubleClick: (x, y) => this.toggleAt(x, y),
        hover: (x, y) => this.hover(x, y),
        key: (event) => lockstep.graphKey(this, event),
        least: 0.002, most: 4,
      });
      this.drawing = new lockstep.GraphDrawing(this.graph, this.viewport);
      this.search = new lockstep.Search(this.graph, {
        jump: (node) => this.jump(node),
        mark: (nodes) => this.mark(nodes),
        leave: () => this.viewport.canvas.focus(),
      });
      this.fillControls();
      this.chooseDepth();
      this.layOut();
      this.firstView();
      this.select(-1);
      const idle = window.requestIdleCallback || ((task) => setTimeout(task, 200));
      idle(() => {
        this.search.prepare();
        this.data.prepare();
      });
      window.addEventListener('hashchange', () => this.followLink());
      byId('graph').focus({preventScroll: true});
      this.followLink();
    }

    // A link from another page: graph.html#node=NAME.
    followLink() {
      const link = /^#node=(.*)$/.exec(location.hash);
      if (!link) return;
      let name = link[1];
      try {
        name = decodeURIComponent(name);
      } catch (error) {  // not encoded: the name as it is
      }
      for (let node = 0; node < this.data.nodeCount; ++node)
        if (this.data.name(node) === name) {
          this.jump(node);
          return;
        }
      this.say('no node has the name ' + name);
    }

    fillControls() {
      const data = this.data;
      byId('title').textContent = lockstep.shortened(document.title, 80);
      byId('facts').textContent = data.json.facts.slice(0, 4).map(([name, text]) => name + ' ' + text).join(' · ');
      const option = (value, text) => lockstep.element('option', {text, attributes: {value}});
      for (let depth = 0; depth < Math.min(data.deepest, 9); ++depth) byId('depth').append(option(depth, depth));
      byId('depth').append(option(lockstep.kWholeDepth, 'all'));
      byId('depth').addEventListener('change', (event) => this.setDepth(Number(event.target.value)));
      byId('replica-label').classList.toggle('hidden', data.replicas < 2);
      for (let k = 0; k < data.replicas; ++k)
        byId('replica').append(option(k, k === 0 ? `0, for all ${data.replicas}` : String(k)));
      byId('replica').append(option(lockstep.kAllReplicas, `all ${data.replicas}`));
      byId('replica').addEventListener('change', (event) => this.setReplica(Number(event.target.value)));
      byId('fit').addEventListener('click', () => this.viewport.fit());
      byId('parameters').addEventListener('click', () => this.toggleParameters());
      byId('help-button').addEventListener('click', () => byId('help').showModal());
      byId('help').addEventListener('close', () => byId('graph').focus());
    }

    // The deepest folding that fits on a screen.
    chooseDepth() {
      for (let depth = Math.min(this.data.deepest, 8); depth >= 0; --depth) {
        this.graph.setDepth(depth);
        this.graph.compute();
        if (this.graph.boxCount <= kMostAtFirst) break;
      }
    }

    layOut() {
      const begin = performance.now();
      this.graph.compute();
      this.layout = lockstep.layoutOf(this.graph);
      this.drawing.setLayout(this.layout);
      this.drawing.found.clear();
      this.selected = this.anchor >= 0 ? this.graph.boxOf[this.anchor] : -1;
      this.drawing.selected = this.selected;
      byId('depth').value = Math.min(this.graph.depth, lockstep.kWholeDepth);
      byId('replica').value = this.graph.shown;
      this.viewport.redraw();
      lockstep.measured.layout = performance.now() - begin;
    }

    // All of it if it is legible, else its beginning.
    firstView() {
      const view = this.viewport, {bounds} = this.layout;
      view.fit();
      if (view.scaleX >= kLegible) return;
      view.zoom(kLegible / view.scaleX);
      view.x = bounds.x;
      view.y = bounds.y;
    }

    // Changes the folding by `change`; the selected box, or the middle, stays where it is.
    refold(change, said) {
      const view = this.viewport, begin = performance.now();
      const before = this.selected >= 0 ? [view.toScreenX(this.layout.x[this.selected]),
                                           view.toScreenY(this.layout.y[this.selected])] : null;
      change();
      this.layOut();
      if (before && this.selected >= 0) {
        view.x = this.layout.x[this.selected] - before[0] / view.scaleX;
        view.y = this.layout.y[this.selected] - before[1] / view.scaleY;
      } else {
        this.firstView();
      }
      this.showDetails();
      this.say(`${said}; ${lockstep.count(this.graph.boxCount, 'box', 'boxes')}`);
      lockstep.measured.fold = performance.now() - begin;
    }

    setDepth(depth) {
      const said = depth >= this.data.deepest ? 'all unfolded' : 'folded to depth ' + depth;
      this.refold(() => this.graph.setDepth(depth >= this.data.deepest ? lockstep.kWholeDepth : depth), said);
    }
    setReplica(replica) {
      const twin = this.anchor >= 0 && replica >= 0 ? this.twinOf(this.anchor, replica) : this.anchor;
      this.refold(() => {
        this.graph.setReplica(replica);
        this.anchor = twin;
      }, replica < 0 ? `all ${this.data.replicas} replicas` : 'replica ' + replica);
    }
    nextReplica() {
      if (this.data.replicas < 2) return;
      const next = this.graph.shown + 1;
      this.setReplica(next < this.data.replicas ? next : lockstep.kAllReplicas);
    }

    // The node with the same path on another replica; -1 if there is none.
    twinOf(node, replica) {
      const data = this.data;
      if (data.replica[node] < 0 || data.replica[node] === replica) return node;
      const text = data.json.nodes.text, group = data.scopeGroup[data.scope[node]];
      for (let other = 0; other < data.nodeCount; ++other)
        if (data.replica[other] === replica && text[other] === text[node] &&
            data.scopeGroup[data.scope[other]] === group)
          return other;
      return -1;
    }

    // Unfolds a folded box; folds the scope around a node.
    toggle(box) {
      if (this.graph.boxScope[box] < 0) return this.foldAround(box);
      this.anchor = this.graph.boxFirst[box];
      const name = lockstep.shortened(this.graph.name(box), 80);
      this.refold(() => this.graph.unfold(box), 'unfolded ' + name);
    }
    foldAround(box) {
      this.anchor = this.graph.boxFirst[box];
      if (this.graph.foldAround(box)) this.refold(() => {}, 'folded');
      else this.say('no scope is around it');
    }
    toggleAt(x, y) {
      const box = this.drawing.cells.at(x, y);
      if (box >= 0) this.toggle(box);
    }

    // Selects a box, or nothing by -1.
    select(box, reveal = true) {
      const {x, y} = this.layout;
      if (box >= this.graph.boxCount) box = -1;  // of an empty graph
      if (box !== this.selected || box < 0) this.anchor = box >= 0 ? this.graph.boxFirst[box] : -1;
      this.selected = this.drawing.selected = box;
      if (box >= 0 && reveal)
        this.viewport.reveal(x[box], y[box], lockstep.kBox.width, lockstep.kBox.height);
      this.showDetails();
      this.say(box >= 0 ? this.described(box) : 'nothing is selected; Enter selects the first box, ? lists the keys');
      this.viewport.redraw();
    }

    described(box) {
      const graph = this.graph, folded = graph.boxScope[box] >= 0;
      const what = folded ? lockstep.count(graph.boxNodes[box], 'node') + ', folded'
                          : this.data.operator(graph.boxFirst[box]);
      const much = graph.boxWork[box] > 0 ? ', ' + lockstep.flop(graph.boxWork[box]) : '';
      return lockstep.shortened(graph.name(box), 160) + ': ' + lockstep.kPhases[graph.boxPhase[box]] + ', ' + what + much;
    }

    showDetails() {
      byId('parameters').setAttribute('aria-pressed', 'false');
      if (this.selected >= 0) this.panel.showBox(this.selected);
      else this.panel.showGraph();
    }
    toggleParameters() {
      const shown = byId('parameters').getAttribute('aria-pressed') === 'true';
      if (shown) {
        this.showDetails();
        return;
      }
      this.panel.showParameters();
      byId('parameters').setAttribute('aria-pressed', 'true');
      this.say('parameters by size');
    }

    hover(x, y) {
      const box = this.drawing.cells.at(x, y);
      const canvas = this.viewport.canvas;
      canvas.title = box >= 0 ? this.described(box) : '';
      canvas.classList.toggle('over', box >= 0);
    }

    // Shows a node that may be folded, or on another replica than the shown one.
    jump(node) {
      const begin = performance.now();
      if (!this.graph.isShown(node)) this.graph.setReplica(this.data.replica[node]);
      this.graph.unfoldAround(node);
      this.anchor = node;
      this.layOut();
      const view = this.viewport, box = this.selected;
      if (view.scaleX < kReading) view.zoom(kReading / view.scaleX);
      view.centre(this.layout.x[box] + lockstep.kBox.width / 2, this.layout.y[box] + lockstep.kBox.height / 2);
      this.select(box, false);
      view.canvas.focus({preventScroll: true});
      lockstep.measured.jump = performance.now() - begin;
    }

    // Follows the edge with the most values; pressed again at once, another edge of the same box.
    follow(ahead) {
      if (this.selected < 0) return;
      const again = this.walk && this.walk.ahead === ahead && this.walk.to === this.selected && this.walk.turn + 1 < this.walk.others.length;
      const walk = again && this.graph.neighbours(this.selected, ahead).length === 0
          ? {...this.walk, turn: this.walk.turn + 1}
          : {ahead, others: this.graph.neighbours(this.selected, ahead), turn: 0};
      if (walk.others.length === 0) {
        this.say(ahead ? 'nothing shown reads its results' : 'nothing shown makes its inputs');
        return;
      }
      walk.to = walk.others[walk.turn];
      this.walk = walk;
      this.select(walk.to);
    }

    // From a forward node to its gradient's nodes in turn, and from these back. A node leads to nodes,
    // which are unfolded; a folded box leads to boxes.
    showPartner() {
      if (this.selected < 0) return;
      const graph = this.graph, isNode = graph.boxScope[this.selected] < 0;
      let partners = this.panel.partnersOf(this.anchor);
      for (let node = graph.boxFirst[this.selected]; !isNode && node < this.data.nodeCount && partners.length === 0; ++node)
        if (graph.boxOf[node] === this.selected) partners = this.panel.partnersOf(node);
      if (partners.length === 0) {
        this.say('it has no gradient partner');
        return;
      }
      const target = partners[(partners.indexOf(this.cameFrom) + 1) % partners.length];
      this.cameFrom = this.anchor;
      if (isNode) {
        this.jump(target);
      } else {
        this.select(graph.boxOf[target]);
        this.anchor = target;
      }
    }

    mark(nodes) {
      this.drawing.found = new Set(nodes.map((node) => this.graph.boxOf[node]).filter((box) => box >= 0));
      this.viewport.redraw();
    }

    say(text) { byId('said').textContent = lockstep.shortened(text, 400); }
  };

  const begin = performance.now();
  lockstep.page = new lockstep.GraphPage(JSON.parse(byId('data').textContent));
  lockstep.measured.open = performance.now() - begin;
})(window.lockstep = window.lockstep || {});
