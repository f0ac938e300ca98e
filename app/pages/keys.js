// SPDX-License-Identifier: Apache-2.0
// The keys of a graph's page, and how they move the selection.
(function (lockstep) {
  'use strict';

  const kDirections = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]};

  // The box that an arrow leads to: the nearest in this direction, neighbours along edges first.
  function boxTowards(page, [directionX, directionY]) {
    const {graph, layout, selected} = page;
    const from = [layout.x[selected], layout.y[selected]];
    const distance = (box) => {
      const x = layout.x[box] - from[0], y = layout.y[box] - from[1];
      const ahead = x * directionX + y * directionY;
      const aside = Math.abs(x * directionY) + Math.abs(y * directionX);
      return ahead > 1 && aside <= 3 * ahead ? ahead + 2 * aside : Infinity;
    };
    const nearest = (boxes) => {
      let best = -1, least = Infinity;
      for (const box of boxes) {
        const away = distance(box);
        if (away < least) {
          least = away;
          best = box;
        }
      }
      return best;
    };
    const linked = [...graph.neighbours(selected, true), ...graph.neighbours(selected, false)];
    const same = linked.filter((box) => graph.boxPhase[box] === graph.boxPhase[selected]);
    const along = nearest(same.length > 0 && directionY !== 0 ? same : linked);
    if (along >= 0) return along;
    return nearest(Array.from({length: graph.boxCount}, (unused, box) => box));
  }

  const actions = {
    Enter(page) {
      if (page.selected < 0) page.select(0);
      else page.toggle(page.selected);
    },
    Backspace(page) { if (page.selected >= 0) page.foldAround(page.selected); },
    Escape(page) { page.select(-1); },
    n(page) { page.follow(true); },
    p(page) { page.follow(false); },
    g(page) { page.showPartner(); },
    r(page) { page.nextReplica(); },
    t(page) { page.toggleParameters(); },
    '/'(page) { page.search.focus(); },
    '?'() { document.getElementById('help').showModal(); },
  };

  // True if the key is one of the page's.
  lockstep.graphKey = function (page, event) {
    const direction = kDirections[event.key];
    if (direction) {
      if (page.selected < 0) return false;
      const box = boxTowards(page, direction);
      if (box >= 0) page.select(box);
      else page.say('nothing is further in this direction');
      return true;
    }
    if (/^[1-9]$/.test(event.key)) {
      page.setDepth(event.key === '9' ? lockstep.kWholeDepth : Number(event.key));
      return true;
    }
    const action = actions[event.key];
    if (action) action(page);
    return Boolean(action);
  };
})(window.lockstep = window.lockstep || {});
