// SPDX-License-Identifier: Apache-2.0
// The graph of a page as arrays, by node, value and scope. Texts are in one table; a name is the
// texts of its scopes, from the outermost to the innermost, and its own.
(function (lockstep) {
  'use strict';

  lockstep.kPhases = ['forward', 'backward', 'reduce', 'update'];
  lockstep.kLetters = ['F', 'B', 'R', 'U'];  // a phase's mark beside its colour

  // [count, items.., count, items..] as one array of items, and where each list begins.
  function lists(flat, count) {
    const begins = new Int32Array(count + 1), items = new Int32Array(Math.max(flat.length - count, 0));
    for (let i = 0, at = 0, filled = 0; i < count; ++i) {
      for (let left = flat[at++]; left > 0; --left) items[filled++] = flat[at++];
      begins[i + 1] = filled;
    }
    return {begins, items};
  }

  // Numbers grouped by a key: the items of key k are items[begins[k]] to items[begins[k + 1] - 1].
  function grouped(keys, values, count) {
    const begins = new Int32Array(count + 1), items = new Int32Array(keys.length);
    for (const key of keys) ++begins[key + 1];
    for (let k = 0; k < count; ++k) begins[k + 1] += begins[k];
    const next = begins.slice();
    for (let i = 0; i < keys.length; ++i) items[next[keys[i]]++] = values[i];
    return {begins, items};
  }
  lockstep.grouped = grouped;

  lockstep.GraphData = class {
    constructor(json) {
      this.json = json;
      this.texts = json.texts;
      this.replicas = json.replicas;
      const nodes = json.nodes, values = json.values;
      this.nodeCount = nodes.scope.length;
      this.valueCount = values.scope.length;
      this.scope = Int32Array.from(nodes.scope);
      this.phase = Uint8Array.from(nodes.phase);
      this.replica = Int32Array.from(nodes.replica);
      this.inputs = lists(nodes.inputs, this.nodeCount);
      this.outputs = lists(nodes.outputs, this.nodeCount);
      this.work = Float64Array.from(nodes.work, (index) => json.works[index]);
      this.findProducers();
      this.findBytes();
      this.findTimes();
      this.findPartners();
      this.findScopes();
    }

    findProducers() {
      this.producer = new Int32Array(this.valueCount).fill(-1);
      for (let node = 0; node < this.nodeCount; ++node)
        for (let i = this.outputs.begins[node]; i < this.outputs.begins[node + 1]; ++i)
          if (this.outputs.items[i] >= 0) this.producer[this.outputs.items[i]] = node;
    }

    findBytes() {
      this.bytes = new Float64Array(this.nodeCount);  // of results
      for (let node = 0; node < this.nodeCount; ++node)
        for (let i = this.outputs.begins[node]; i < this.outputs.begins[node + 1]; ++i)
          if (this.outputs.items[i] >= 0) this.bytes[node] += this.valueBytes(this.outputs.items[i]);
    }

    // Microseconds of nodes that a trace has; NaN for the others.
    findTimes() {
      this.time = new Float64Array(this.nodeCount).fill(NaN);
      const times = this.json.times;
      for (let i = 0; i + 1 < times.length; i += 2) this.time[times[i]] = times[i + 1];
      this.hasTimes = times.length > 0;
    }

    findPartners() {
      const pairs = this.json.partners, from = [], to = [];
      for (let i = 0; i + 1 < pairs.length; i += 2) {
        from.push(pairs[i], pairs[i + 1]);
        to.push(pairs[i + 1], pairs[i]);
      }
      this.partners = grouped(from, to, this.nodeCount);
    }

    // Scopes of replicas that have the same path within their replica are one group: they fold
    // together. A replica's own scope is at level 0, as the whole graph is.
    findScopes() {
      const parents = this.json.scopes.parent, texts = this.json.scopes.text;
      const count = parents.length;
      this.scopeParent = Int32Array.from(parents);
      const owner = this.ownersOfScopes();
      this.scopeGroup = new Int32Array(count);
      this.scopeLevel = new Int32Array(count);
      const known = new Map();
      for (let scope = 1; scope < count; ++scope) {
        const parent = parents[scope];
        const whole = parent === 0 && owner[scope] >= 0;  // cpu_3
        const key = whole ? 'replica' : this.scopeGroup[parent] + '/' + texts[scope];
        if (!known.has(key)) known.set(key, known.size + 1);
        this.scopeGroup[scope] = known.get(key);
        this.scopeLevel[scope] = this.scopeLevel[parent] + (whole ? 0 : 1);
      }
      this.groupCount = known.size + 1;
      this.deepest = this.scopeLevel.reduce((most, level) => Math.max(most, level), 0);
    }

    // The replica that has all nodes of a scope; -1 if several have.
    ownersOfScopes() {
      const parents = this.json.scopes.parent, kNone = -2;
      const owner = new Int32Array(parents.length).fill(kNone);
      const join = (scope, replica) => {
        owner[scope] = owner[scope] === kNone || owner[scope] === replica ? replica : -1;
      };
      for (let node = 0; node < this.nodeCount; ++node) join(this.scope[node], this.replica[node]);
      for (let scope = parents.length - 1; scope > 0; --scope)
        if (owner[scope] !== kNone) join(parents[scope], owner[scope]);
      return owner;
    }

    // The whole path of a scope, with the separators as the names have them.
    path(scope) {
      if (!this.paths) {
        const {parent, text} = this.json.scopes;
        this.paths = [];
        for (let at = 0; at < parent.length; ++at)
          this.paths.push((at > 0 ? this.paths[parent[at]] : '') + this.texts[text[at]]);
      }
      return this.paths[scope];
    }
    scopeText(scope) { return this.texts[this.json.scopes.text[scope]].replace(/^[/._]/, ''); }
    leaf(node) { return this.texts[this.json.nodes.text[node]].replace(/^[/._]/, ''); }
    name(node) { return this.path(this.scope[node]) + this.texts[this.json.nodes.text[node]]; }
    operator(node) { return this.json.operators[this.json.nodes.operator[node]][0]; }
    domain(node) { return this.json.operators[this.json.nodes.operator[node]][1]; }
    where(node) { return this.texts[this.json.nodes.where[node]]; }
    attributes(node) {
      const text = this.texts[this.json.nodes.attributes[node]];
      return text === '' ? [] : text.split('\n');
    }
    bucket(node) { return this.json.nodes.bucket[node]; }
    valueName(value) {
      return this.path(this.json.values.scope[value]) + this.texts[this.json.values.text[value]];
    }
    valueType(value) { return this.json.valueTypes[this.json.values.type[value]][0]; }
    valueBytes(value) { return this.json.valueTypes[this.json.values.type[value]][1]; }
    valueKind(value) { return ['result', 'input', 'state', 'constant'][this.json.values.kind[value]]; }

    deviceText(replica) {
      if (replica < 0) return 'all replicas';
      const device = this.json.devices[replica];
      const place = replica < this.replicas ? 'replica ' + replica : 'auxiliary ' + (replica - this.replicas);
      return device ? place + ' on ' + device : place;
    }

    // The nodes that read a value.
    consumers(value) {
      this.prepare();
      return this.readers.items.subarray(this.readers.begins[value], this.readers.begins[value + 1]);
    }
    prepare() {
      if (!this.readers) {
        const {begins, items} = this.inputs, none = this.valueCount;  // the key of omitted inputs
        const keys = items.map((input) => (input >= 0 ? input : none)), nodes = new Int32Array(items.length);
        for (let node = 0; node < this.nodeCount; ++node) nodes.fill(node, begins[node], begins[node + 1]);
        this.readers = grouped(keys, nodes, this.valueCount + 1);
      }
    }
  };
})(window.lockstep = window.lockstep || {});
