"use strict";
// Plays a recording: one time cursor over every picture. Reads #run, changes only classes,
// texts and positions of what the page already shows.
(() => {
  const run = JSON.parse(document.getElementById("run").textContent);
  const by = id => document.getElementById(id);
  const [play, scrub, clock, phase, speed, tip] =
    ["play", "scrub", "clock", "phase", "speed", "tip"].map(by);
  let now = run.end, playing = false, last = 0;

  // The last index whose time is at or before t; -1 before the first. `at` reads the time.
  const before = (list, t, at) => {
    let low = 0, high = list.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (at(list[middle]) <= t) low = middle + 1; else high = middle;
    }
    return low - 1;
  };
  const value = (steps, t, none) => {
    const i = before(steps, t, step => step[0]);
    return i < 0 ? none : steps[i][1];
  };
  // Time to pixels of the plot and back, piece by piece: quiet is squeezed.
  const place = (x, from, to) => {
    const piece = run.scale[Math.max(0, before(run.scale, x, piece => piece[from]))];
    const share = (x - piece[from]) / (piece[from + 1] - piece[from]);
    return piece[to] + Math.min(1, Math.max(0, share)) * (piece[to + 1] - piece[to]);
  };
  const pixel = time => place(time, 0, 2), time = x => place(x, 2, 0);
  const seconds = ms => {
    const s = ms / 1000;
    if (s < 100) return s.toFixed(2) + " s";
    if (s < 6000) return s.toFixed(1) + " s";
    return (s / 60).toFixed(1) + " min";
  };

  const cursors = [...document.querySelectorAll(".cursor")];
  const nodes = run.nodes.map((node, id) => ({
    ...node, box: by("n" + id), fill: by("f" + id), state: by("s" + id), edge: by("e" + id),
    shown: ""
  }));
  const cells = run.cells.map((cell, i) => ({times: cell, box: by("c" + i), shown: ""}));

  const drawEdge = (node, edge, doing, held) => {
    node.edge.style.display = edge && doing !== "down" ? "" : "none";
    if (edge) node.edge.setAttribute("d", edge);
    node.edge.classList.toggle("live", held > 0 && held < 100);
  };

  // Most nodes are as they were a frame ago; whatever is touched is laid out and painted again.
  const drawTree = () => {
    for (const node of nodes) {
      const doing = value(node.doing, now, "absent");
      const held = value(node.held, now, 0);
      const edge = value(node.edges, now, "");
      const version = value(node.versions, now, -1);
      const state = [doing, held, edge, version].join();
      if (state === node.shown) continue;
      node.shown = state;
      node.box.classList.toggle("down", doing === "down");
      node.box.classList.toggle("gone", doing === "absent" || doing === "down");
      node.fill.setAttribute("width", run.width * held / 100);
      const fill = held > 0 && held < 100 ? " " + held + " %" : "";
      node.state.textContent = doing + (version < 0 ? "" : " v" + version) + fill;
      if (node.edge) drawEdge(node, edge, doing, held);
    }
  };

  const refitNow = () => before(run.refits, now, refit => refit.begun);

  // All cells may change at one moment: while playing that takes some frames, so that none is late.
  const drawMap = () => {
    const refit = refitNow();
    let left = playing ? 120 : cells.length;
    for (const cell of cells) {
      const times = refit < 0 ? null : cell.times[refit];
      let state = refit > 0 ? "v" : "";
      if (times) {
        const [encoded, staged, verified] = times;
        state = verified >= 0 && verified <= now ? "v" : staged >= 0 && staged <= now ? "s"
          : encoded >= 0 && encoded <= now ? "e" : "";
      }
      if (run.refits[refit] && run.refits[refit].wrong && state === "v") state = "w";
      if (state === cell.shown) continue;
      if (left-- === 0) return;
      cell.shown = state;
      cell.box.setAttribute("class", "cell " + state);
    }
  };

  const show = (place, text) => {
    if (place.textContent !== text) place.textContent = text;
  };
  const draw = () => {
    const x = pixel(now);
    // They stand at the end of the plot and are moved as layers: nothing below is painted again.
    for (const line of cursors) line.style.transform = `translateX(${x - run.plot}px)`;
    scrub.value = Math.round(10000 * x / run.plot);
    show(clock, seconds(now));
    const refit = refitNow();
    show(phase, value(run.phases, now, "starting") +
      (refit < 0 ? "" : ", refit to version " + run.refits[refit].version));
    drawTree();
    drawMap();
  };
  const go = to => {
    now = Math.min(run.end, Math.max(0, to));
    draw();
  };
  const frame = at => {
    if (!playing) return;
    // The whole width takes 20 seconds at speed 1.
    go(time(pixel(now) + (at - last) * run.plot / 20000 * Number(speed.value)));
    last = at;
    if (now >= run.end) stop(); else requestAnimationFrame(frame);
  };
  const stop = () => {
    playing = false;
    play.textContent = "Play";
    drawMap();
  };
  const start = () => {
    if (now >= run.end) now = 0;
    playing = true;
    play.textContent = "Pause";
    last = performance.now();
    requestAnimationFrame(frame);
  };
  play.onclick = () => playing ? stop() : start();
  scrub.oninput = () => {
    stop();
    go(time(scrub.value / 10000 * run.plot));
  };
  document.addEventListener("keydown", event => {
    if (event.target.matches("select, summary") || event.ctrlKey || event.metaKey) return;
    const skip = share => go(time(pixel(now) + share * run.plot));
    const act = {" ": () => play.onclick(), ".": () => skip(0.005), ",": () => skip(-0.005),
      Home: () => go(0), End: () => go(run.end)}[event.key];
    if (!act) return;
    event.preventDefault();
    if (event.key !== " ") stop();
    act();
  });

  // What a lane shows under the pointer: the span with its exact times.
  const say = (event, text) => {
    tip.textContent = text;
    tip.style.display = "block";
    tip.style.left = Math.min(event.clientX + 14, innerWidth - 340) + "px";
    tip.style.top = event.clientY + 16 + "px";
  };
  const inside = (svg, event) => {
    const box = svg.getBoundingClientRect();
    return [(event.clientX - box.left) * svg.viewBox.baseVal.width / box.width,
      (event.clientY - box.top) * svg.viewBox.baseVal.height / box.height];
  };
  const lanes = by("lanes");
  if (lanes) lanes.onmousemove = event => {
    const [x, y] = inside(lanes, event);
    const row = run.lanes[Math.floor((y - run.top) / run.row)];
    const t = time(x - run.left);
    const i = row ? before(row.spans, t, span => span[0]) : -1;
    if (i < 0 || row.spans[i][1] < t) {
      tip.style.display = "none";
      return;
    }
    const [from, to, what] = row.spans[i];
    say(event, `${row.name}: ${run.kinds[what]}, ${seconds(from)} to ${seconds(to)} ` +
      `(${seconds(to - from)}), ${run.provenance}`);
  };
  for (const svg of document.querySelectorAll("svg[data-time]")) {
    svg.addEventListener("mouseleave", () => { tip.style.display = "none"; });
    svg.addEventListener("click", event => {
      stop();
      go(time(inside(svg, event)[0] - run.left));
    });
  }
  for (const cell of document.querySelectorAll("[data-tip]")) {
    cell.addEventListener("mousemove", event => say(event, cell.dataset.tip));
    cell.addEventListener("mouseleave", () => { tip.style.display = "none"; });
  }
  // Paper shows everything; afterwards the page is as it was.
  let unfolded = [];
  addEventListener("beforeprint", () => {
    unfolded = [...document.querySelectorAll("details:not([open])")];
    for (const part of unfolded) part.open = true;
  });
  addEventListener("afterprint", () => { for (const part of unfolded) part.open = false; });
  // A link may name a moment: report.html#t=12.5
  const moment = /^#t=([0-9.]+)$/.exec(location.hash);
  go(moment ? Number(moment[1]) * 1000 : run.end);
})();
