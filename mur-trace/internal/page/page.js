"use strict";
(() => {
  // Numbers beyond 2^53 keep their digits where the browser can.
  const text = document.getElementById("data").textContent;
  const exact = (key, v, from) => typeof v === "number" && from?.source && String(v) !== from.source ? JSON.rawJSON(from.source) : v;
  const data = JSON.rawJSON && /[:[,]-?\d{16}/.test(text) ? JSON.parse(text, exact) : JSON.parse(text);
  const events = data.events;
  const byID = new Map(events.map((e, i) => [e.event_id, i]));
  const $ = (id) => document.getElementById(id);
  const el = (tag, cls, text) => {
    const n = document.createElement(tag);
    if (cls) n.className = cls;
    if (text !== undefined) n.textContent = text; // never as markup: a trace is not to be trusted
    return n;
  };
  const ROW = 26;

  // What an event is, in the words of the page.
  const DENIALS = new Set(["call_denied", "protected_path_denied", "tool_input_refused", "spend_ceiling_reached", "call_deadline", "control_refused", "task_rejected"]);
  const kindOf = (e) => {
    const t = e.event_type;
    if (t === "inference") return "turn";
    if (t === "tool_call" || t === "skill_call" || t === "plan_step") return "call";
    if (t.startsWith("shell")) return "shell";
    if (DENIALS.has(t)) return "denial";
    return "other";
  };
  const failed = (e) => e.status === "error" || e.status === "failed" || e.decision === "error" || (typeof e.exit_code === "number" && e.exit_code !== 0) ||
    DENIALS.has(e.event_type) || e.event_type === "task_failed" || ((e.event_type === "task_end" || e.event_type === "session_end") && e.exit_status !== "ok");
  const commandText = (c) => Array.isArray(c) ? c.join(" ") : String(c ?? "");
  const oneLine = (v) => typeof v === "string" ? v : JSON.stringify(v);
  const what = (e) => {
    switch (e.event_type) {
      case "session_start": return e.capsule_name + " " + e.capsule_version;
      case "session_end": return e.exit_status;
      case "task_start": return e.task_id + " from " + e.source;
      case "task_end": return e.exit_status;
      case "inference": return (e.origin ? e.origin + ": " : e.turn + ": ") + e.decision + (e.tool_name ? " " + e.tool_name : "") + (e.error ? ": " + e.error : "");
      case "tool_call": return e.tool_name + (e.input !== undefined ? "  " + oneLine(e.input) : "");
      case "skill_call": return e.skill_name;
      case "shell": return commandText(e.command) + (e.exit_code ? "  exit " + e.exit_code : "");
      case "shell_detached": case "shell_completed": case "shell_abandoned": case "shell_lost": return e.work_id + "  " + commandText(e.command);
      case "call_denied": return e.hook_name + " refused " + e.target + ": " + e.reason;
      case "protected_path_denied": return e.rule + " protects " + e.path + ": " + e.target;
      case "compaction": return e.tokens_before + " → " + e.tokens_after + " tokens";
      case "plan_step": return e.step_id + " " + e.status;
      default: return [e.name, e.target, e.tool_name, e.path, e.outcome, e.reason].filter((x) => x !== undefined && x !== null).map(oneLine).join("  ");
    }
  };
  const label = (e) => e.event_type === "inference" ? "turn" : e.event_type.replaceAll("_", " ");
  const millis = (ms) => Math.abs(ms) < 1000 ? ms + "ms" : (ms / 1000).toFixed(1) + "s";
  const count = (n) => n === null || n === undefined ? "—" : n.toLocaleString("en-US");
  const start = events.length ? events[0].timestamp : 0;

  events.forEach((e, i) => {
    e.i = i;
    e.kind = kindOf(e);
    e.fail = failed(e);
    e.text = what(e);
  });
  let haystack = null; // made at the first search
  const hay = () => haystack ??= events.map((e) => (e.event_type + " " + e.text + " " + (e.task_id ?? "") + " " + (typeof e.output === "string" ? e.output : "")).toLowerCase());

  // The list shows only the rows in view, so its length costs nothing.
  const list = $("list"), space = $("space");
  let shown = events.map((e) => e.i), selected = -1, pool = [];
  const draw = () => {
    const first = Math.max(0, Math.floor(list.scrollTop / ROW) - 5);
    const last = Math.min(shown.length, first + Math.ceil(list.clientHeight / ROW) + 10);
    while (pool.length < last - first) {
      const r = el("div", "row");
      r.setAttribute("role", "option");
      r.append(el("span", "at"), el("span", "kind"), el("span", "what"), el("span", "took"));
      pool.push(r);
      space.append(r);
    }
    pool.forEach((r, n) => {
      const at = first + n;
      r.hidden = at >= last;
      if (r.hidden) { r.removeAttribute("id"); return; }
      const e = events[shown[at]];
      r.id = "row-" + e.i;
      r.style.top = at * ROW + "px";
      r.className = "row" + (e.kind === "turn" || e.kind === "other" ? "" : " child") + (e.fail ? " fail" : "") + (e.i === selected ? " sel" : "");
      r.setAttribute("aria-selected", String(e.i === selected));
      r.setAttribute("aria-setsize", String(shown.length));
      r.setAttribute("aria-posinset", String(at + 1));
      r.dataset.i = String(e.i);
      r.children[0].textContent = "+" + millis(e.timestamp - start);
      r.children[1].textContent = label(e);
      r.children[1].className = "kind k-" + e.kind;
      r.children[2].textContent = e.text.slice(0, 300);
      r.children[3].textContent = e.duration_ms === undefined ? "" : millis(e.duration_ms);
    });
  };
  const scrollTo = (at) => {
    const top = at * ROW;
    if (top < list.scrollTop) list.scrollTop = top;
    else if (top + ROW > list.scrollTop + list.clientHeight) list.scrollTop = top + ROW - list.clientHeight;
  };
  const select = (i, at) => {
    selected = i;
    if (at === undefined) at = shown.indexOf(i);
    if (at >= 0) scrollTo(at);
    draw();
    list.setAttribute("aria-activedescendant", "row-" + i);
    detail(events[i]);
    marker();
  };

  const filter = () => {
    const words = $("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const kinds = new Set([...document.querySelectorAll("input[data-kind]:checked")].map((c) => c.dataset.kind));
    const bad = $("bad").checked;
    const texts = words.length ? hay() : null;
    shown = [];
    for (const e of events) {
      if (!kinds.has(e.kind) || (bad && !e.fail)) continue;
      if (texts && !words.every((w) => texts[e.i].includes(w))) continue;
      shown.push(e.i);
    }
    space.style.height = shown.length * ROW + "px";
    $("found").textContent = count(shown.length) + " of " + count(events.length);
    if (list.scrollTop > shown.length * ROW) list.scrollTop = 0;
    draw();
  };

  // Details of one event.
  const pretty = (v) => typeof v === "string" ? v : JSON.stringify(v, null, 2);
  const SEPARATE = ["input", "output", "command", "effective_grants", "error", "reason"];
  const detail = (e) => {
    const box = $("detail");
    box.replaceChildren();
    box.append(el("h2", "", label(e) + ", line " + e.line));
    const table = el("table");
    for (const [k, v] of Object.entries(e.raw ?? e)) {
      if (["i", "kind", "fail", "text", "raw", "line"].includes(k) || SEPARATE.includes(k) || v === null) continue;
      const tr = el("tr");
      tr.append(el("th", "", k), el("td", "", oneLine(v)));
      table.append(tr);
    }
    for (const k of SEPARATE) {
      if (e[k] === undefined || e[k] === null) continue;
      const pre = el("pre", "", pretty(e[k]));
      pre.tabIndex = 0;
      pre.dataset.part = k;
      box.append(el("h2", "", k), pre);
    }
    if (e.event_type === "tool_call" && e.output === undefined) box.append(el("h2", "", "output"), el("p", "id", "not recorded: " + count(e.output_bytes) + " bytes (capture " + data.session.capture + ")"));
    box.append(el("h2", "", "how it came"));
    const chain = el("ul", "chain");
    const up = [];
    for (let p = e; p; p = events[byID.get(p.parent_id)]) up.unshift(p);
    up.forEach((p, depth) => {
      const li = el("li");
      const b = el("button", "", label(p) + "  " + p.text.slice(0, 120));
      b.style.marginLeft = depth * 14 + "px";
      b.addEventListener("click", () => { select(p.i); list.focus(); });
      li.append(b);
      chain.append(li);
    });
    box.append(chain, el("h2", "", "fields"), table);
    box.scrollTop = 0;
  };

  // The strip above: events over time, and each turn's tokens.
  const lanes = ["turn", "call", "shell", "denial"];
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  const end = events.reduce((m, e) => Math.max(m, e.timestamp), start + 1);
  const sizes = (c, h) => {
    const r = window.devicePixelRatio || 1, w = c.clientWidth;
    c.width = w * r; c.height = h * r; c.style.height = h + "px";
    const g = c.getContext("2d");
    g.setTransform(r, 0, 0, r, 0, 0);
    return [g, w, h];
  };
  const timeline = () => {
    const [g, w, h] = sizes($("time"), 56);
    const colours = { turn: colour("turn"), call: colour("call"), shell: colour("shell"), denial: colour("bad") };
    for (const e of events) {
      const lane = lanes.indexOf(e.kind);
      if (lane < 0) continue;
      const took = e.duration_ms ?? 0;
      const x1 = (e.timestamp - start) / (end - start) * (w - 4), x0 = Math.max(0, (e.timestamp - took - start) / (end - start) * (w - 4));
      g.fillStyle = e.fail ? colours.denial : colours[e.kind];
      g.fillRect(x0, lane * 14 + 1, Math.max(2, x1 - x0), 11);
    }
    marker();
  };
  const marker = () => {
    const m = $("marker");
    if (selected < 0) { m.hidden = true; return; }
    m.hidden = false;
    m.style.left = (events[selected].timestamp - start) / (end - start) * ($("time").clientWidth - 4) + "px";
  };
  const turns = events.filter((e) => e.event_type === "inference");
  const tokens = () => {
    const [g, w, h] = sizes($("tokens"), 40);
    const most = turns.reduce((m, e) => Math.max(m, (e.input_tokens ?? 0) + (e.output_tokens ?? 0)), 1);
    const input = colour("accent"), output = colour("other");
    const each = Math.min(24, w / Math.max(1, turns.length));
    turns.forEach((e, n) => {
      const i = (e.input_tokens ?? 0) / most * h, o = (e.output_tokens ?? 0) / most * h;
      g.fillStyle = input; g.fillRect(n * each, h - i, Math.max(1, each - 1), i);
      g.fillStyle = output; g.fillRect(n * each, h - i - o, Math.max(1, each - 1), o);
    });
  };
  const paint = () => { timeline(); tokens(); draw(); };

  // Input.
  list.addEventListener("scroll", draw, { passive: true });
  list.addEventListener("click", (ev) => {
    const r = ev.target.closest(".row");
    if (r) select(Number(r.dataset.i));
  });
  const move = (by) => {
    if (!shown.length) return;
    const at = shown.indexOf(selected);
    const to = at < 0 ? 0 : Math.max(0, Math.min(shown.length - 1, at + by));
    select(shown[to], to);
  };
  const page = () => Math.max(1, Math.floor(list.clientHeight / ROW) - 1);
  const nextOf = (dir) => {
    const at = shown.indexOf(selected);
    for (let n = at + dir; n >= 0 && n < shown.length; n += dir) if (events[shown[n]].fail) return select(shown[n], n);
  };
  const keys = {
    ArrowDown: () => move(1), j: () => move(1), ArrowUp: () => move(-1), k: () => move(-1),
    PageDown: () => move(page()), PageUp: () => move(-page()), Home: () => move(-Infinity), End: () => move(Infinity),
    n: () => nextOf(1), p: () => nextOf(-1), Enter: () => $("detail").focus(),
  };
  document.addEventListener("keydown", (ev) => {
    if (ev.ctrlKey || ev.metaKey || ev.altKey) return;
    if (ev.target === $("search")) {
      if (ev.key === "Escape") { $("search").value = ""; filter(); list.focus(); }
      else if (ev.key === "Enter" || ev.key === "ArrowDown") { list.focus(); move(0); ev.preventDefault(); }
      return;
    }
    if (ev.key === "/") { $("search").focus(); $("search").select(); ev.preventDefault(); return; }
    if (ev.key === "Escape") { list.focus(); return; }
    if (["INPUT", "BUTTON", "PRE"].includes(ev.target.tagName) || ev.target === $("detail")) return;
    const act = keys[ev.key];
    if (act) { act(); ev.preventDefault(); }
  });
  $("search").addEventListener("input", filter);
  document.querySelectorAll("input[type=checkbox]").forEach((c) => c.addEventListener("change", filter));
  $("theme").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    paint();
  });
  $("time").addEventListener("click", (ev) => {
    const at = start + ev.offsetX / ($("time").clientWidth - 4) * (end - start);
    let best = -1;
    for (const i of shown) if (best < 0 || Math.abs(events[i].timestamp - at) < Math.abs(events[best].timestamp - at)) best = i;
    if (best >= 0) select(best);
  });
  $("tokens").addEventListener("click", (ev) => {
    const each = Math.min(24, $("tokens").clientWidth / Math.max(1, turns.length));
    const t = turns[Math.floor(ev.offsetX / each)];
    if (t) select(t.i);
  });
  addEventListener("resize", paint);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
  filter();
  paint();
  if (events.length) select(0);
  list.focus();
  document.documentElement.dataset.ready = "1";
})();
