"use strict";
/* Draws the graph in the element "data". Boxes are laid out by dagre, each open group by itself, so that opening one costs no more
   than what is in it. */
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const items = data.items, root = data.root;
  const at = (id) => document.getElementById(id);
  const view = at("view"), picture = at("picture"), panel = at("panel");
  const BOXES = 36, MOST = 1500, HEAD = 30, PAD = 12;
  const parent = new Int32Array(items.length).fill(-1);
  items.forEach((item, i) => (item.children || []).forEach((child) => { parent[child] = i; }));
  const isGroup = (i) => items[i].children !== undefined;
  const users = items.map(() => []);
  data.edges.forEach(([a, b]) => users[a].push(b));

  let open = new Set(), shown = null, picked = -1, hits = new Set();
  let scale = 1, left = 0, top = 0, places = new Map();
  let touched = false;                  /* moved by hand: a resized window does not move it again */

  const pencil = document.createElement("canvas").getContext("2d");
  const widths = new Map();
  function width(text, font) {
    const key = font + text;
    if (!widths.has(key)) { pencil.font = font; widths.set(key, pencil.measureText(text).width); }
    return widths.get(key);
  }
  const escaped = (text) => String(text).replace(/[&<>"]/g, (c) => ({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})[c]);
  const cut = (text, n) => text.length > n ? text.slice(0, n - 1) + "…" : text;

  /* What is drawn of an item */
  const parts = (i) => items[i].children.flatMap((child) => items[child].kind === "stretch" ? parts(child) : [child]);
  function label(i) {
    const item = items[i];
    if (item.kind === "repeat") {
      const all = parts(i).length, n = shown ? parts(i).filter(lives).length : all;
      return n === all ? `${item.name} × ${n}` : `${item.name}: ${n} of ${all}`;
    }
    if (item.kind === "failed") return `✗ ${item.name}`;
    if (item.short && parent[i] >= 0 && items[parent[i]].kind === "module") return item.short;
    return item.result ? `${item.result} = ${item.name}` : item.name;
  }
  function lines(i) {
    const item = items[i], out = [];
    if (item.type && item.type !== item.name) out.push(item.type);
    if (item.got) out.push(`got ${item.got}`);
    else if (item.shape) out.push(`${item.shape} ${item.dtype || ""}`.trim());
    const more = [];
    if (item.kept) more.push(`${item.kept} kept`);
    if (item.norm) more.push(`|g| ${item.norm}`);
    if (more.length) out.push(more.join(" · "));
    return out;
  }
  const head = (i) => items[i].type && items[i].type !== items[i].name ? `: ${items[i].type}` : "";
  function size(i) {
    const small = lines(i), name = cut(label(i), 44);
    let w = width(name, "600 12px system-ui, sans-serif") + (isGroup(i) ? 30 : 0);
    small.forEach((text) => { w = Math.max(w, width(text, "11px system-ui, sans-serif")); });
    return {w: Math.ceil(w) + 22, h: 26 + 14 * small.length};
  }

  /* Which boxes are joined: each edge in the group where both ends meet, and the groups between as entries and exits */
  let joined;
  function join() {
    joined = new Map();
    const inside = (group) => {
      if (!joined.has(group)) joined.set(group, {edges: new Map(), enter: new Set(), leave: new Set()});
      return joined.get(group);
    };
    const above = (i) => { const out = []; while (i >= 0) { out.push(i); i = parent[i]; } return out.reverse(); };
    const chains = new Map();
    const chain = (i) => { if (!chains.has(i)) chains.set(i, above(i)); return chains.get(i); };
    for (const [a, b] of data.edges) {
      if (shown && !(shown.has(a) && shown.has(b))) continue;
      const from = chain(a), to = chain(b);
      let n = 0;
      while (from[n] === to[n]) n++;
      const place = inside(from[n - 1]).edges, key = from[n] + " " + to[n];
      const known = place.get(key);
      const leaf = items[a].kind === "parameter" || items[a].kind === "input";
      if (known) { known.n++; known.leaf = known.leaf && leaf; }
      else place.set(key, {a: from[n], b: to[n], n: 1, leaf, shape: items[a].shape});
      for (let k = n; k + 1 < from.length; k++) inside(from[k]).leave.add(from[k + 1]);
      for (let k = n; k + 1 < to.length; k++) inside(to[k]).enter.add(to[k + 1]);
    }
  }
  function lives(i) {
    if (!shown) return true;
    return isGroup(i) ? items[i].children.some(lives) : shown.has(i);
  }

  /* The size and the inner places of a group */
  const nameOf = (i) => "b" + i;          /* no bare number: objects would sort them, and the order is the program's */
  function arrange(group) {
    const g = new dagre.graphlib.Graph();
    g.setGraph({rankdir: "TB", nodesep: 18, ranksep: 26, marginx: PAD, marginy: PAD});
    g.setDefaultEdgeLabel(() => ({}));
    const inner = new Map();
    const children = items[group].children.filter(lives);
    for (const child of children) {
      let box;
      if (isGroup(child) && open.has(child)) {
        const part = arrange(child);
        inner.set(child, part);
        box = {w: Math.max(part.w, width(label(child) + head(child), "600 12px system-ui, sans-serif") + 48), h: part.h + HEAD};
        part.shift = (box.w - part.w) / 2;
      } else box = size(child);
      g.setNode(nameOf(child), {width: box.w, height: box.h});
    }
    const links = joined.get(group) || {edges: new Map(), enter: new Set(), leave: new Set()};
    for (const e of links.edges.values()) g.setEdge(nameOf(e.a), nameOf(e.b), {n: e.n, leaf: e.leaf, shape: e.shape});
    if (group !== root) {
      if (links.enter.size) {
        g.setNode("in", {width: 8, height: 8});
        links.enter.forEach((child) => g.setEdge("in", nameOf(child), {port: true}));
      }
      if (links.leave.size) {
        g.setNode("out", {width: 8, height: 8});
        links.leave.forEach((child) => g.setEdge(nameOf(child), "out", {port: true}));
      }
    }
    dagre.layout(g);
    const size_ = g.graph();
    return {g, inner, w: Math.max(size_.width || 0, 40), h: Math.max(size_.height || 0, 20), shift: 0};
  }

  function curve(points, x, y) {
    const p = points.map((q) => [q.x + x, q.y + y]);
    let d = `M${p[0][0].toFixed(1)} ${p[0][1].toFixed(1)}`;
    for (let k = 1; k + 1 < p.length; k++) {
      const mid = [(p[k][0] + p[k + 1][0]) / 2, (p[k][1] + p[k + 1][1]) / 2];
      const end = k + 2 === p.length ? p[k + 1] : mid;
      d += `Q${p[k][0].toFixed(1)} ${p[k][1].toFixed(1)} ${end[0].toFixed(1)} ${end[1].toFixed(1)}`;
    }
    if (p.length === 2) d += `L${p[1][0].toFixed(1)} ${p[1][1].toFixed(1)}`;
    return d;
  }

  function classes(i, more) {
    const item = items[i];
    return ["item", isGroup(i) ? "group" : "", item.kind, more, item.failed ? "bad-inside" : "", i === picked ? "picked" : "",
      hits.has(i) ? "hit" : ""].filter(Boolean).join(" ");
  }
  function toggle(i, x, y) {
    const sign = open.has(i) ? "−" : "+";
    return `<g class="toggle" data-toggle="${i}"><rect x="${x}" y="${y}" width="18" height="18" rx="4"/>` +
      `<text x="${x + 9}" y="${y + 13}" text-anchor="middle">${sign}</text></g>`;
  }

  function draw(part, x, y, out) {
    const {g} = part;
    for (const e of g.edges()) {
      const edge = g.edge(e);
      if (!edge.points) continue;
      const light = edge.leaf;
      out.push(`<path class="edge${light ? " light" : ""}" d="${curve(edge.points, x, y)}" marker-end="url(#tip)">` +
        (edge.shape ? `<title>${escaped(edge.shape)}${edge.n > 1 ? ` and ${edge.n - 1} more` : ""}</title>` : "") + "</path>");
    }
    for (const name of g.nodes()) {
      const node = g.node(name), bx = x + node.x - node.width / 2, by = y + node.y - node.height / 2;
      if (name === "in" || name === "out") {
        out.push(`<circle class="port" cx="${x + node.x}" cy="${y + node.y}" r="3"/>`);
        continue;
      }
      const i = Number(name.slice(1)), inner = part.inner.get(i);
      places.set(i, {x: bx, y: by, w: node.width, h: node.height});
      const round = items[i].kind === "parameter" || items[i].kind === "input" ? 12 : 6;
      const text = escaped(cut(label(i), 44));
      out.push(`<g class="${classes(i, inner ? "open" : "")}" data-item="${i}" tabindex="0" role="button" aria-label="${text}">`);
      if (!inner && items[i].kind === "repeat")
        out.push(`<rect class="back" x="${bx + 4}" y="${by + 4}" width="${node.width}" height="${node.height}" rx="6"/>`);
      out.push(`<rect x="${bx}" y="${by}" width="${node.width}" height="${node.height}" rx="${round}"/>`);
      if (inner) {
        out.push(`<text class="name" x="${bx + 10}" y="${by + 20}">${text}<tspan class="soft">${escaped(head(i))}</tspan></text>`);
      } else {
        out.push(`<text class="name" x="${bx + 10}" y="${by + 18}">${text}</text>`);
        lines(i).forEach((line, k) => out.push(`<text class="soft" x="${bx + 10}" y="${by + 33 + 14 * k}">${escaped(line)}</text>`));
      }
      if (isGroup(i)) out.push(toggle(i, bx + node.width - 24, by + 6));
      out.push("</g>");
      if (inner) draw(inner, bx + inner.shift, by + HEAD, out);
    }
  }

  let whole = {w: 100, h: 100};
  function render() {
    places = new Map();
    whole = arrange(root);
    const out = ['<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">' +
      '<path d="M0 0L8 4L0 8z"/></marker></defs><g id="all">'];
    draw(whole, 0, 0, out);
    out.push("</g>");
    picture.innerHTML = out.join("");
    move();
  }
  function move() { at("all").setAttribute("transform", `translate(${left.toFixed(1)} ${top.toFixed(1)}) scale(${scale.toFixed(3)})`); }
  function fit() {
    touched = false;
    const w = view.clientWidth, h = view.clientHeight;
    const all = Math.min((w - 24) / whole.w, (h - 24) / whole.h), wide = (w - 24) / whole.w;
    scale = Math.min(1.1, Math.max(all, Math.min(wide, 0.8), 0.08));
    left = (w - whole.w * scale) / 2;
    top = Math.max(12, (h - whole.h * scale) / 2);
    move();
  }
  function zoom(factor, x, y) {
    const next = Math.min(3, Math.max(0.05, scale * factor));
    left = x - (x - left) * next / scale;
    top = y - (y - top) * next / scale;
    scale = next;
    touched = true;
    move();
  }
  function bring(i) {
    const p = places.get(i);
    if (!p) return;
    if (scale < 0.5) scale = 0.8;
    touched = true;
    left = view.clientWidth / 2 - (p.x + p.w / 2) * scale;
    top = view.clientHeight / 2 - (p.y + Math.min(p.h, 200) / 2) * scale;
    move();
  }

  /* Opening and closing */
  const isLayer = (i) => items[i].kind === "module" && parent[i] !== root && !items[i].children.some(isGroup);
  function openSome(limit) {
    open = new Set();
    let boxes = items[root].children.filter(lives).length;
    const waiting = items[root].children.filter((i) => isGroup(i) && lives(i));
    while (waiting.length) {
      const i = waiting.shift(), inside = items[i].children.filter(lives);
      if (limit < MOST && (items[i].kind === "repeat" || !inside.some(isGroup) && items[root].children.length > 1 || isLayer(i))) continue;
      if (boxes + inside.length > limit && boxes > 4) continue;
      open.add(i);
      boxes += inside.length;
      waiting.push(...inside.filter(isGroup));
    }
    if (data.failure) items.forEach((item, i) => { if (item.kind === "failed") reveal(i); });
  }
  function reveal(i) { for (let k = parent[i]; k >= 0; k = parent[k]) open.add(k); }
  function flip(i) {
    const before = places.get(i);
    if (open.has(i)) open.delete(i); else open.add(i);
    render();
    const after = places.get(i);
    if (before && after) {
      left += (before.x - after.x) * scale;
      top += (before.y - after.y) * scale;
      move();
    }
  }
  function pick(i) {
    picked = i;
    picture.querySelectorAll(".picked").forEach((e) => e.classList.remove("picked"));
    const box = picture.querySelector(`[data-item="${i}"]`);
    if (box) box.classList.add("picked");
    tell(i);
  }
  function go(i) { reveal(i); render(); pick(i); bring(i); }

  /* The panel */
  function source(line) {
    const [file, number] = line, known = data.sources[file] || {};
    const rows = [];
    for (let n = number - 4; n <= number + 4; n++)
      if (known[n] !== undefined) rows.push(`<div${n === number ? ' class="here"' : ""}><i>${n}</i>${escaped(known[n]) || " "}</div>`);
    return rows.length ? `<pre>${rows.join("")}</pre>` : "";
  }
  function pathOf(i) {
    for (let k = i; k >= 0; k = parent[k]) if (items[k].kind === "module") return (items[k].path || items[k].name) + (items[k].type ? `: ${items[k].type}` : "");
    return "";
  }
  function linksTo(title, list) {
    if (!list.length) return "";
    return `<h3>${title}</h3><ul>` + list.slice(0, 40).map((i) => `<li><button data-go="${i}">${escaped(items[i].name)} <small>` +
      escaped([items[i].shape, pathOf(i)].filter(Boolean).join("  ")) + "</small></button></li>").join("") + "</ul>";
  }
  function failure(text) {                  /* what PyTorch says too, and what explains it */
    const [first, ...below] = text.split("\n");
    return `<p class="bad">${escaped(first)}</p>` + below.map((line) => `<p class="below">${escaped(line.replace(/^  /, ""))}</p>`).join("");
  }
  function tell(i) {
    const item = items[i], rows = [];
    const row = (name, value) => { if (value) rows.push(`<dt>${name}</dt><dd>${escaped(value)}</dd>`); };
    row("node", item.kind === "failed" && !item.shape ? "" : item.title);
    row("class", item.type);
    row("module", isGroup(i) ? item.path : pathOf(i));
    row("result", item.shape && !isGroup(i) ? `${item.shape} ${item.dtype || ""}` : "");
    row("last result", item.shape && isGroup(i) ? `${item.shape} ${item.dtype || ""}` : "");
    row("outputs", item.outputs);
    row("operations", item.operations);
    row("repeated", item.kind === "repeat" ? `${parts(i).length} times` : "");
    row("kept for backward", item.kept);
    row("copied by a write", item.copied);
    row("gradient's norm", item.norm);
    row(item.kind === "failed" ? "failed at" : item.kind === "operation" ? "recorded at" : "made at", item.line ? `${item.line[0]}:${item.line[1]}, in ${item.line[2]}` : "");
    let text = `<h2>${escaped(item.kind === "parameter" || item.kind === "input" ? `${item.name} (${item.kind})` : label(i))}</h2>`;
    if (item.note) text += failure(item.note);
    text += `<dl>${rows.join("")}</dl>`;
    if (item.line) text += source(item.line);
    if (item.kind === "parameter" || item.kind === "input") text += `<p><button data-path="${i}">Show the gradient's path</button></p>`;
    if (isGroup(i)) text += `<p><button data-flip="${i}">${open.has(i) ? "Collapse" : "Expand"}</button></p>`;
    else text += linksTo("takes", data.edges.filter(([, b]) => b === i).map(([a]) => a)) + linksTo("taken by", users[i]);
    panel.innerHTML = text;
    panel.scrollTop = 0;
  }
  function hello() {
    panel.innerHTML = (data.failure ? `<h2>The program failed</h2>${failure(data.failure)}` : "<h2>How to read it</h2>") +
      "<p>Values flow downwards; gradients flow back up. A box with + is a module: open it with + or a double click. " +
      "Click a box for its line. Drag to move, turn the wheel to zoom.</p>";
  }

  /* Searching and filtering */
  function search(text) {
    hits = new Set();
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length) { render(); if (picked >= 0) tell(picked); else hello(); return; }
    const lines = new Set();
    const matches = (parts) => { const all = parts.join(" ").toLowerCase(); return words.every((word) => all.includes(word)); };
    items.forEach((item, i) => {
      if (i === root || !lives(i)) return;
      const line = item.line ? `${item.line[0]}:${item.line[1]} ${(data.sources[item.line[0]] || {})[item.line[1]] || ""}` : "";
      const named = [label(i), item.name, item.title, item.type, item.path, item.result, item.shape, item.dtype];
      if (matches(named)) hits.add(i);
      else if (matches([...named, line])) lines.add(i);
    });
    if (!hits.size) { hits = new Set(lines); lines.clear(); }
    render();
    const list = (title, found) => !found.size ? "" : (title ? `<h3>${title}</h3>` : "") + "<ul>" + [...found].slice(0, 200).map((i) =>
      `<li><button data-go="${i}">${escaped(label(i))} <small>` +
      escaped([pathOf(i), items[i].line ? `${items[i].line[0]}:${items[i].line[1]}` : ""].filter(Boolean).join("  ")) +
      "</small></button></li>").join("") + "</ul>" + (found.size > 200 ? `<p>and ${found.size - 200} more</p>` : "");
    panel.innerHTML = `<h2>${hits.size} found</h2>` + list("", hits) + list("on the same lines", lines);
  }
  function filter(i) {
    at("path").value = i < 0 ? "" : String(i);
    if (i < 0) shown = null;
    else {
      shown = new Set([i]);
      const waiting = [i];
      while (waiting.length) for (const k of users[waiting.pop()]) if (!shown.has(k)) { shown.add(k); waiting.push(k); }
    }
    join();
    openSome(BOXES);
    if (i >= 0) reveal(i);
    render();
    fit();
    if (i >= 0) pick(i);
  }

  /* Hands on */
  let drag = null;
  view.addEventListener("pointerdown", (e) => { drag = {x: e.clientX, y: e.clientY, moved: false}; });
  window.addEventListener("pointermove", (e) => {
    if (!drag) return;
    if (Math.abs(e.clientX - drag.x) + Math.abs(e.clientY - drag.y) > 3 || drag.moved) {
      drag.moved = touched = true;
      view.classList.add("moving");
      left += e.clientX - drag.x;
      top += e.clientY - drag.y;
      drag.x = e.clientX;
      drag.y = e.clientY;
      move();
    }
  });
  let dragged = false;
  window.addEventListener("pointerup", () => { dragged = !!(drag && drag.moved); drag = null; view.classList.remove("moving"); });
  view.addEventListener("wheel", (e) => {
    e.preventDefault();
    const box = view.getBoundingClientRect();
    zoom(Math.exp(-e.deltaY * 0.0015), e.clientX - box.left, e.clientY - box.top);
  }, {passive: false});
  picture.addEventListener("click", (e) => {
    if (dragged) return;
    const sign = e.target.closest("[data-toggle]"), box = e.target.closest("[data-item]");
    if (sign) flip(Number(sign.dataset.toggle));
    else if (box) pick(Number(box.dataset.item));
  });
  picture.addEventListener("dblclick", (e) => {
    const box = e.target.closest("[data-item]");
    if (box && !e.target.closest("[data-toggle]") && isGroup(Number(box.dataset.item))) flip(Number(box.dataset.item));
  });
  picture.addEventListener("keydown", (e) => {
    const box = e.target.closest("[data-item]");
    if (!box || (e.key !== "Enter" && e.key !== " ")) return;
    e.preventDefault();
    const i = Number(box.dataset.item);
    pick(i);
    if (isGroup(i)) flip(i);
    const again = picture.querySelector(`[data-item="${i}"]`);
    if (again) again.focus();
  });
  panel.addEventListener("click", (e) => {
    const button = e.target.closest("button");
    if (!button) return;
    if (button.dataset.go) go(Number(button.dataset.go));
    if (button.dataset.flip) { flip(Number(button.dataset.flip)); tell(Number(button.dataset.flip)); }
    if (button.dataset.path) filter(Number(button.dataset.path));
  });
  at("search").addEventListener("input", (e) => search(e.target.value));
  at("search").addEventListener("keydown", (e) => {
    const first = panel.querySelector("[data-go]");
    if (e.key === "Enter" && first) first.click();
  });
  at("path").addEventListener("change", (e) => filter(e.target.value === "" ? -1 : Number(e.target.value)));
  at("more").addEventListener("click", () => { openSome(MOST); render(); fit(); });
  at("less").addEventListener("click", () => { open = new Set(); render(); fit(); });
  at("in").addEventListener("click", () => zoom(1.25, view.clientWidth / 2, view.clientHeight / 2));
  at("out").addEventListener("click", () => zoom(0.8, view.clientWidth / 2, view.clientHeight / 2));
  at("fit").addEventListener("click", fit);
  at("theme").addEventListener("click", () => {
    const html = document.documentElement;
    const dark = html.dataset.theme ? html.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    html.dataset.theme = dark ? "light" : "dark";
  });
  window.addEventListener("resize", () => { if (!touched) fit(); });

  at("path").insertAdjacentHTML("beforeend", items.map((item, i) => item.kind === "parameter" || item.kind === "input"
    ? `<option value="${i}">Path to ${escaped(item.name)}</option>` : "").join(""));
  join();
  openSome(BOXES);
  render();
  fit();
  hello();
  const failed = items.findIndex((item) => item.kind === "failed");
  if (failed >= 0) { pick(failed); bring(failed); }
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
})();
