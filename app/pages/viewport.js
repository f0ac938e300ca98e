// SPDX-License-Identifier: Apache-2.0
// A canvas with a movable view: pan, zoom, wheel, touch and keys. Draws a frame only when something
// changed, at the screen's own resolution.
(function (lockstep) {
  'use strict';

  const kWheelSpeed = 0.0016;  // powers of e for each pixel of a wheel
  const kArrow = 60;           // pixels for each press
  const kClick = 5;            // pixels that a click may move

  // options:
  //   draw(context, view)   draws; `context` is in CSS pixels, view.toScreenX(x) places the world
  //   bounds()              the world's {x, y, width, height}
  //   click(x, y, event), hover(x, y, event), doubleClick(x, y, event)   in the world's coordinates
  //   key(event)            true: the key is used, the view does not move
  //   axes                  'x': only x is zoomed, and y is in pixels; otherwise both
  //   least, most           limits of the scale
  lockstep.Viewport = class {
    constructor(canvas, options) {
      this.canvas = canvas;
      this.options = options;
      this.context = canvas.getContext('2d');
      this.x = 0;  // the world's point in the upper left corner
      this.y = 0;
      this.scaleX = 1;
      this.scaleY = 1;
      this.frames = 0;
      this.drawMs = 0;  // of the last frame
      this.asked = false;
      this.pointers = new Map();
      this.colours = new Map();
      this.listen();
      this.resize();
    }

    get width() { return this.canvas.clientWidth; }
    get height() { return this.canvas.clientHeight; }

    toScreenX(x) { return (x - this.x) * this.scaleX; }
    toScreenY(y) { return (y - this.y) * this.scaleY; }
    toWorldX(pixels) { return pixels / this.scaleX + this.x; }
    toWorldY(pixels) { return pixels / this.scaleY + this.y; }

    // The value of a CSS variable: colour('ink') of --ink.
    colour(name) {
      let value = this.colours.get(name);
      if (value === undefined) {
        value = getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
        this.colours.set(name, value);
      }
      return value;
    }

    redraw() {
      if (this.asked) return;
      this.asked = true;
      requestAnimationFrame(() => this.frame());
    }

    frame() {
      this.asked = false;
      const begin = performance.now();
      const ratio = window.devicePixelRatio || 1;
      this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
      this.context.clearRect(0, 0, this.width, this.height);
      this.options.draw(this.context, this);
      this.drawMs = performance.now() - begin;
      ++this.frames;
    }

    resize() {
      const ratio = window.devicePixelRatio || 1;
      this.canvas.width = Math.max(1, Math.round(this.width * ratio));
      this.canvas.height = Math.max(1, Math.round(this.height * ratio));
      this.redraw();
    }

    pan(pixelsX, pixelsY) {
      this.x -= pixelsX / this.scaleX;
      this.y -= pixelsY / this.scaleY;
      this.keepInSight();
      this.redraw();
    }

    // The point under (pixelsX, pixelsY) stays there.
    zoom(factor, pixelsX = this.width / 2, pixelsY = this.height / 2) {
      const least = this.options.least || 1e-4, most = this.options.most || 8;
      const fit = (scale) => Math.min(Math.max(scale * factor, least), most);
      const x = this.toWorldX(pixelsX), y = this.toWorldY(pixelsY);
      this.scaleX = fit(this.scaleX);
      if (this.options.axes !== 'x') this.scaleY = fit(this.scaleY);
      this.x = x - pixelsX / this.scaleX;
      this.y = y - pixelsY / this.scaleY;
      this.keepInSight();
      this.redraw();
    }

    // Shows this part of the world, by default all of it.
    fit(area = this.options.bounds(), margin = 16) {
      const wide = Math.max(this.width - 2 * margin, 1), high = Math.max(this.height - 2 * margin, 1);
      const least = this.options.least || 1e-4, most = this.options.most || 8;
      const limit = (scale) => Math.min(Math.max(scale, least), most);
      if (this.options.axes === 'x') {
        this.scaleX = limit(wide / Math.max(area.width, 1e-9));
        this.y = area.y;
      } else {
        const scale = Math.min(wide / Math.max(area.width, 1e-9), high / Math.max(area.height, 1e-9));
        this.scaleX = this.scaleY = limit(Math.min(scale, 1.5));
        this.y = area.y + area.height / 2 - this.height / 2 / this.scaleY;
      }
      this.x = area.x + area.width / 2 - this.width / 2 / this.scaleX;
      this.redraw();
    }

    centre(x, y) {
      this.x = x - this.width / 2 / this.scaleX;
      if (this.options.axes !== 'x') this.y = y - this.height / 2 / this.scaleY;
      this.keepInSight();
      this.redraw();
    }

    // Moves as little as shows the rectangle.
    reveal(x, y, width, height, margin = 40) {
      const move = (begin, end, room) =>
        begin < margin ? margin - begin : end > room - margin ? room - margin - end : 0;
      this.pan(move(this.toScreenX(x), this.toScreenX(x + width), this.width),
               move(this.toScreenY(y), this.toScreenY(y + height), this.height));
    }

    // Some of the world always stays in the window.
    keepInSight() {
      const area = this.options.bounds();
      const keep = (at, begin, length, room) =>
        Math.min(Math.max(at, begin - room * 0.8), begin + length - room * 0.2);
      this.x = keep(this.x, area.x, area.width, this.width / this.scaleX);
      this.y = keep(this.y, area.y, area.height, this.height / this.scaleY);
    }

    listen() {
      const canvas = this.canvas;
      new ResizeObserver(() => this.resize()).observe(canvas);
      matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
        this.colours.clear();
        this.redraw();
      });
      canvas.addEventListener('wheel', (event) => this.wheel(event), {passive: false});
      canvas.addEventListener('pointerdown', (event) => this.press(event));
      canvas.addEventListener('pointermove', (event) => this.move(event));
      for (const name of ['pointerup', 'pointercancel'])
        canvas.addEventListener(name, (event) => this.release(event, name === 'pointerup'));
      canvas.addEventListener('dblclick', (event) => this.tell('doubleClick', event));
      canvas.addEventListener('keydown', (event) => this.keyDown(event));
    }

    tell(name, event) {
      const callback = this.options[name];
      if (callback) callback(this.toWorldX(event.offsetX), this.toWorldY(event.offsetY), event);
    }

    // A wheel zooms; with Shift, and of a trackpad sideways, it moves.
    wheel(event) {
      event.preventDefault();
      const unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? this.height : 1;
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
        this.pan(-(event.deltaX || event.deltaY) * unit, 0);
      else
        this.zoom(Math.exp(-event.deltaY * unit * kWheelSpeed), event.offsetX, event.offsetY);
    }

    press(event) {
      this.canvas.focus({preventScroll: true});
      this.canvas.setPointerCapture(event.pointerId);
      this.pointers.set(event.pointerId, {x: event.offsetX, y: event.offsetY, moved: 0});
    }

    move(event) {
      const pointer = this.pointers.get(event.pointerId);
      if (!pointer) {
        this.tell('hover', event);
        return;
      }
      const others = [...this.pointers.values()].filter((other) => other !== pointer);
      const stepX = event.offsetX - pointer.x, stepY = event.offsetY - pointer.y;
      if (others.length > 0) {
        const other = others[0];
        const before = Math.hypot(pointer.x - other.x, pointer.y - other.y);
        const after = Math.hypot(event.offsetX - other.x, event.offsetY - other.y);
        this.zoom(after / Math.max(before, 1), other.x, other.y);
        other.moved = kClick + 1;
      } else {
        this.pan(stepX, stepY);
      }
      pointer.moved += Math.abs(stepX) + Math.abs(stepY);
      pointer.x = event.offsetX;
      pointer.y = event.offsetY;
    }

    release(event, completed) {
      const pointer = this.pointers.get(event.pointerId);
      this.pointers.delete(event.pointerId);
      if (completed && pointer && pointer.moved <= kClick) this.tell('click', event);
    }

    keyDown(event) {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (this.options.key && this.options.key(event)) {
        event.preventDefault();
        return;
      }
      const steps = {ArrowLeft: [kArrow, 0], ArrowRight: [-kArrow, 0], ArrowUp: [0, kArrow],
                     ArrowDown: [0, -kArrow], PageUp: [0, this.height / 2],
                     PageDown: [0, -this.height / 2]};
      if (steps[event.key]) this.pan(...steps[event.key]);
      else if (event.key === '+' || event.key === '=') this.zoom(1.3);
      else if (event.key === '-') this.zoom(1 / 1.3);
      else if (event.key === '0') this.fit();
      else return;
      event.preventDefault();
    }
  };
})(window.lockstep = window.lockstep || {});
