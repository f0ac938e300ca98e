// SPDX-License-Identifier: Apache-2.0
// Search by a part of a node's name, operator or line of code, and its list of results.
(function (lockstep) {
  'use strict';

  const kMostShown = 40, kMostFound = 300;

  lockstep.Search = class {
    // `jump(node)`: shows the node. `mark(nodes)`: the nodes found so far, in the graph.
    constructor(graph, {jump, mark, leave}) {
      this.graph = graph;
      this.actions = {jump, mark, leave};
      this.input = document.getElementById('search');
      this.list = document.getElementById('results');
      this.chosen = 0;
      this.nodes = [];
      this.input.addEventListener('input', () => this.update());
      this.input.addEventListener('keydown', (event) => this.key(event));
      this.input.addEventListener('blur', () => setTimeout(() => this.close(), 150));
    }

    focus() {
      this.input.focus();
      this.input.select();
      if (this.input.value) this.update();
    }

    // Names in lower case: built once, as soon as the page has nothing else to do.
    prepare() {
      if (this.keys) return;
      const data = this.graph.data;
      this.keys = new Array(data.nodeCount);
      for (let node = 0; node < data.nodeCount; ++node)
        this.keys[node] = (data.name(node) + '\n' + data.operator(node) + '\n' + data.where(node)).toLowerCase();
    }

    find(text) {
      this.prepare();
      const wanted = text.toLowerCase(), found = [];
      for (let node = 0; node < this.keys.length && found.length < kMostFound; ++node)
        if (this.graph.isShown(node) && this.keys[node].includes(wanted)) found.push(node);
      return found;
    }

    update() {
      const text = this.input.value.trim(), begin = performance.now();
      this.nodes = text === '' ? [] : this.find(text);
      this.chosen = 0;
      this.actions.mark(this.nodes);
      this.show(text);
      lockstep.measured.search = performance.now() - begin;
    }

    show(text) {
      const data = this.graph.data;
      this.list.replaceChildren(...this.nodes.slice(0, kMostShown).map((node, i) => {
        const entry = lockstep.element('li', {
          text: lockstep.shortened(data.name(node), 160),
          attributes: {role: 'option', id: 'result-' + i},
        });
        const facts = lockstep.kLetters[data.phase[node]] + ' ' + data.operator(node);
        entry.append(lockstep.element('span', {text: facts, className: 'soft'}));
        entry.addEventListener('pointerdown', (event) => {
          event.preventDefault();
          this.jump(node);
        });
        return entry;
      }));
      const more = this.nodes.length - kMostShown;
      if (text !== '' && this.nodes.length === 0)
        this.list.append(lockstep.element('li', {text: 'no node has this in its name', className: 'soft'}));
      if (more > 0) {
        const count = this.nodes.length < kMostFound ? more + ' more' : 'many more';
        this.list.append(lockstep.element('li', {text: count, className: 'soft'}));
      }
      this.list.classList.toggle('hidden', text === '');
      this.input.setAttribute('aria-expanded', String(text !== ''));
      this.markChosen();
    }

    markChosen() {
      [...this.list.children].forEach((entry, i) => {
        entry.setAttribute('aria-selected', String(i === this.chosen && i < this.nodes.length));
        if (i === this.chosen) entry.scrollIntoView({block: 'nearest'});
      });
      this.input.setAttribute('aria-activedescendant', this.nodes.length ? 'result-' + this.chosen : '');
    }

    key(event) {
      const last = Math.min(this.nodes.length, kMostShown) - 1;
      if (event.key === 'ArrowDown') this.chosen = Math.min(this.chosen + 1, Math.max(last, 0));
      else if (event.key === 'ArrowUp') this.chosen = Math.max(this.chosen - 1, 0);
      else if (event.key === 'Enter' && last >= 0) this.jump(this.nodes[this.chosen]);
      else if (event.key === 'Escape') this.leave();
      else return;
      event.preventDefault();
      this.markChosen();
    }

    jump(node) {
      this.close();
      this.actions.jump(node);
    }
    leave() {
      this.actions.mark([]);
      this.close();
      this.actions.leave();
    }
    close() {
      this.list.classList.add('hidden');
      this.input.setAttribute('aria-expanded', 'false');
    }
  };
})(window.lockstep = window.lockstep || {});
