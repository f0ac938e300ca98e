// SPDX-License-Identifier: Apache-2.0
// The panel of details: of a node, of a folded box, of the whole graph, and the parameters by size.
(function (lockstep) {
  'use strict';

  const kMostValues = 12, kMostKinds = 8, kMostRows = 300;
  const element = lockstep.element;

  lockstep.Panel = class {
    // `jump(node)` shows another node.
    constructor(graph, jump) {
      this.graph = graph;
      this.jump = jump;
      this.place = document.getElementById('panel');
    }

    put(...children) {
      this.place.replaceChildren(...children);
      this.place.scrollTop = 0;
    }

    row(name, content) {
      const cell = typeof content === 'string' ? element('td', {text: content}) : element('td', {}, content);
      return element('tr', {}, element('th', {text: name, attributes: {scope: 'row'}}), cell);
    }

    link(node, text = this.graph.data.name(node)) {
      return element('button', {text: lockstep.shortened(text, 160), className: 'link',
                                attributes: {type: 'button'}, click: () => this.jump(node)});
    }

    phase(phase) {
      const name = lockstep.kPhases[phase];
      return element('span', {text: lockstep.kLetters[phase] + ' ' + name, className: 'phase ' + name});
    }

    showBox(box) {
      if (this.graph.boxScope[box] < 0) this.showNode(this.graph.boxFirst[box]);
      else this.showFold(box);
    }

    showNode(node) {
      const data = this.graph.data, table = element('table');
      const add = (name, content) => { if (content !== '') table.append(this.row(name, content)); };
      const domain = data.domain(node);
      add('operator', data.operator(node) + (domain ? ' (' + domain + ')' : ''));
      add('phase', this.phase(data.phase[node]));
      add('place', data.deviceText(data.replica[node]));
      add('scope', data.path(data.scope[node]) || 'the whole graph');
      add('code', data.where(node));
      add('work', lockstep.flop(data.work[node]));
      add('results', lockstep.bytes(data.bytes[node]));
      if (!isNaN(data.time[node])) add('measured', lockstep.time(data.time[node]) + ', median of steps');
      if (data.bucket(node) >= 0) add('bucket', data.json.buckets[data.bucket(node)]);
      const partners = this.partnersOf(node);
      if (partners.length > 0) {
        const list = element('span');
        partners.forEach((other, i) => list.append(i > 0 ? element('br') : '', this.link(other)));
        add(data.phase[node] === 0 ? 'gradient' : 'forward', list);
      }
      const parts = [element('h2', {text: data.name(node)}), table];
      const attributes = data.attributes(node);
      if (attributes.length > 0) {
        const texts = attributes.map((text) => element('tr', {}, element('td', {}, element('code', {text}))));
        parts.push(element('h2', {text: 'Attributes'}), element('table', {}, ...texts));
      }
      this.put(...parts, ...this.values('Inputs', node, data.inputs), ...this.values('Outputs', node, data.outputs));
    }

    partnersOf(node) {
      const {begins, items} = this.graph.data.partners;
      return [...items.subarray(begins[node], begins[node + 1])];
    }

    values(title, node, lists) {
      const data = this.graph.data, rows = [];
      const count = lists.begins[node + 1] - lists.begins[node];
      for (let k = 0; k < Math.min(count, kMostValues); ++k) {
        const value = lists.items[lists.begins[node] + k];
        if (value < 0) {
          rows.push(element('tr', {}, element('td', {text: 'none', className: 'soft'})));
          continue;
        }
        const cell = element('td');
        const ends = lists === data.inputs ? [data.producer[value]] : data.consumers(value);
        const other = ends.length > 0 ? ends[0] : -1;
        cell.append(other >= 0 ? this.link(other, data.valueName(value))
                               : element('span', {text: lockstep.shortened(data.valueName(value), 160)}));
        const kind = data.valueKind(value) === 'result' ? '' : ', ' + data.valueKind(value);
        const users = lists === data.outputs ? ', ' + lockstep.count(ends.length, 'user') : '';
        const facts = data.valueType(value) + ', ' + lockstep.bytes(data.valueBytes(value)) + kind + users;
        cell.append(element('br'), element('span', {text: facts, className: 'soft'}));
        rows.push(element('tr', {}, cell));
      }
      if (count > kMostValues)
        rows.push(element('tr', {}, element('td', {text: count - kMostValues + ' more', className: 'soft'})));
      if (rows.length === 0) return [];
      return [element('h2', {text: title}), element('table', {className: 'values'}, ...rows)];
    }

    showFold(box) {
      const graph = this.graph, data = graph.data, nodes = [];
      for (let node = 0; node < data.nodeCount; ++node) if (graph.boxOf[node] === box) nodes.push(node);
      const load = (node) => (data.hasTimes ? (isNaN(data.time[node]) ? 0 : data.time[node]) : data.work[node]);
      const facts = element('table', {},
        this.row('phase', this.phase(graph.boxPhase[box])),
        this.row('place', data.deviceText(graph.boxReplica[box])),
        this.row('nodes', lockstep.number(nodes.length)),
        this.row('work', lockstep.flop(graph.boxWork[box])),
        this.row('results', lockstep.bytes(graph.boxBytes[box])));
      if (!isNaN(graph.boxTime[box])) facts.append(this.row('measured', lockstep.time(graph.boxTime[box])));
      const largest = [...nodes].sort((a, b) => load(b) - load(a) || a - b).slice(0, kMostValues);
      const list = largest.map((node) => element('tr', {}, element('td', {}, this.link(node, this.nameWithin(box, node))),
        element('td', {text: data.hasTimes ? lockstep.time(load(node)) : lockstep.flop(load(node)),
                       className: 'number'})));
      this.put(element('h2', {text: graph.name(box)}), facts,
               element('h2', {text: 'Operators'}), this.kinds(nodes),
               element('h2', {text: data.hasTimes ? 'Longest' : 'Most operations'}),
               element('table', {className: 'sizes'}, ...list));
    }

    nameWithin(box, node) {
      return this.graph.data.name(node).slice(this.graph.name(box).length).replace(/^[/._]/, '');
    }

    // Operators by kind, most operations first.
    kinds(nodes) {
      const data = this.graph.data;
      const kinds = data.json.operators.map(([name]) => ({name, count: 0, work: 0}));
      for (const node of nodes) {
        const kind = kinds[data.json.nodes.operator[node]];
        ++kind.count;
        kind.work += data.work[node];
      }
      const sorted = kinds.filter((kind) => kind.count > 0);
      sorted.sort((a, b) => b.work - a.work || b.count - a.count);
      const rows = sorted.slice(0, kMostKinds).map((kind) => element('tr', {},
        element('td', {text: kind.name}),
        element('td', {text: lockstep.number(kind.count), className: 'number'}),
        element('td', {text: lockstep.flop(kind.work), className: 'number'})));
      if (sorted.length > kMostKinds)
        rows.push(element('tr', {}, element('td', {text: sorted.length - kMostKinds + ' more kinds', className: 'soft'})));
      return element('table', {className: 'sizes'}, ...rows);
    }

    showGraph() {
      const graph = this.graph, data = graph.data, nodes = [];
      for (let node = 0; node < data.nodeCount; ++node) if (graph.isShown(node)) nodes.push(node);
      const facts = data.json.facts.map(([name, text]) => this.row(name, text));
      const notes = data.json.notes.map((text) => element('p', {text, className: 'soft'}));
      this.put(element('h2', {text: data.json.graph}), ...notes, element('table', {}, ...facts),
               element('h2', {text: 'Operators shown'}), this.kinds(nodes));
    }

    // Of one replica, the largest first. A parameter leads to the first node that reads it.
    showParameters() {
      const data = this.graph.data;
      const states = [...data.json.states].sort((a, b) => b[4] - a[4]);
      let bytes = 0;
      for (const state of states) bytes += state[4];
      const rows = states.slice(0, kMostRows).map(([name, kind, value, elements, size]) => {
        const users = value >= 0 ? data.consumers(value) : [];
        const first = users.length > 0 ? this.link(users[0], name)
                                       : element('span', {text: lockstep.shortened(name, 160)});
        return element('tr', {}, element('td', {}, first), element('td', {text: kind}),
                       element('td', {text: lockstep.number(elements), className: 'number'}),
                       element('td', {text: lockstep.bytes(size), className: 'number'}));
      });
      const sums = lockstep.count(states.length, 'parameter') + ', ' + lockstep.bytes(bytes);
      const more = states.length > kMostRows ? [element('p', {text: states.length - kMostRows + ' more', className: 'soft'})] : [];
      this.put(element('h2', {text: 'Parameters by size'}), element('p', {text: sums, className: 'soft'}),
               element('table', {className: 'sizes'}, ...rows), ...more);
    }
  };
})(window.lockstep = window.lockstep || {});
