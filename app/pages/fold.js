// SPDX-License-Identifier: Apache-2.0
// The folded graph: boxes that stand for nodes, or for all nodes of one scope and phase. A scope is
// folded for each phase by itself, since its forward and its backward nodes are far apart.
(function (lockstep) {
  'use strict';

  const kPhases = 4;
  lockstep.kAllReplicas = -1;

  lockstep.FoldedGraph = class {
    constructor(data) {
      this.data = data;
      this.shown = 0;  // the replica that stands for all
      this.open = new Uint8Array(data.groupCount * kPhases);
      this.depth = 0;
    }

    // Folds every scope that is deeper than `depth`.
    setDepth(depth) {
      const data = this.data;
      this.depth = depth;
      this.open.fill(0);
      for (let scope = 0; scope < data.scopeParent.length; ++scope)
        if (data.scopeLevel[scope] < depth || scope === 0)
          for (let phase = 0; phase < kPhases; ++phase)
            this.open[data.scopeGroup[scope] * kPhases + phase] = 1;
    }

    setReplica(replica) { this.shown = replica; }

    isShown(node) {
      const replica = this.data.replica[node];
      return this.shown === lockstep.kAllReplicas || replica === this.shown || replica < 0 ||
             replica >= this.data.replicas;
    }

    // Opens the box's scope. False for a node.
    unfold(box) {
      const scope = this.boxScope[box];
      if (scope < 0) return false;
      this.open[this.data.scopeGroup[scope] * kPhases + this.boxPhase[box]] = 1;
      return true;
    }

    // Opens all scopes around a node.
    unfoldAround(node) {
      const data = this.data;
      for (let scope = data.scope[node]; scope >= 0; scope = data.scopeParent[scope])
        this.open[data.scopeGroup[scope] * kPhases + data.phase[node]] = 1;
    }

    // Closes the innermost open scope around the box. False at the whole graph.
    foldAround(box) {
      const data = this.data;
      const node = this.boxFirst[box];
      let scope = this.boxScope[box] >= 0 ? data.scopeParent[this.boxScope[box]] : data.scope[node];
      const key = () => data.scopeGroup[scope] * kPhases + data.phase[node];
      while (scope > 0 && !this.open[key()]) scope = data.scopeParent[scope];
      if (scope <= 0) return false;
      this.open[key()] = 0;
      return true;
    }

    // The outermost folded scope of every scope and phase; -1 where all around are open.
    findFolds() {
      const data = this.data, count = data.scopeParent.length;
      const folds = new Int32Array(count * kPhases).fill(-1);
      for (let scope = 1; scope < count; ++scope)
        for (let phase = 0; phase < kPhases; ++phase) {
          const above = folds[data.scopeParent[scope] * kPhases + phase];
          const open = this.open[data.scopeGroup[scope] * kPhases + phase];
          folds[scope * kPhases + phase] = above >= 0 ? above : open ? -1 : scope;
        }
      return folds;
    }

    // Finds the boxes, in the order of their first nodes, and the edges between them.
    compute() {
      const data = this.data, folds = this.findFolds();
      const nodesOfFold = new Int32Array(folds.length);
      const foldOf = (node) => folds[data.scope[node] * kPhases + data.phase[node]];
      for (let node = 0; node < data.nodeCount; ++node) {
        const fold = foldOf(node);
        if (fold >= 0 && this.isShown(node)) ++nodesOfFold[fold * kPhases + data.phase[node]];
      }
      const boxOfFold = new Int32Array(folds.length).fill(-1);
      const first = [], scopes = [];
      this.boxOf = new Int32Array(data.nodeCount).fill(-1);
      for (let node = 0; node < data.nodeCount; ++node) {
        if (!this.isShown(node)) continue;
        const fold = foldOf(node), key = fold * kPhases + data.phase[node];
        const single = fold < 0 || nodesOfFold[key] === 1;  // one node needs no box around it
        let box = single ? -1 : boxOfFold[key];
        if (box < 0) {
          box = first.length;
          first.push(node);
          scopes.push(single ? -1 : fold);
          if (!single) boxOfFold[key] = box;
        }
        this.boxOf[node] = box;
      }
      this.boxCount = first.length;
      this.boxFirst = Int32Array.from(first);
      this.boxScope = Int32Array.from(scopes);
      this.sumUp();
      this.findEdges();
    }

    sumUp() {
      const data = this.data, count = this.boxCount;
      this.boxPhase = new Uint8Array(count);
      this.boxReplica = new Int32Array(count).fill(-2);
      this.boxNodes = new Int32Array(count);
      this.boxWork = new Float64Array(count);
      this.boxBytes = new Float64Array(count);
      this.boxTime = new Float64Array(count).fill(NaN);
      for (let node = 0; node < data.nodeCount; ++node) {
        const box = this.boxOf[node];
        if (box < 0) continue;
        const replica = data.replica[node], known = this.boxReplica[box];
        this.boxPhase[box] = data.phase[node];
        this.boxReplica[box] = known === -2 || known === replica ? replica : -1;
        ++this.boxNodes[box];
        this.boxWork[box] += data.work[node];
        this.boxBytes[box] += data.bytes[node];
        if (!isNaN(data.time[node]))
          this.boxTime[box] = (isNaN(this.boxTime[box]) ? 0 : this.boxTime[box]) + data.time[node];
      }
    }

    // Edges as outTo by source and inFrom by target, with the number of values on each.
    findEdges() {
      const data = this.data, count = this.boxCount;
      const pairs = new Float64Array(data.inputs.items.length);
      let filled = 0;
      for (let node = 0; node < data.nodeCount; ++node) {
        const to = this.boxOf[node];
        if (to < 0) continue;
        for (let i = data.inputs.begins[node]; i < data.inputs.begins[node + 1]; ++i) {
          const maker = data.inputs.items[i] < 0 ? -1 : data.producer[data.inputs.items[i]];
          const from = maker < 0 ? -1 : this.boxOf[maker];
          if (from >= 0 && from !== to) pairs[filled++] = from * count + to;
        }
      }
      const sorted = pairs.subarray(0, filled).sort();
      const from = [], to = [], values = [];
      for (let i = 0; i < sorted.length; ++i) {
        if (i > 0 && sorted[i] === sorted[i - 1]) {
          ++values[values.length - 1];
          continue;
        }
        from.push(Math.floor(sorted[i] / count));
        to.push(sorted[i] % count);
        values.push(1);
      }
      this.edgeFrom = Int32Array.from(from);
      this.edgeTo = Int32Array.from(to);
      this.edgeValues = Int32Array.from(values);
      const numbers = Int32Array.from(from.keys());
      this.out = lockstep.grouped(this.edgeFrom, numbers, count);
      this.in = lockstep.grouped(this.edgeTo, numbers, count);
    }

    // The boxes before or behind a box, with the most values first.
    neighbours(box, ahead) {
      const {begins, items} = ahead ? this.out : this.in;
      const edges = [...items.subarray(begins[box], begins[box + 1])];
      edges.sort((a, b) => this.edgeValues[b] - this.edgeValues[a]);
      return edges.map((edge) => (ahead ? this.edgeTo[edge] : this.edgeFrom[edge]));
    }

    label(box) {
      const scope = this.boxScope[box];
      return scope >= 0 ? this.scopeLabel(scope) : this.data.leaf(this.boxFirst[box]);
    }
    // A short last part says little without the part before it: layer1.0, not 0.
    scopeLabel(scope) {
      const text = this.data.scopeText(scope), parent = this.data.scopeParent[scope];
      return text.length < 3 && this.data.scopeLevel[scope] > 1 ? this.scopeLabel(parent) + '.' + text : text;
    }
    // The whole name, for details.
    name(box) {
      return this.boxScope[box] >= 0 ? this.data.path(this.boxScope[box]) : this.data.name(this.boxFirst[box]);
    }
  };
})(window.lockstep = window.lockstep || {});
