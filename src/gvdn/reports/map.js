// The interactive map: nodes move from one state to the next; a node that is pointed at shows its id and classes.
// Its data is the JSON in the same element (maps.py). Without this script the static picture above it is shown alone.
"use strict";

(() => {
  const MOVING = 900; // milliseconds from one state to the next
  const MARGIN = 16; // pixels around the nodes
  const NEAR = { mouse: 12, touch: 28 }; // a pointer selects the nearest node within so many pixels
  const SIZE = { victim: 4.2, other: 2.4 }; // radius in pixels

  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const eased = (t) => t * t * (3 - 2 * t);
  const between = (a, b, t) => a.map(([x, y], i) => [x + (b[i][0] - x) * t, y + (b[i][1] - y) * t]);

  function element(name, text, settings = {}) {
    return Object.assign(document.createElement(name), { textContent: text }, settings);
  }

  class MovingMap {
    constructor(root) {
      this.maps = JSON.parse(root.querySelector("script").textContent);
      for (const name of ["choice", "states", "stage", "tip", "says", "classes"]) {
        this[name] = root.querySelector(`.map-${name}`);
      }
      this.canvas = root.querySelector("canvas");
      this.choice.append(...this.maps.map((one, i) => new Option(one.name, i)));
      this.listen();
      root.hidden = false;
      root.parentElement.classList.add("moving"); // on a phone the static picture makes room
      this.open(this.maps[0]);
    }

    listen() {
      this.choice.addEventListener("change", () => this.open(this.maps[this.choice.value]));
      this.canvas.addEventListener("pointermove", (event) => {
        if (event.pointerType === "mouse") this.pick(this.nearest(event, NEAR.mouse));
      });
      this.canvas.addEventListener("pointerleave", (event) => {
        if (event.pointerType === "mouse") this.pick(null);
      });
      this.canvas.addEventListener("click", (event) => this.pick(this.nearest(event, NEAR.touch)));
      this.canvas.addEventListener("keydown", (event) => this.step(event));
      dark.addEventListener("change", () => this.draw());
      new ResizeObserver(() => this.draw()).observe(this.canvas);
    }

    // ---- state

    open(map) {
      this.map = map;
      this.wide = Math.max(1, ...map.xy.flat().map(([x]) => x));
      this.high = Math.max(1, ...map.xy.flat().map(([, y]) => y));
      const nodes = map.ids.map((_, i) => i);
      this.order = [...nodes.filter((i) => !map.victims[i]), ...nodes.filter((i) => map.victims[i])];
      this.states.replaceChildren(...map.states.map((name, state) => this.button(name, state)));
      this.classes.replaceChildren(...map.class_names.map((name, i) => this.sign(name, map.colours[i])));
      this.positions = map.xy[0];
      this.pick(null);
      this.go(0);
    }

    button(name, state) {
      return element("button", name, { type: "button", onclick: () => this.go(state) });
    }

    sign(name, colour) {
      const item = element("li", name);
      item.style.setProperty("--colour", colour);
      return item;
    }

    go(state) {
      this.state = state;
      [...this.states.children].forEach((one, i) => one.setAttribute("aria-pressed", i === state));
      this.says.textContent = this.summary();
      const from = this.positions;
      const began = performance.now();
      cancelAnimationFrame(this.frame);
      const move = (now) => {
        const t = still.matches ? 1 : Math.min(Math.max((now - began) / MOVING, 0), 1);
        this.positions = t === 1 ? this.map.xy[state] : between(from, this.map.xy[state], eased(t));
        this.draw();
        this.pick(this.picked);
        if (t < 1) this.frame = requestAnimationFrame(move);
      };
      move(began);
    }

    wrong(i) {
      return this.map.answers[this.state][i] !== this.map.classes[i];
    }

    summary() {
      const count = (nodes) => `${nodes.filter((i) => !this.wrong(i)).length} of ${nodes.length}`;
      const victims = this.order.filter((i) => this.map.victims[i]);
      const others = this.order.filter((i) => !this.map.victims[i]);
      return `${this.map.name}, ${this.map.states[this.state]}: ${count(victims)} victims and ${count(others)} other nodes are classified correctly.`;
    }

    // ---- drawing

    at(i) {
      const scale = Math.min((this.width - 2 * MARGIN) / this.wide, (this.height - 2 * MARGIN) / this.high);
      const [x, y] = this.positions[i];
      return [this.width / 2 + (x - this.wide / 2) * scale, this.height / 2 - (y - this.high / 2) * scale];
    }

    draw() {
      const sharp = window.devicePixelRatio || 1;
      [this.width, this.height] = [this.canvas.clientWidth, this.canvas.clientHeight];
      this.canvas.width = Math.round(this.width * sharp);
      this.canvas.height = Math.round(this.height * sharp);
      const pen = this.canvas.getContext("2d");
      pen.scale(sharp, sharp);
      for (const i of this.order) this.node(pen, i);
      if (this.picked !== null) this.ring(pen, this.picked);
    }

    node(pen, i) {
      const [x, y] = this.at(i);
      const size = this.map.victims[i] ? SIZE.victim : SIZE.other;
      pen.globalAlpha = this.map.victims[i] ? 1 : 0.5;
      pen.fillStyle = pen.strokeStyle = this.map.colours[this.map.classes[i]];
      pen.beginPath();
      if (this.wrong(i)) {
        pen.lineWidth = size / 2.2;
        pen.moveTo(x - size, y - size);
        pen.lineTo(x + size, y + size);
        pen.moveTo(x + size, y - size);
        pen.lineTo(x - size, y + size);
        pen.stroke();
      } else {
        pen.arc(x, y, size, 0, 2 * Math.PI);
        pen.fill();
      }
    }

    ring(pen, i) {
      pen.globalAlpha = 1;
      pen.lineWidth = 1.5;
      pen.strokeStyle = getComputedStyle(this.canvas).color;
      pen.beginPath();
      pen.arc(...this.at(i), 9, 0, 2 * Math.PI);
      pen.stroke();
    }

    // ---- selecting a node

    nearest(event, within) {
      const box = this.canvas.getBoundingClientRect();
      const far = (i) => Math.hypot(this.at(i)[0] - event.clientX + box.left, this.at(i)[1] - event.clientY + box.top);
      const best = this.order.reduce((found, i) => (far(i) <= far(found) ? i : found));
      return far(best) <= within ? best : null;
    }

    step(event) {
      const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (event.key === "Escape") this.pick(null);
      if (!by) return;
      event.preventDefault();
      const last = this.picked ?? this.order[by > 0 ? this.order.length - 1 : 0];
      const next = this.order.indexOf(last) + by;
      this.pick(this.order.at(next % this.order.length));
    }

    pick(i) {
      const changed = i !== this.picked;
      this.picked = i;
      this.tip.hidden = i === null;
      if (i !== null) this.tell(i);
      if (changed && this.width) this.draw();
    }

    tell(i) {
      const { ids, victims, classes, class_names: names, answers } = this.map;
      const answer = names[answers[this.state][i]];
      const words = [
        `node ${ids[i]}${victims[i] ? ", a victim" : ""}`,
        `true class: ${names[classes[i]]}`,
        `predicted: ${answer}${this.wrong(i) ? " (wrong)" : ""}`,
      ].join("\n");
      if (this.tip.textContent !== words) this.tip.textContent = words;
      const [x, y] = this.at(i);
      const left = Math.min(x + 14, this.width - this.tip.offsetWidth - 4);
      const above = y - this.tip.offsetHeight - 14;
      this.tip.style.left = `${Math.max(left, 4)}px`;
      this.tip.style.top = `${above < 0 ? y + 14 : above}px`;
    }
  }

  for (const root of document.querySelectorAll(".map")) new MovingMap(root);
})();
