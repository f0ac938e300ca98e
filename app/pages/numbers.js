// SPDX-License-Identifier: Apache-2.0
// Numbers as people read them, and elements with texts from anyone.
(function (lockstep) {
  'use strict';

  function scaled(value, base, units) {
    let index = 0;
    while (value >= base * 0.9995 && index + 1 < units.length) {
      value /= base;
      ++index;
    }
    const digits = value < 10 && index > 0 ? 2 : value < 100 && index > 0 ? 1 : 0;
    return value.toFixed(digits) + ' ' + units[index];
  }

  lockstep.flop = (count) => scaled(count, 1000, ['FLOP', 'kFLOP', 'MFLOP', 'GFLOP', 'TFLOP', 'PFLOP']);
  lockstep.bytes = (count) => scaled(count, 1024, ['bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']);
  lockstep.time = (micros) => (micros < 1 ? micros.toFixed(2) + ' us'
                                          : scaled(micros * 1000, 1000, ['ns', 'us', 'ms', 's']));
  lockstep.number = (value) => value.toLocaleString('en-US');
  lockstep.count = (value, one, several = one + 's') =>
    lockstep.number(value) + ' ' + (value === 1 ? one : several);
  lockstep.shortened = (text, most) =>
    (text.length <= most ? text : text.slice(0, most - 1) + '…');

  // An element with a text and children. Texts are never read as HTML.
  lockstep.element = function (tag, options = {}, ...children) {
    const made = document.createElement(tag);
    if (options.text !== undefined) made.textContent = lockstep.shortened(String(options.text), 600);
    if (options.className) made.className = options.className;
    if (options.click) made.addEventListener('click', options.click);
    for (const [name, value] of Object.entries(options.attributes || {})) made.setAttribute(name, value);
    made.append(...children);
    return made;
  };
})(window.lockstep = window.lockstep || {});
