"use strict";
const root = JSON.parse(document.getElementById("data").textContent);
const graph = document.getElementById("graph"), tip = document.getElementById("tip"), search = document.getElementById("search");
const found = document.getElementById("found");
const HUES = { all: 0, thread: 0, group: 0, module: 210, user: 280, backward: 20, leaf: 45, step: 140, make: 170, view: 90 };
let centre = root, wanted = null;

(function up(node, above) { node.above = above; node.f.forEach(inner => up(inner, node)); })(root, null);

function time(us) { return us >= 1e6 ? (us / 1e6).toFixed(3) + " s" : us >= 1e3 ? (us / 1e3).toFixed(3) + " ms" : us.toFixed(3) + " µs"; }
function bytes(n) { const a = Math.abs(n); return a >= 1 << 20 ? (n / (1 << 20)).toFixed(2) + " MB" : a >= 1024 ? (n / 1024).toFixed(2) + " KB" : n + " B"; }
function colour(node) {
  let h = 0;
  for (const c of node.n) h = (h * 31 + c.codePointAt(0)) % 997;
  const grey = node.k === "all" || node.k === "thread" || node.k === "group";
  return grey ? "#d4d4d4" : `hsl(${(HUES[node.k] ?? 55) + h % 20} 70% ${68 + h % 12}%)`;
}
function words(node) {
  const lines = [node.n + (node.k === "all" ? "" : "  (" + node.k + ")"),
    time(node.t) + ", " + (100 * node.t / (root.t || 1)).toFixed(2) + " % of all" + (node.c ? ", " + node.c + " calls" : "")];
  const own = node.t - node.f.reduce((sum, inner) => sum + inner.t, 0);
  if (node.f.length && own > 0 && node.k !== "all") lines.push("own time " + time(own));
  if (node.b) lines.push("memory " + bytes(node.b));
  if (node.m) lines.push("module " + node.m);
  for (const line of node.l) lines.push(line);
  return lines.join("\n");
}
function box(node, depth, left, width, above) {
  const b = document.createElement("button");
  b.type = "button";
  b.className = "box" + (above ? " above" : "");
  b.style.cssText = `top:${depth * 20}px;left:${left}px;width:${Math.max(width, 1)}px;background:${colour(node)}`;
  if (width > 30) b.textContent = node.n;
  else b.style.padding = "0";
  b.setAttribute("role", "treeitem");
  b.setAttribute("aria-label", words(node));
  if (wanted) b.classList.add(wanted.test(node.n) || wanted.test(node.m) ? "hit" : "dim");
  b.onclick = () => { centre = node; draw(); };
  b.onmousemove = event => {
    tip.textContent = words(node);
    tip.style.display = "block";
    tip.style.left = Math.max(4, Math.min(event.clientX + 12, innerWidth - tip.offsetWidth - 8)) + "px";
    tip.style.top = Math.max(4, Math.min(event.clientY + 16, innerHeight - tip.offsetHeight - 8)) + "px";
  };
  b.onmouseleave = () => { tip.style.display = "none"; };
  graph.append(b);
}
function draw() {
  graph.replaceChildren();
  tip.style.display = "none";
  const width = graph.clientWidth, chain = [];
  let deepest = 0;
  for (let at = centre.above; at; at = at.above) chain.unshift(at);
  chain.forEach((node, depth) => box(node, depth, 0, width, true));
  const scale = width / (centre.t || 1), todo = [[centre, chain.length, 0]];
  while (todo.length) {
    const [node, depth, left] = todo.pop();
    box(node, depth, left, node.t * scale, false);
    deepest = Math.max(deepest, depth);
    let x = left;
    for (const inner of node.f) {
      if (inner.t * scale >= 0.4) todo.push([inner, depth + 1, x]);
      x += inner.t * scale;
    }
  }
  graph.style.height = (deepest + 1) * 20 + "px";
}
function matches(node) {
  if (wanted.test(node.n) || wanted.test(node.m)) return node.t;
  return node.f.reduce((sum, inner) => sum + matches(inner), 0);
}
search.oninput = () => {
  wanted = null;
  found.textContent = "";
  if (search.value) {
    try { wanted = new RegExp(search.value, "i"); } catch { wanted = new RegExp(search.value.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i"); }
    found.textContent = (100 * matches(root) / (root.t || 1)).toFixed(1) + " % of the time";
  }
  draw();
};
document.getElementById("reset").onclick = () => { centre = root; search.value = ""; search.oninput(); };
/* What takes the most time itself, wherever it is called from: a button that searches for it. */
function own(node, sums) {
  const time = node.t - node.f.reduce((sum, inner) => sum + inner.t, 0);
  if (time > 0 && !["all", "thread", "group"].includes(node.k)) {
    const known = sums.get(node.n) ?? { time: 0, calls: 0, line: "" };
    sums.set(node.n, { time: known.time + time, calls: known.calls + (node.c || 0), line: known.line || node.l[0] || "" });
  }
  node.f.forEach(inner => own(inner, sums));
  return sums;
}
function cell(row, text, number) {
  const made = row.insertCell();
  made.textContent = text;
  if (number) made.className = "number";
  return made;
}
for (const [name, { time: spent, calls, line }] of [...own(root, new Map())].sort((a, b) => b[1].time - a[1].time).slice(0, 10)) {
  const row = document.getElementById("top").insertRow(), button = document.createElement("button");
  cell(row, time(spent), true);
  cell(row, (100 * spent / (root.t || 1)).toFixed(1) + " %", true);
  cell(row, calls + " calls", true);
  button.type = "button";
  button.textContent = name;
  button.onclick = () => { search.value = "^" + name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&") + "$"; search.oninput(); };
  cell(row, "").append(button);
  cell(row, line);
}
document.getElementById("guide").textContent = "Wide is slow: the whole width is " + time(root.t) + ", and a box lies below what called it. " +
  "Point at a box for its line, click it to fill the page with it, Escape shows all.";
addEventListener("resize", draw);
addEventListener("keydown", event => { if (event.key === "Escape") document.getElementById("reset").click(); });
draw();
