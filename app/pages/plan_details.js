// SPDX-License-Identifier: Apache-2.0
// Texts of a plan's page: the memory, and the details of a step or a value. Names come from files,
// so they reach the document as text only.
(function (lockstep) {
  'use strict';

  const kMostListed = 40;

  // An element with children, which are elements or texts.
  lockstep.element = function (tag, properties, ...children) {
    const made = document.createElement(tag);
    Object.assign(made, properties);
    made.append(...children);
    return made;
  };
  const element = lockstep.element;

  lockstep.PlanDetails = class {
    // go: {step(i), rectangle(i), say(text)}
    constructor(data, go) {
      this.data = data;
      this.go = go;
      this.place = document.getElementById('details');
    }

    button(text, act, title = '') {
      const made = element('button', {type: 'button', className: 'link', title}, text);
      made.addEventListener('click', act);
      return made;
    }

    stepButton(i) {
      return this.button(this.data.stepName(i) + ' on ' +
                         this.data.workerName(this.data.steps.worker[i]), () => this.go.step(i));
    }

    row(name, ...values) {
      return element('tr', {}, element('th', {}, name), element('td', {}, ...values));
    }

    list(items) {
      const made = element('ul', {});
      for (const item of items.slice(0, kMostListed)) made.append(element('li', {}, item));
      if (items.length > kMostListed)
        made.append(element('li', {className: 'soft'}, (items.length - kMostListed) + ' more'));
      return made;
    }

    // Operands or results; omitted ones have no slot.
    values(slots) {
      const present = slots.filter((slot) => slot >= 0);
      return present.length > 0 ? this.list(present.map((slot) => this.value(slot))) : 'nothing';
    }

    // A value with its place; a button if it has a rectangle.
    value(slot) {
      const {slots, texts, rectangles} = this.data;
      const rectangle = this.data.rectangleOf(slot);
      let place = texts[slots.place[slot]];
      if (rectangle >= 0)
        place = this.data.workerName(rectangles.worker[rectangle]) + '+' +
          rectangles.offset[rectangle];
      const name = this.data.slotName(slot);
      return element('span', {},
                     rectangle >= 0 ? this.button(name, () => this.go.rectangle(rectangle)) : name,
                     element('span', {className: 'soft'},
                             ' ' + texts[slots.form[slot]] + ' @ ' + lockstep.shortName(place)));
    }

    // The node: a link to the graph's page, or a button that copies the name.
    node(i) {
      const name = this.data.texts[this.data.steps.name[i]];
      const graph = this.data.graph;
      if (graph)
        return element('a', {href: graph + '#node=' + encodeURIComponent(name)},
                       'show in the graph');
      return this.button('copy the name', () => {
        const copied = () => this.go.say('The name is copied.');
        const shown = () => this.go.say('The browser does not copy; the name is ' + name);
        if (navigator.clipboard) navigator.clipboard.writeText(name).then(copied, shown);
        else shown();
      });
    }

    showStep(i) {
      const {steps, texts, rectangleOfBlock} = this.data;
      const workspace = steps.workspace[i] < 0 ? undefined
        : rectangleOfBlock.get(steps.workspace[i]);
      const table = element('table', {});
      table.append(
        this.row('node', this.data.stepName(i), ' ', this.node(i)),
        this.row('operator', texts[steps.type[i]] + ', ' + this.data.phase(i).name),
        this.row('kernel', texts[steps.kernel[i]]),
        this.row('worker', this.data.workerName(steps.worker[i]) + ', step ' +
                 this.data.lanes[steps.worker[i]].indexOf(i)),
        this.row('time', lockstep.timeText(this.data.duration(i)) + ', from ' +
                 lockstep.momentText(steps.begin[i]) + ' to ' + lockstep.momentText(steps.end[i])),
        this.row('work', (steps.products[i] > 0
          ? (steps.products[i] / 1e6).toPrecision(4) + ' MFLOP in products, ' : '') +
          lockstep.bytesText(steps.bytes[i]) + ' read and written'),
        this.row('reads', this.values(steps.in[i])),
        this.row('writes', this.values(steps.out[i])));
      if (workspace !== undefined)
        table.append(this.row('workspace', this.button(
          lockstep.bytesText(this.data.rectangles.bytes[workspace]) + ' at offset ' +
          this.data.rectangles.offset[workspace], () => this.go.rectangle(workspace))));
      table.append(this.row('waits for', ...this.waitsOf(i)));
      if (this.data.users[i].length > 0)
        table.append(this.row('awaited by',
                              this.list(this.data.users[i].map((user) => this.stepButton(user)))));
      this.place.replaceChildren(element('h2', {}, 'Step ' + this.data.stepName(i)), table);
    }

    waitsOf(i) {
      const {steps} = this.data;
      if (steps.waits[i].length === 0) return ['no other worker'];
      const late = steps.awaited[i];
      return [this.list(steps.waits[i].map((awaited) => {
        const note = awaited === late ? ' (begins when this ends)' : '';
        return element('span', {}, this.stepButton(awaited), note);
      }))];
    }

    showRectangle(i) {
      const {rectangles} = this.data;
      const producer = rectangles.producer[i], last = rectangles.last[i];
      const table = element('table', {});
      table.append(
        this.row('bytes', rectangles.bytes[i] + ' (' + lockstep.bytesText(rectangles.bytes[i]) +
                 ')'),
        this.row('offset', rectangles.offset[i] + ' in the arena of ' +
                 this.data.workerName(rectangles.worker[i])),
        this.row('lives', 'from ' + lockstep.momentText(rectangles.begin[i]) + ' to ' +
                 lockstep.momentText(rectangles.end[i])),
        this.row('producer', producer < 0 ? 'fed before the step' : this.stepButton(producer)),
        this.row('last reader', last < 0 ? 'no step' : this.stepButton(last)));
      if (rectangles.slots[i].length > 0)
        table.append(this.row('values', this.list(rectangles.slots[i].map(
          (slot) => element('span', {}, this.data.slotName(slot), element(
            'span', {className: 'soft'}, ' ' + this.data.texts[this.data.slots.form[slot]]))))));
      this.place.replaceChildren(element('h2', {}, 'Value ' + this.data.rectangleName(i)), table);
    }

    showNothing() {
      this.place.replaceChildren(element('p', {className: 'soft'},
                                         'Select a step or a value to see its details.'));
    }

    // The memory by kind, the largest values, and what would help.
    showMemory() {
      const {memory} = this.data, bytes = lockstep.bytesText;
      const table = element('table', {id: 'parts'}), largest = element('table', {id: 'largest'});
      for (const [name, size] of memory.parts) {
        const bar = element('i', {});
        bar.style.width = Math.max(100 * size / Math.max(memory.need, 1), size > 0 ? 1 : 0) + '%';
        table.append(element('tr', {}, element('th', {}, name),
                             element('td', {className: 'number'}, bytes(size)),
                             element('td', {className: 'bar'}, bar)));
      }
      for (const [name, size, kind] of memory.largest) {
        const found = this.data.rectangles.slots.findIndex((slots) =>
          slots.some((slot) => this.data.texts[this.data.slots.name[slot]] === name));
        const shown = lockstep.shortName(name);
        largest.append(element(
          'tr', {}, element('td', {className: 'number'}, bytes(size)),
          element('td', {className: 'soft'}, kind),
          element('td', {}, kind === 'arena' && found >= 0
            ? this.button(shown, () => this.go.rectangle(found)) : shown)));
      }
      const place = document.getElementById('memory');
      const tooLittle = memory.limit > 0 && memory.need > memory.limit;
      place.replaceChildren(
        element('h2', {}, 'Memory of ' + memory.of),
        element('p', {id: 'need', className: tooLittle ? 'bad' : ''},
                'Needs ' + bytes(memory.need) +
                (memory.limit > 0 ? ', has ' + bytes(memory.limit) : '') + '.'),
        table);
      if (memory.advice.length > 0)
        place.append(element('h2', {}, 'Would help'),
                     this.list(memory.advice.map((text) => document.createTextNode(text))));
      place.append(element('h2', {}, 'Largest values of ' + memory.largest_of), largest);
    }
  };
})(window.lockstep = window.lockstep || {});
