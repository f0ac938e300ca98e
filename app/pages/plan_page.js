// SPDX-License-Identifier: Apache-2.0
// Joins the parts of a plan's page: two charts on one time axis, choice, search and keys.
(function (lockstep) {
  'use strict';

  const kMostFound = 25;
  const kBelowLanes = 14;  // pixels
  const kLeastWidth = 36;  // pixels of the selection
  const kMargin = 46;  // pixels for the names of lanes
  const kKeys = [
    ['/', 'search; Enter selects the first'], [', .', 'previous, next step or value'],
    ['[ ]', 'previous, next worker'],
    ['Enter', 'details'], ['w', 'awaited step'], ['r', 'latest reduce'],
    ['m', 'largest value at the peak of memory'], ['a', 'show waits, or only the selected step\'s'],
    ['arrow keys', 'move'], ['+ -', 'zoom'], ['0', 'whole step'], ['Escape', 'select nothing'],
    ['?', 'these keys']];
  const byId = (id) => document.getElementById(id);
  const element = lockstep.element;

  class PlanPage {
    constructor() {
      const data = this.data = new lockstep.PlanData(JSON.parse(byId('data').textContent));
      this.selected = {step: -1, rectangle: -1};
      this.lanes = new lockstep.PlanLanes(data, this.selected);
      this.arena = new lockstep.PlanArena(data, this.selected, this.lanes);
      this.details = new lockstep.PlanDetails(data, {
        step: (i) => this.selectStep(i, true), rectangle: (i) => this.selectRectangle(i, true),
        say: (text) => this.say(text)});
      this.laneView = this.viewOf('lanes', this.lanes, (time, y) => {
        const step = this.lanes.stepAt(time, y);
        if (step >= 0) this.selectStep(step);
      });
      this.arenaView = this.viewOf('arena', this.arena, (time, y) => {
        const rectangle = this.arena.rectangleAt(time, y);
        if (rectangle >= 0) this.selectRectangle(rectangle);
      });
      this.arena.worker = data.workers.reduce(
        (best, worker, i) => worker.arena > data.workers[best].arena ? i : best, 0);
      byId('lanes').style.maxHeight = this.lanes.bounds().height + kBelowLanes + 'px';
      this.fillTexts();
      this.listen();
      this.details.showNothing();
      this.details.showMemory();
      this.laneView.fit(undefined, kMargin);
    }

    // Both charts show the same time: the chart that moved last leads.
    viewOf(id, chart, click) {
      const view = new lockstep.Viewport(byId(id), {
        draw: (context, of) => {
          chart.draw(context, of);
          const other = of === this.laneView ? this.arenaView : this.laneView;
          if (!other || other.x === of.x && other.scaleX === of.scaleX) return;
          other.x = of.x;
          other.scaleX = of.scaleX;
          other.redraw();
        },
        bounds: () => chart.bounds(), key: (event) => this.key(event), click,
        axes: 'x', least: 1e-12, most: 10});
      return view;
    }

    redraw() {
      this.laneView.redraw();
      this.arenaView.redraw();
    }

    say(text) { byId('live').textContent = text; }

    fillTexts() {
      const {data} = this;
      byId('title').textContent = data.title;
      byId('said').replaceChildren(...data.said.map((text) => element('p', {}, text)),
                                   element('p', {className: 'soft'}, data.times));
      const swatches = lockstep.kPhases.map((phase) => [phase.letter, phase.name])
        .concat([['D', 'data'], ['W', 'waiting']]);
      byId('legend').replaceChildren(...swatches.map(([letter, name]) => element(
        'span', {}, element('i', {className: name}),
        letter + ' ' + (name === 'waiting' ? 'workspace' : name === 'data' ? 'fed' : name))),
        element('span', {}, element('i', {className: 'reduce both'}), 'collective'),
        element('span', {}, element('i', {className: 'arrow'}, '\u2192'), 'a wait that delays'));
      byId('keys').replaceChildren(...kKeys.map(([key, does]) => element(
        'span', {}, element('kbd', {}, key), ' ' + does)));
      byId('worker').replaceChildren(...data.workers.map((worker, i) => element(
        'option', {value: String(i)}, worker.name)));
      this.showFill();
    }

    showFill() {
      const worker = this.data.workers[this.arena.worker];
      const tensors = this.data.arenas[this.arena.worker].reduce(
        (sum, i) => sum + this.data.rectangles.bytes[i], 0);
      byId('worker').value = String(this.arena.worker);
      byId('fill').textContent = 'arena ' + lockstep.bytesText(worker.arena) + ', peak of use ' +
        lockstep.bytesText(worker.peak) + ' at ' + lockstep.timeText(worker.peak_at) + ', ' +
        lockstep.bytesText(tensors) + ' of values over the step';
    }

    setWorker(worker) {
      this.arena.worker = worker;
      this.showFill();
      this.redraw();
    }

    selectStep(i, moves = false) {
      this.selected.step = i;
      this.selected.rectangle = -1;
      const {steps} = this.data, worker = steps.worker[i];
      this.setWorker(worker);
      this.details.showStep(i);
      if (moves) this.show(steps.begin[i], steps.end[i]);
      this.laneView.reveal(steps.begin[i], this.lanes.top(worker), this.data.duration(i),
                           this.lanes.bar, 30);
      this.say('Step ' + this.data.stepName(i) + ', ' + this.data.phase(i).name + ', on ' +
               this.data.workerName(worker) + ', ' + lockstep.timeText(this.data.duration(i)));
    }

    selectRectangle(i, moves = false) {
      this.selected.rectangle = i;
      this.selected.step = -1;
      const {rectangles} = this.data;
      this.setWorker(rectangles.worker[i]);
      this.details.showRectangle(i);
      if (moves) this.show(rectangles.begin[i], rectangles.end[i]);
      this.say('Value ' + this.data.rectangleName(i) + ', ' +
               lockstep.bytesText(rectangles.bytes[i]) + ' in the arena of ' +
               this.data.workerName(rectangles.worker[i]));
    }

    selectNothing() {
      this.selected.step = this.selected.rectangle = -1;
      this.details.showNothing();
      this.redraw();
    }

    // Makes this time wide enough to see, and shows it.
    show(begin, end) {
      const view = this.laneView, time = Math.max(end - begin, 1);
      const wide = time * view.scaleX < kLeastWidth ? kLeastWidth
        : Math.min(time * view.scaleX, view.width * 0.6);
      view.scaleX = Math.min(Math.max(wide / time, 1e-12), 10);
      view.centre((begin + end) / 2, 0);
    }

    // The neighbour of the selected step on its lane, or of the selected rectangle in its arena.
    selectNext(by) {
      const inArena = document.activeElement === byId('arena');
      const list = inArena ? this.data.arenas[this.arena.worker]
        : this.data.lanes[this.selected.step < 0 ? this.arena.worker
          : this.data.steps.worker[this.selected.step]];
      if (list.length === 0) return this.say('There is nothing on this worker.');
      const at = list.indexOf(inArena ? this.selected.rectangle : this.selected.step);
      const next = at < 0 ? (by > 0 ? 0 : list.length - 1)
        : Math.min(Math.max(at + by, 0), list.length - 1);
      if (inArena) this.selectRectangle(list[next], true);
      else this.selectStep(list[next], true);
    }

    // Another worker: the step that runs there at the same time, or its arena.
    selectWorker(by) {
      const {steps, lanes, workers} = this.data;
      const from = this.selected.step < 0 ? this.arena.worker : steps.worker[this.selected.step];
      const to = Math.min(Math.max(from + by, 0), workers.length - 1);
      if (this.selected.step < 0 || lanes[to].length === 0) {
        this.setWorker(to);
        return this.say('Arena of ' + workers[to].name);
      }
      const at = this.data.firstEndingAfter(lanes[to], steps.end, steps.begin[this.selected.step]);
      this.selectStep(lanes[to][Math.min(at, lanes[to].length - 1)]);
    }

    selectAwaited() {
      if (this.selected.step < 0) return this.say('No step is selected.');
      const late = this.data.steps.awaited[this.selected.step];
      const others = this.data.steps.waits[this.selected.step];
      if (late >= 0 || others.length > 0) this.selectStep(late >= 0 ? late : others[0], true);
      else this.say('The step waits for no other worker.');
    }

    selectLatestReduce() {
      if (this.data.latest_reduce < 0) this.say('Nothing is reduced.');
      else this.selectStep(this.data.latest_reduce, true);
    }

    selectPeak() {
      const {begin, end, bytes} = this.data.rectangles;
      const at = this.data.workers[this.arena.worker].peak_at;
      const alive = this.data.arenas[this.arena.worker].filter((i) => begin[i] <= at && end[i] > at);
      if (alive.length === 0) return this.say('The arena is empty.');
      this.whole();
      this.selectRectangle(alive.reduce((best, i) => bytes[i] > bytes[best] ? i : best, alive[0]));
    }

    toggle(id, shown) {
      const place = byId(id);
      place.classList.toggle('hidden', !shown);
    }

    key(event) {
      const actions = {
        ',': () => this.selectNext(-1), '.': () => this.selectNext(1),
        '[': () => this.selectWorker(-1), ']': () => this.selectWorker(1),
        Enter: () => this.openDetails(), w: () => this.selectAwaited(),
        r: () => this.selectLatestReduce(), m: () => this.selectPeak(), a: () => this.toggleWaits(),
        0: () => this.whole(), '/': () => byId('search').focus(), '?': () => this.toggleKeys(),
        Escape: () => this.selectNothing()};
      if (!Object.hasOwn(actions, event.key)) return false;
      actions[event.key]();
      return true;
    }

    openDetails() {
      if (this.selected.step < 0 && this.selected.rectangle < 0) this.selectNext(1);
      byId('details').focus();
      byId('details').scrollIntoView({block: 'nearest'});
    }

    whole() {
      this.laneView.fit(undefined, kMargin);
    }

    toggleWaits() {
      this.lanes.showsWaits = !this.lanes.showsWaits;
      byId('arrows').setAttribute('aria-pressed', String(this.lanes.showsWaits));
      this.say(this.lanes.showsWaits ? 'Waits are shown.' : 'Only the selected step\'s waits are shown.');
      this.redraw();
    }

    toggleKeys() {
      const shown = byId('keys').classList.contains('hidden');
      this.toggle('keys', shown);
      byId('help').setAttribute('aria-expanded', String(shown));
    }

    search() {
      const text = byId('search').value.trim();
      const hits = text === '' ? [] : this.data.find(text, kMostFound);
      this.toggle('found', text !== '');
      byId('found').replaceChildren(...hits.map((hit) => {
        const name = hit.step !== undefined
          ? this.data.stepName(hit.step) + ' on ' +
            this.data.workerName(this.data.steps.worker[hit.step])
          : this.data.rectangleName(hit.rectangle);
        const button = element('button', {type: 'button'},
                               (hit.step !== undefined ? 'step ' : 'value ') + name);
        button.addEventListener('click', () => this.take(hit));
        return element('li', {}, button);
      }));
      if (text !== '' && hits.length === 0) byId('found').append(element('li', {}, 'Nothing found.'));
      this.hits = hits;
      this.say(hits.length === 0 ? 'Nothing found.' : hits.length + ' found. Enter selects the first.');
    }

    take(hit) {
      this.toggle('found', false);
      byId('search').value = '';
      if (hit.step !== undefined) {
        byId('lanes').focus();
        this.selectStep(hit.step, true);
      } else {
        byId('arena').focus();
        this.selectRectangle(hit.rectangle, true);
      }
    }

    listen() {
      const click = (id, act) => byId(id).addEventListener('click', act);
      click('late', () => this.selectLatestReduce());
      click('peak', () => this.selectPeak());
      click('arrows', () => this.toggleWaits());
      click('whole', () => this.whole());
      click('help', () => this.toggleKeys());
      byId('worker').addEventListener('change', () => this.setWorker(Number(byId('worker').value)));
      const search = byId('search');
      search.addEventListener('input', () => this.search());
      search.addEventListener('keydown', (event) => {
        if (event.key === 'Enter' && this.hits && this.hits.length > 0) this.take(this.hits[0]);
        if (event.key === 'Escape') {
          search.value = '';
          this.search();
          byId('lanes').focus();
        }
      });
      // The keys work anywhere but in fields and lists; a button keeps Enter.
      document.addEventListener('keydown', (event) => {
        if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
        if (['INPUT', 'SELECT', 'CANVAS'].includes(event.target.tagName)) return;
        if (event.key !== 'Enter' && this.key(event)) event.preventDefault();
      });
    }
  }

  lockstep.page = new PlanPage();
})(window.lockstep = window.lockstep || {});
