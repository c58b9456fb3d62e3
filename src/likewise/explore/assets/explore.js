"use strict";
// All numbers come from the program on this machine. Data values enter the page only as text, through make and say,
// which make invisible characters and reversed reading order visible.
(() => {
  const $ = (id) => document.getElementById(id);
  const token = location.pathname.split("/")[1];
  const SVG = "http://www.w3.org/2000/svg";
  const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 1 }); // counts; bars of weighted pairs have fractions
  const SHOWN_DIRECTIONS = 8;
  const MISSING = "(missing)";
  const PAGE_SIZE = 25;
  const LARGEST = 1e9; // gap that can be asked for
  const LONGEST = 80; // letters of a value, as in the report

  const fresh = () => ({
    changes: about.changes.start, shift: about.shift.start, tolerances: {}, limit: about.limit,
    transition: null, label: null, least: 0, sort: "gap", rising: false, page: 0, pair: null,
  });
  let about = null;
  let state = null;
  let answer = null;
  let allDirections = false;

  // ---- text of data values, as in the report ----
  const EMOJI = "[\\u00a9\\u00ae\\u203c\\u2049\\u2122-\\u27bf\\u2934-\\u2bff\\u3030-\\u3299\\u{1f000}-\\u{1faff}]";
  const JOINING = "[\\u0620-\\u0dff]";
  const SHAPING = `(?<=${EMOJI})(?:\\ufe0f?\\u200d(?=${EMOJI})|\\ufe0f)|(?<=[#*0-9])\\ufe0f(?=\\u20e3)|(?<=${JOINING})[\\u200c\\u200d](?=${JOINING})`;
  const UNSEEN = "(?! )[\\p{C}\\p{Z}\\u034f\\u115f\\u1160\\u180b-\\u180f\\u2800\\u3164\\ufe00-\\ufe0f\\uffa0]";
  const UNPRINTED = new RegExp(`${SHAPING}|(${UNSEEN})`, "gu");
  const SPACE = /^(?!\ufeff)[\s\x1c-\x1f\x85]$/;
  const FROM_RIGHT = "\\u0590-\\u08ff\\ufb1d-\\ufdff\\ufe70-\\ufeff\\u{10800}-\\u{10fff}\\u{1e800}-\\u{1eeff}";
  const READ_FROM_RIGHT = new RegExp(`[${FROM_RIGHT}]+(?:[ '"\\u200c\\u200d-]+[${FROM_RIGHT}]+)*`, "gu");
  const spell = (letter) => `\u27e8U+${letter.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}\u27e9`;
  const clean = (words) => words.replace(UNPRINTED, (found, unseen) => (unseen === undefined ? found : SPACE.test(found) ? " " : spell(found)));
  const isolate = (words) => words.replace(READ_FROM_RIGHT, "\u2068$&\u2069");
  const readable = (child) => (typeof child === "string" ? isolate(clean(child)) : child);

  // ---- formatting ----
  function make(tag, given = {}, ...children) {
    const made = tag.startsWith("svg:") ? document.createElementNS(SVG, tag.slice(4)) : document.createElement(tag);
    for (const [name, value] of Object.entries(given)) if (value !== null && value !== false) made.setAttribute(name, value === true ? "" : name === "aria-label" ? clean(value) : value);
    made.append(...children.filter((child) => child !== null).map(readable));
    return made;
  }
  const say = (id, words) => { $(id).textContent = readable(words); };
  const fill = (id, ...children) => $(id).replaceChildren(...children);
  const count = (n, one, many) => `${whole.format(n)} ${n === 1 ? one : many ?? one + "s"}`;
  const percent = (value, digits = 2) => (value === null || value === undefined ? "\u2013" : `${(100 * value).toFixed(digits)}%`);
  const points = (value, digits = 2) => (value === null || value === undefined ? "\u2013" : about.in_points ? `${(100 * value).toFixed(digits).replace(/^-/, "\u2212")} pp` : percent(value, digits)); // a gap
  const signed = (value) => `${value > 0 ? "+" : value < 0 ? "\u2212" : ""}${points(Math.abs(value))}`;
  const plainNumber = (value) => String(Number(value.toPrecision(10)));
  function cut(words, most) { // in the middle: long values often differ at their ends
    if (words.length <= most) return words;
    const letters = [...words], kept = (most - 1) >> 1; // whole ones: an emoji is two halves
    return letters.length <= most ? words : `${letters.slice(0, kept).join("")}\u2026${letters.slice(-kept).join("")}`;
  }
  const tidy = (words, most = LONGEST) => cut(clean(cut(words, 2 * most)), most);
  const show = (value, most) => tidy(value === null ? MISSING : value === "" ? "(empty)" : String(value), most);
  const text = (value) => make("bdi", {}, show(value));
  const joined = (values) => values.map((value) => show(value)).join(", ") || "(none)";
  const score = (value) => (Array.isArray(value) ? value.map((one) => one.toFixed(3)).join(" ") : about.task === "regression" ? Number(value.toPrecision(6)).toString() : value.toFixed(3));
  const labelName = (code) => `${show(about.labels[code])}${about.positive === code ? " (positive)" : ""}`;
  const personName = (id, row) => (about.has_ids ? show(id, 40) : `row ${whole.format(row)}`);

  // ---- requests ----
  async function ask(what, question) {
    const response = await fetch(what, {
      method: "POST",
      headers: { "content-type": "application/json", "x-likewise-token": token },
      body: JSON.stringify(question),
      credentials: "omit",
    });
    if (response.ok) return response;
    let reason = `The server returned status ${response.status}.`;
    try { reason = (await response.json()).error; } catch { /* no message */ }
    throw new Error(reason);
  }
  const wish = () => ({
    changes: state.changes, shift: state.shift, tolerances: state.tolerances, limit: state.limit, transition: state.transition, label: state.label,
    least_gap: state.least, sort: state.sort, is_rising: state.rising, page: state.page, size: PAGE_SIZE,
  });
  function explain(error) {
    const gone = error instanceof TypeError;
    say("trouble", gone ? "The explorer is not responding. Start likewise explore again." : error.message);
    $("trouble").hidden = false;
  }

  // One request at a time: meanwhile only the newest one waits, and older ones are dropped.
  let underWay = false;
  let waiting = false;
  async function look() {
    keepState();
    if (underWay) { waiting = true; return; }
    underWay = true;
    try {
      do {
        waiting = false;
        const found = await (await ask("api/look", wish())).json();
        $("trouble").hidden = true;
        answer = found;
        if (!waiting) state.page = found.page; // or else a page turned meanwhile would be turned back
        draw();
      } while (waiting);
    } catch (error) { explain(error); }
    underWay = false;
    if (waiting) look();
  }

  // ---- state in the address ----
  function keepState() {
    const kept = new URLSearchParams({ d: state.changes, c: plainNumber(state.shift) });
    if (Object.keys(state.tolerances).length) kept.set("by", JSON.stringify(state.tolerances));
    if (state.limit !== about.limit) kept.set("limit", plainNumber(state.limit));
    if (state.transition !== null) kept.set("transition", state.transition);
    if (state.label !== null) kept.set("label", state.label);
    if (state.least > 0) kept.set("least", plainNumber(state.least));
    if (state.sort !== "gap" || state.rising) kept.set("sort", `${state.sort}${state.rising ? "-up" : ""}`);
    if (state.page > 0) kept.set("page", state.page + 1);
    if (state.pair) kept.set("pair", state.pair.join("-"));
    history.replaceState(null, "", `#${kept}`);
  }
  function readTolerances(text) {
    let given = {};
    try { given = JSON.parse(text ?? "{}") ?? {}; } catch { /* not of this page */ }
    const moved = about.tolerances.filter((one) => given[one.column] >= 0);
    return Object.fromEntries(moved.map((one) => [one.column, Math.min(Number(given[one.column]), one.most)]));
  }
  function readState() {
    const kept = new URLSearchParams(location.hash.slice(1));
    const number = (name, usual, least, most) => {
      const found = kept.get(name);
      return found === null || found === "" || !Number.isFinite(Number(found)) ? usual : Math.min(Math.max(Number(found), least), most);
    };
    const code = (name) => (/^\d{1,9}$/.test(kept.get(name) ?? "") ? Number(kept.get(name)) : null);
    const usual = fresh();
    const [, sort, up] = /^(gap|rank_gap|row)(-up)?$/.exec(kept.get("sort") ?? "") ?? [null, "gap", undefined];
    const pair = /^(\d{1,9})-(\d{1,9})$/.exec(kept.get("pair") ?? "");
    return {
      changes: Math.round(number("d", usual.changes, 0, about.changes.end)),
      shift: number("c", usual.shift, 0, about.shift.end),
      tolerances: readTolerances(kept.get("by")),
      limit: number("limit", usual.limit, 0, LARGEST),
      transition: code("transition"),
      label: about.labels.length ? code("label") : null,
      least: number("least", 0, 0, LARGEST),
      sort, rising: up !== undefined,
      page: Math.max((code("page") ?? 1) - 1, 0),
      pair: pair && [Number(pair[1]), Number(pair[2])],
    };
  }

  // ---- results ----
  function draw() {
    drawRule();
    drawFigures();
    drawSlices();
    drawChart();
    drawDirections();
    drawPartners();
    drawFilters();
    drawPairs();
    forgetSplit();
    tell();
  }
  let telling = 0;
  function tell() { // a screen reader hears where the thresholds came to rest, not every step
    clearTimeout(telling);
    const all = answer.slices[0];
    const words = `${count(answer.n_pairs, "pair")}, coverage ${percent(answer.matched_share, 1)}` + (all.n ? `, mean gap ${points(all.gap_mean)}${beside(all)}.` : ".");
    telling = setTimeout(() => { say("told", words); }, 700);
  }
  const unitOf = (one) => (one.measure === "units" ? "" : ` ${one.measure}`);
  function followed(one) { // what the shift allows in the units of the column
    if (one.is_own || one.measure === "ranks") return one.start;
    return about.shift.end ? (one.most * state.shift) / about.shift.end : 0;
  }
  function drawTolerances() {
    about.tolerances.forEach((one, place) => {
      const isMoved = one.column in state.tolerances;
      const amount = isMoved ? state.tolerances[one.column] : followed(one);
      const [slider, number, reset] = ["tolerance", "amount", "follow"].map((name) => $(`${name}-${place}`));
      slider.value = amount;
      if (document.activeElement !== number) number.value = plainNumber(Number(amount.toPrecision(6)));
      slider.setAttribute("aria-valuetext", `${plainNumber(amount)}${unitOf(one)}`);
      reset.hidden = !isMoved;
    });
  }
  function wireTolerances() {
    $("by-column").hidden = !about.tolerances.length;
    $("by-column").open = about.tolerances.length <= 6;
    fill("tolerances", ...about.tolerances.map((one, place) => {
      const name = `Largest difference in ${show(one.column)}${unitOf(one)}`;
      const own = one.is_own ? "limit of the rule" : one.measure === "ranks" ? "ordinal" : "follows the shift";
      const step = one.measure === "ranks" ? 1 : niceStep(one.most);
      const slider = make("input", { type: "range", id: `tolerance-${place}`, min: 0, max: one.most, step, "aria-label": name });
      const number = make("input", { type: "number", id: `amount-${place}`, min: 0, max: one.most, step: "any", "aria-label": `${name}, exact` });
      const reset = make("button", { type: "button", class: "quiet", id: `follow-${place}`, hidden: true }, "Undo");
      const set = (text) => {
        if (text.trim() === "" || !(Number(text) >= 0)) return;
        state.tolerances[one.column] = Math.min(Number(text), one.most);
        state.page = 0;
        look();
      };
      for (const field of [slider, number]) field.addEventListener("input", () => set(field.value));
      reset.addEventListener("click", () => { delete state.tolerances[one.column]; look(); });
      const ends = `0 to ${plainNumber(one.most)}${unitOf(one)}, ${own}`;
      return make("div", { class: "slider" },
        make("p", { class: "named" }, text(one.column), make("small", {}, ends)),
        make("div", { class: "reach" }, slider, number, reset));
    }));
  }
  function drawRule() {
    say("rule-words", answer.rule);
    for (const [name, value] of [["changes", state.changes], ["shift", state.shift]]) {
      $(name).value = value;
      if (document.activeElement !== $(`${name}-number`)) $(`${name}-number`).value = plainNumber(value);
    }
    drawTolerances();
    $("shift").setAttribute("aria-valuetext", plainNumber(state.shift));
    if (about.shift.limits) {
      const factor = about.shift.asked ? state.shift / about.shift.asked : 1;
      const parts = about.shift.columns.map((name, place) => `${show(name)} ${plainNumber(about.shift.limits[place] * factor)}`);
      say("shift-end", `Up to ${plainNumber(about.shift.end)}. This is the largest of several limits, which keep their proportions: ${parts.join(", ")}.`);
    }
  }
  const beside = (one) => (one.same_group_gap_mean === undefined ? "" : `, baseline ${points(one.same_group_gap_mean)}${one.excess === undefined ? "" : `, excess ${signed(one.excess)}`}`);
  function drawFigures() {
    const all = answer.slices[0];
    const [everybody] = answer.partners;
    const figures = [
      ["Comparable pairs", whole.format(answer.n_pairs), `of ${whole.format(about.n_held)} held`],
      ["Coverage", percent(answer.matched_share, 1), `${whole.format(everybody.n_with_partner)} of ${count(everybody.n_people, "person", "people")} matched`],
    ];
    const told = about.task === "binary" && about.labels.length ? answer.slices.slice(1).reverse() : [all];
    for (const one of told) {
      const whose = one.label === null ? "all pairs" : `label ${show(one.label)}${one.is_positive ? " (positive)" : ""}`;
      const more = one.excess === undefined ? `upper quartile ${points(one.gap_q3)}` : `excess ${signed(one.excess)}`;
      figures.push([`Mean gap, ${whose}`, points(one.gap_mean), one.n ? more : "no pairs"]);
    }
    figures.push([`Gap above ${points(answer.limit, 1)}`, percent(all.gap_share_above, 1), "of the pairs"]);
    if (all.flip_rate !== null && all.flip_rate !== undefined) figures.push(["Different decisions", percent(all.flip_rate, 1), "of the pairs"]);
    fill("figures", ...figures.map(([name, value, more]) => make("div", {}, make("dt", {}, name), make("dd", {}, make("b", {}, value), make("span", {}, more)))));
  }
  function drawSlices() {
    const columns = [["n", "Pairs"], ["gap_mean", "Mean"]];
    if (about.has_baseline) columns.push(["same_group_gap_mean", "Baseline mean"], ["excess", "Excess"]);
    columns.push(["gap_median", "Median"], ["gap_q3", "Upper quartile"], ["gap_q95", "95th percentile"], ["gap_max", "Maximum"], ["gap_share_above", `Above ${points(answer.limit, 1)}`], ["rank_gap_mean", "Mean rank gap"]);
    const write = (name, value) => (name === "n" ? whole.format(value) : name === "excess" && value !== undefined ? signed(value) : /^(gap|same_group_gap)_(?!share)/.test(name) ? points(value) : percent(value));
    if (answer.slices.some((one) => typeof one.flip_rate === "number")) columns.push(["flip_rate", "Different decisions"]);
    fill("slices-head", make("th", { scope: "col" }, about.labels.length && about.label ? text(about.label) : "Pairs"), ...columns.map(([, title]) => make("th", { scope: "col", class: "number" }, title)));
    fill("slices", ...answer.slices.map((one, place) => make("tr", {},
      make("th", { scope: "row" }, place === 0 ? "All pairs" : text(labelName(place - 1))),
      ...columns.map(([name, title]) => make("td", { class: "number", "data-title": title }, write(name, one[name]))))));
  }
  function drawChart() {
    const { edges } = about;
    const chosen = answer.selection.counts;
    const isFiltered = chosen !== null || answer.selection.n !== answer.n_pairs;
    const width = Math.min(Math.max(Math.round($("chart").clientWidth), 280), 900), height = width < 500 ? 220 : 260, left = 62, right = 12, top = about.has_baseline ? 58 : 42, bottom = 34;
    const largest = Math.max(...answer.counts, 1);
    const end = edges[edges.length - 1];
    const x = (gap) => left + (Math.min(gap, end) / end) * (width - left - right);
    const y = (n) => height - bottom - (n / largest) * (height - top - bottom);
    const all = answer.slices[0];
    const words = `${count(answer.n_pairs, "pair")}` + (all.n ? `; the mean gap is ${points(all.gap_mean)}${beside(all)}, the upper quartile ${points(all.gap_q3)}, the maximum ${points(all.gap_max)}.` : ".");
    const svg = make("svg:svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-labelledby": "chart-title chart-words" }, make("svg:title", { id: "chart-title" }, "Distribution of gaps"), make("svg:desc", { id: "chart-words" }, words));
    for (const n of ticks(largest, 4)) {
      svg.append(make("svg:line", { class: "grid", x1: left, x2: width - right, y1: y(n), y2: y(n) }), make("svg:text", { x: left - 8, y: y(n) + 4, "text-anchor": "end" }, whole.format(n)));
    }
    answer.counts.forEach((n, bin) => {
      const bar = (m, name) => make("svg:rect", { class: name, x: x(edges[bin]) + 0.5, width: Math.max(x(edges[bin + 1]) - x(edges[bin]) - 1, 0.5), y: y(m), height: Math.max(height - bottom - y(m), m ? 1 : 0) });
      if (n) svg.append(bar(n, isFiltered ? "bar" : "bar chosen"));
      if (chosen && chosen[bin]) svg.append(bar(chosen[bin], "chosen"));
    });
    svg.append(make("svg:line", { class: "axis", x1: left, x2: width - right, y1: height - bottom, y2: height - bottom }));
    for (const gap of ticks(end, width < 500 ? 4 : 6)) svg.append(make("svg:text", { x: x(gap), y: height - bottom + 20, "text-anchor": "middle" }, points(gap, end < 0.1 ? 1 : 0)));
    if (answer.limit < end) svg.append(make("svg:line", { class: "limit", x1: x(answer.limit), x2: x(answer.limit), y1: top, y2: height - bottom }));
    const labels = [];
    if (all.n) { // each label in a row of its own: they may be near each other; the lowest on top, so that no line crosses a label
      const marks = [[all.gap_mean, "mean"], [all.gap_q3, "upper quartile"]];
      if (all.same_group_gap_mean !== undefined) marks.push([all.same_group_gap_mean, "baseline mean"]);
      for (const [place, [gap, name]] of marks.sort((one, other) => one[0] - other[0]).entries()) {
        const row = 14 + 16 * place;
        const isRight = x(gap) > width - 160;
        svg.append(make("svg:line", { class: "mark", x1: x(gap), x2: x(gap), y1: row - 10, y2: height - bottom }));
        labels.push(make("svg:text", { class: "told", x: x(gap) + (isRight ? -6 : 6), y: row, "text-anchor": isRight ? "end" : "start" }, `${name} ${points(gap, 1)}`));
      }
    }
    svg.append(...labels);
    fill("chart", svg);
    const legend = isFiltered ? [make("span", {}, make("i", { class: "chosen" }), "selected"), make("span", {}, make("i"), "all comparable pairs")] : [make("span", {}, make("i", { class: "chosen" }), "comparable pairs")];
    fill("legend", ...legend, make("span", {}, `dashed: ${points(answer.limit, 1)}`));
    fill("bins", ...answer.counts.map((n, bin) => make("tr", {}, make("td", {}, points(edges[bin], 1)), make("td", {}, points(edges[bin + 1], 1)), make("td", { class: "number" }, whole.format(n)), make("td", { class: "number" }, whole.format(chosen ? chosen[bin] : isFiltered ? 0 : n)))));
  }
  function ticks(largest, n) {
    const rough = largest / n;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= rough);
    const found = [];
    for (let k = 0; k * step <= largest * (1 + 1e-9); k += 1) if (largest > 1 ? Number.isInteger(k * step) : true) found.push(k * step);
    return found;
  }
  function counts(one) { // of weighted pairs, shares by weight
    if (one.lower_share === null) return [one.n_lower, one.n_equal, one.n_higher].map((n) => whole.format(n)).join(" / ");
    return [one.lower_share, Math.max(1 - one.lower_share - one.higher_share, 0), one.higher_share].map((share) => percent(share, 1)).join(" / ");
  }
  function drawDirections() {
    const shown = allDirections ? answer.directions : answer.directions.slice(0, SHOWN_DIRECTIONS);
    fill("directions", ...shown.map((one) => {
      const isChosen = state.transition === one.number;
      const button = make("button", { type: "button", class: "link", "aria-pressed": String(isChosen), "aria-label": `Only pairs of ${joined(one.target)} and ${joined(one.origin)}` }, isChosen ? "Show all" : "Show");
      button.addEventListener("click", () => { state.transition = isChosen ? null : one.number; state.page = 0; look(); });
      return make("tr", { "aria-current": isChosen ? "true" : null },
        make("th", { scope: "row" }, text(joined(one.target))), make("td", {}, text(joined(one.origin))),
        make("td", { class: "number" }, whole.format(one.n_pairs)),
        make("td", { class: "number" }, counts(one)),
        make("td", { class: "number" }, signed(one.mean_gap)), make("td", {}, button));
    }));
    if (!shown.length) fill("directions", make("tr", {}, make("td", { colspan: 6 }, about.task === "multiclass" ? "Signed gaps need a single score per person." : "No pairs between different groups.")));
    const hidden = answer.directions.length - shown.length;
    $("all-directions").hidden = !hidden && !allDirections;
    say("all-directions", allDirections ? "Show fewer" : `Show ${count(hidden, "more group pair")}`);
    if (answer.n_directions > answer.directions.length && allDirections) say("all-directions", `Show fewer (${whole.format(answer.n_directions - answer.directions.length)} rarer ones are not listed)`);
  }
  function drawPartners() {
    const whom = (one) => (one.columns.length ? one.columns.map((name, place) => `${show(name)} = ${show(one.values[place])}`).join(", ") : one.label !== null ? `${show(about.label ?? "label")} = ${show(one.label)}` : "All people");
    fill("partners", ...answer.partners.map((one) => make("tr", {}, make("th", { scope: "row" }, text(whom(one))), make("td", { class: "number" }, whole.format(one.n_people)), make("td", { class: "number" }, whole.format(one.n_with_partner)), make("td", { class: "number" }, percent(one.weighted_share ?? (one.n_people ? one.n_with_partner / one.n_people : null), 1)))));
  }
  function drawFilters() {
    const options = answer.directions.map((one) => [one.number, `${joined(one.target)} and ${joined(one.origin)} (${whole.format(one.n_pairs)})`]);
    if (state.transition !== null && !options.some(([number]) => number === state.transition)) {
      options.push([state.transition, answer.selection.transition ? answer.selection.transition.map(joined).join(" and ") : "unknown"]);
    }
    fill("transition", make("option", { value: "" }, "Any"), ...options.map(([number, words]) => make("option", { value: number }, tidy(words, 90))));
    $("transition").value = state.transition ?? "";
    $("label").value = state.label ?? "";
    if (document.activeElement !== $("least")) $("least").value = state.least || "";
    if (document.activeElement !== $("limit")) $("limit").value = plainNumber(state.limit);
    $("clear").disabled = state.transition === null && state.label === null && !state.least;
  }
  function drawPairs() {
    const { n, gap_mean: mean } = answer.selection;
    const isAll = n === answer.n_pairs;
    say("selected", isAll ? `${count(n, "pair")}.` : `${whole.format(n)} of ${count(answer.n_pairs, "pair")}${mean === null ? "" : `, with a mean gap of ${points(mean)}${answer.selection.excess === undefined ? "" : ` (excess ${signed(answer.selection.excess)})`}`}.`);
    for (const head of document.querySelectorAll("[data-sort]")) {
      if (head.dataset.sort === state.sort) head.setAttribute("aria-sort", state.rising ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    }
    const person = (id, row, values, value) => make("td", {}, text(joined(values)), make("small", {}, make("bdi", {}, personName(id, row)), ` \u00b7 score ${score(value)}`));
    fill("pairs", ...answer.pairs.map((one) => {
      const button = make("button", { type: "button", class: "link", "aria-label": `Open ${personName(one.left_id, one.left_row)} and ${personName(one.right_id, one.right_row)}` }, "Open");
      const row = make("tr", {},
        make("td", { class: "number" }, make("b", {}, points(one.gap)), one.flip ? make("small", {}, "decisions differ") : null),
        make("td", { class: "number" }, percent(one.rank_gap, 1)),
        make("td", {}, about.labels.length ? text(about.labels[one.label]) : "\u2013"),
        person(one.left_id, one.left_row, one.left_is, one.left_score), person(one.right_id, one.right_row, one.right_is, one.right_score),
        make("td", { class: "number" }, whole.format(one.changes)), make("td", { class: "number" }, Math.max(one.shift, 0).toFixed(3)), make("td", { class: "number" }, button));
      row.addEventListener("click", () => open(one.left_row, one.right_row));
      return row;
    }));
    if (!answer.pairs.length) fill("pairs", make("tr", {}, make("td", { colspan: 8 }, answer.n_pairs ? "No pair passes the filters." : "No comparable pairs at these thresholds. Raise one of them.")));
    const pages = Math.max(Math.ceil(n / PAGE_SIZE), 1);
    say("page", `Page ${whole.format(answer.page + 1)} of ${whole.format(pages)}`);
    $("previous").disabled = answer.page === 0;
    $("next").disabled = answer.page + 1 >= pages;
    $("export-csv").disabled = !n;
    say("export-note", n > about.most_exported ? `The CSV contains the first ${whole.format(about.most_exported)} pairs in this order.` : "");
  }

  // ---- gaps split over columns ----
  const EXACT = "All parts are exact.";
  function drawParts(id, parts, more = () => []) {
    const low = Math.min(0, ...parts.map((one) => one.value)), high = Math.max(0, ...parts.map((one) => one.value));
    const x = (value) => (100 * (value - low)) / (high - low || 1);
    const bar = (value) => make("svg:svg", { viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" },
      make("svg:rect", { class: value < 0 ? "bar" : "chosen", x: x(Math.min(value, 0)), width: Math.abs(x(value) - x(0)), y: 0, height: 8 }),
      make("svg:line", { class: "axis", x1: x(0), x2: x(0), y1: 0, y2: 8 }));
    fill(id, ...parts.map((one) => make("tr", {},
      make("th", { scope: "row" }, text(one.column), make("small", {}, one.role === "matched" ? "must match" : one.role)),
      make("td", {}, signed(one.value), bar(one.value)), ...more(one))));
  }
  const whatIsSplit = () => JSON.stringify([state.changes, state.shift, state.tolerances, state.transition, state.label, state.least]);
  let splitOf = null; // what the parts on the page are of
  function forgetSplit() {
    if (splitOf === null || splitOf === whatIsSplit()) return;
    splitOf = null;
    $("split-region").hidden = true;
    say("split-words", "The selection has changed. Split its mean gap again.");
  }
  async function split() {
    const asked = whatIsSplit();
    $("split").disabled = true;
    say("split-words", "Asking the model \u2026");
    try {
      const { changes, shift, tolerances, limit, transition, label, least_gap } = wish();
      const found = await (await ask("api/split", { changes, shift, tolerances, limit, transition, label, least_gap })).json();
      splitOf = asked;
      if (found.problem !== undefined) {
        $("split-region").hidden = true;
        say("split-words", found.problem);
      } else drawSplit(found);
      forgetSplit(); // the page may have moved on meanwhile
    } catch (error) { say("split-words", ""); explain(error); }
    $("split").disabled = false;
  }
  function drawSplit(found) {
    const drawn = found.n_split < found.n_pairs;
    const how = found.n_estimated ? `${count(found.n_estimated, "pair")} differ in more than ${found.max_columns} columns; their parts are estimated from ${found.n_orders} random orders.` : EXACT;
    say("split-words", drawn
      ? `${whole.format(found.n_split)} of ${count(found.n_pairs, "pair")}, drawn at random, are split: their mean gap is ${points(found.mean_gap)}, that of all ${points(found.mean_gap_of_all)}. ${how}`
      : `The mean gap of ${count(found.n_pairs, "pair")} is ${points(found.mean_gap)}. ${how}`);
    const parts = found.columns.map((one) => ({ ...one, value: one.mean_part }));
    drawParts("split-parts", parts, (one) => [make("td", { class: "number" }, points(one.mean_size)), make("td", { class: "number" }, whole.format(one.n_pairs))]);
    $("split-parts").append(make("tr", { class: "sum" }, make("th", { scope: "row" }, "Mean gap"), make("td", {}, points(found.mean_gap)), make("td"), make("td", { class: "number" }, whole.format(found.n_split))));
    $("split-region").hidden = false;
  }
  async function splitPair(pair) {
    $("pair-split").hidden = !about.has_model;
    $("pair-split-region").hidden = true;
    if (!about.has_model) return;
    say("pair-split-words", "Asking the model \u2026");
    let problem = null;
    try {
      const found = await (await ask("api/parts", { left: pair.left_row, right: pair.right_row })).json();
      if (pair !== opened) return;
      if (found.problem === undefined) drawPairParts(found);
      else problem = found.problem;
    } catch (error) { problem = error instanceof TypeError ? "The explorer is not responding." : error.message; }
    if (problem !== null && pair === opened) say("pair-split-words", problem);
  }
  function drawPairParts(found) {
    const how = found.n_orders === null ? EXACT : `The two differ in many columns: parts are estimated from ${found.n_orders} random orders.`;
    say("pair-split-words", found.parts.length ? `What each column in which the two differ adds to their gap. ${how}` : "The two are equal in every column that the model sees.");
    drawParts("pair-parts", found.parts.map((one) => ({ ...one, value: one.part })));
    $("pair-parts").append(make("tr", { class: "sum" }, make("th", { scope: "row" }, "Gap"), make("td", {}, points(found.gap))));
    $("pair-split-region").hidden = !found.parts.length;
  }

  // ---- the pair dialog ----
  let opened = null;
  async function open(left, right) {
    try {
      opened = await (await ask("api/pair", { left, right, changes: state.changes, shift: state.shift, tolerances: state.tolerances })).json();
    } catch (error) { state.pair = null; keepState(); explain(error); return; }
    state.pair = [left, right];
    keepState();
    drawOpened();
    if (!$("dialog").open) $("dialog").showModal();
    $("pair-title").focus();
  }
  function drawOpened() {
    const one = opened;
    const names = [personName(one.left_id, one.left_row), personName(one.right_id, one.right_row)];
    say("pair-title", about.has_ids ? `${names[0]} and ${names[1]}` : `Rows ${whole.format(one.left_row)} and ${whole.format(one.right_row)}`);
    const label = about.labels.length ? `Both have label ${show(about.labels[one.label])}. ` : "";
    const flip = one.flip === null ? "" : one.flip ? " The decisions differ." : " The decision is the same.";
    const changed = about.changes.most ? ` ${count(one.n_changes, "discrete change")} (at most ${one.max_changes} allowed).` : "";
    say("pair-words", `${label}The gap is ${points(one.gap)}, the rank gap ${percent(one.rank_gap, 1)}.${flip}${changed}${one.is_comparable ? "" : " At these thresholds the two are not comparable."}`);
    const head = (title, name) => make("th", { scope: "col" }, title, make("small", {}, make("bdi", {}, name)));
    fill("side-head", make("th", { scope: "col" }, "Factor"), head("Person", names[0]), head("Comparator", names[1]), make("th", { scope: "col" }, "Difference"), make("th", { scope: "col" }, "Tolerance"));
    const decision = (decided) => (typeof decided === "boolean" ? (decided ? "yes" : "no") : text(decided));
    const apart = (factor) => {
      if (factor.role === "continuous") return factor.shift ? `${Number(factor.shift.toPrecision(3))} of range` : "";
      if (factor.role === "ordinal") return factor.shift ? count(factor.shift, "rank") : "";
      return factor.differs ? "differs" : "";
    };
    fill("side",
      make("tr", { class: "score" }, make("th", { scope: "row" }, "Score"), make("td", {}, score(one.left_score)), make("td", {}, score(one.right_score)), make("td", {}, points(one.gap)), make("td", {})),
      ...(one.flip === null ? [] : [make("tr", { class: "score" }, make("th", { scope: "row" }, "Decision"), make("td", {}, decision(one.left_decision)), make("td", {}, decision(one.right_decision)), make("td", {}, one.flip ? "differs" : ""), make("td", {}))]),
      ...one.factors.map((factor) => make("tr", { class: factor.differs ? "differs" : null },
        make("th", { scope: "row" }, text(factor.column), make("small", {}, factor.role === "matched" ? "must match" : factor.role)),
        make("td", {}, text(factor.left)), make("td", {}, text(factor.right)), make("td", {}, apart(factor)), make("td", {}, factor.allowed))));
    const fields = about.fields.filter((field) => field.why_not === null);
    $("what-if").hidden = !about.has_model || !fields.length;
    $("no-model").hidden = about.has_model;
    fill("column", ...fields.map((field) => make("option", { value: field.column }, show(field.column, 60))));
    $("who").value = "left";
    offer();
    splitPair(one);
  }
  const chosenField = () => about.fields.find((field) => field.column === $("column").value);
  function offer() { // the value that the person has is the one to start from
    const field = chosenField();
    if (!field || !about.has_model) return;
    const factor = opened.factors.find((one) => one.column === field.column);
    const now = $("who").value === "left" ? factor.left : factor.right;
    $("choice-field").hidden = field.options === null;
    $("amount-field").hidden = field.options !== null;
    if (field.options !== null) {
      fill("choice", ...field.options.map((value, place) => make("option", { value: place }, show(value, 90) + (value === now ? " (now)" : ""))));
      const place = field.options.findIndex((value) => value === now);
      $("choice").value = place < 0 ? 0 : place;
    } else {
      $("amount").value = typeof now === "number" ? now : "";
      $("amount").step = field.is_whole ? 1 : "any";
    }
    fill("answer", make("p", { class: "more" }, field.low === null ? "Change the value to see the new score." : `Change the value to see the new score. Known range: ${plainNumber(field.low)} to ${plainNumber(field.high)}.`));
    fill("line");
  }
  // One request at a time: a model may be slow, and typing triggers one per key.
  let isAsking = false;
  let asksAgain = false;
  async function whatIf() {
    if (isAsking) { asksAgain = true; return; }
    isAsking = true;
    do {
      asksAgain = false;
      const field = chosenField(), side = $("who").value, pair = opened;
      const given = field.options !== null ? $("choice").value : $("amount").value;
      if (given === "") break;
      const isStill = () => pair === opened && field === chosenField() && side === $("who").value;
      try {
        const question = { left: pair.left_row, right: pair.right_row, side, changed: { [field.column]: Number(given) } };
        const found = await (await ask("api/what-if", question)).json();
        if (asksAgain || !isStill()) continue;
        if (found.problem === undefined) drawWhatIf(found, side);
        else refuseWhatIf(found.problem);
      } catch (error) {
        if (isStill()) refuseWhatIf(error instanceof TypeError ? "The explorer is not responding." : error.message);
      }
    } while (asksAgain);
    isAsking = false;
  }
  function refuseWhatIf(reason) {
    fill("answer", make("p", { class: "bad" }, reason));
    fill("line");
  }
  function drawWhatIf(found, side) {
    const lines = [make("p", {}, make("b", {}, `Score ${score(found.before)} \u2192 ${score(found.after)}`))];
    lines.push(make("p", {}, `The gap to the other person changes from ${points(found.gap_before)} to ${points(found.gap_after)}.`));
    if (found.decision_before !== null) {
      const yes = (is) => (is ? "yes" : "no");
      lines.push(make("p", {}, found.decision_before === found.decision_after ? `The decision stays ${yes(found.decision_after)}.` : `The decision changes from ${yes(found.decision_before)} to ${yes(found.decision_after)}.`));
    }
    if (found.outside.length) lines.push(make("p", { class: "more" }, "This value is outside the known range: interpret the score with care."));
    fill("answer", ...lines);
    if (about.task !== "binary") { fill("line"); return; }
    const other = side === "left" ? opened.right_score : opened.left_score;
    const width = Math.min(Math.max(Math.round($("line").clientWidth), 240), 620);
    const x = (value) => 16 + Math.min(Math.max(value, 0), 1) * (width - 32);
    const svg = make("svg:svg", { viewBox: `0 0 ${width} 84`, "aria-hidden": "true" }, make("svg:line", { class: "axis", x1: x(0), x2: x(1), y1: 52, y2: 52 }));
    for (const at of [0, 0.25, 0.5, 0.75, 1]) svg.append(make("svg:line", { class: "axis", x1: x(at), x2: x(at), y1: 48, y2: 56 }), make("svg:text", { x: x(at), y: 78, "text-anchor": "middle" }, String(at)));
    svg.append(make("svg:line", { class: "move", x1: x(found.before), x2: x(found.after), y1: 52, y2: 52 }));
    const within = (at) => Math.min(Math.max(at, 24), width - 24);
    const apart = Math.abs(x(found.after) - x(found.before)) < 50 ? Math.sign(found.after - found.before || 1) * 24 : 0;
    for (const [value, name, words, row, moved] of [[other, "dot", "the other", 14, 0], [found.before, "dot", "before", 36, -apart], [found.after, "dot new", "after", 36, apart]]) {
      svg.append(make("svg:circle", { class: name, cx: x(value), cy: 52, r: 6 }), make("svg:text", { class: "told", x: within(x(value) + moved), y: row, "text-anchor": "middle" }, words));
    }
    fill("line", svg);
  }

  // ---- exports ----
  async function save(what, name) {
    try {
      const url = URL.createObjectURL(await (await ask(what, wish())).blob());
      const link = make("a", { href: url, download: name });
      document.body.append(link);
      link.click();
      link.remove();
      setTimeout(() => URL.revokeObjectURL(url), 10_000);
    } catch (error) { explain(error); }
  }

  // ---- event handlers ----
  function wire() {
    for (const name of ["changes", "shift"]) {
      const most = about[name].end;
      const set = (value) => {
        if (value.trim() === "" || !Number.isFinite(Number(value))) return;
        const bounded = Math.min(Math.max(Number(value), 0), most);
        state[name] = name === "changes" ? Math.round(bounded) : bounded;
        state.page = 0;
        look();
      };
      $(name).addEventListener("input", (event) => set(event.target.value));
      $(`${name}-number`).addEventListener("input", (event) => set(event.target.value));
      $(`${name}-number`).addEventListener("change", (event) => { event.target.value = plainNumber(state[name]); });
      $(name).max = $(`${name}-number`).max = most;
      $(name).disabled = $(`${name}-number`).disabled = most === 0 || (name === "shift" && !about.shift.columns.length);
    }
    $("shift").step = niceStep(about.shift.end);
    wireTolerances();
    const columns = about.changes.most;
    say("changes-end", columns ? `0 to ${about.changes.end}, of ${count(columns, "discrete column")}.` : "No discrete column may differ.");
    say("shift-end", about.shift.columns.length ? `0 to ${plainNumber(about.shift.end)}, for ${count(about.shift.columns.length, "continuous column")}.` : "No continuous column has this limit.");
    const number = (id, key) => $(id).addEventListener("input", (event) => {
      const value = Number(event.target.value);
      if (value >= 0) { state[key] = Math.min(value, LARGEST); state.page = 0; look(); }
    });
    number("least", "least");
    number("limit", "limit");
    for (const key of ["transition", "label"]) $(key).addEventListener("change", (event) => { state[key] = event.target.value === "" ? null : Number(event.target.value); state.page = 0; look(); });
    $("filters").addEventListener("submit", (event) => event.preventDefault());
    $("filters").addEventListener("reset", () => { Object.assign(state, { transition: null, label: null, least: 0, page: 0 }); look(); });
    $("all-directions").addEventListener("click", () => { allDirections = !allDirections; drawDirections(); });
    for (const head of document.querySelectorAll("[data-sort]")) {
      head.querySelector("button").addEventListener("click", () => {
        const isSame = state.sort === head.dataset.sort;
        Object.assign(state, { sort: head.dataset.sort, rising: isSame ? !state.rising : head.dataset.sort === "row", page: 0 });
        look();
      });
    }
    $("previous").addEventListener("click", () => { state.page = Math.max(state.page - 1, 0); look(); });
    $("next").addEventListener("click", () => { state.page += 1; look(); });
    $("split").addEventListener("click", split);
    $("export-csv").addEventListener("click", () => save("api/pairs.csv", "pairs.csv"));
    $("export-toml").addEventListener("click", () => save("api/policy.toml", "policy.toml"));
    $("close").addEventListener("click", () => $("dialog").close());
    $("dialog").addEventListener("close", () => { state.pair = null; keepState(); });
    $("dialog").addEventListener("click", (event) => { if (event.target === $("dialog")) $("dialog").close(); });
    for (const id of ["who", "column"]) $(id).addEventListener("change", offer);
    $("choice").addEventListener("change", whatIf);
    $("amount").addEventListener("input", whatIf);
    let resizing = 0;
    addEventListener("resize", () => { clearTimeout(resizing); resizing = setTimeout(() => { if (answer) drawChart(); }, 150); });
    addEventListener("hashchange", () => {
      state = readState();
      const pair = state.pair;
      look();
      if (pair) open(...pair); else if ($("dialog").open) $("dialog").close();
    });
  }
  function niceStep(end) {
    const rough = (end || 1) / 200;
    const power = 10 ** Math.floor(Math.log10(rough));
    return Number(([5, 2, 1].map((factor) => factor * power).find((one) => one <= rough * (1 + 1e-9)) ?? power).toPrecision(3));
  }

  async function start() {
    try { about = await (await ask("api/about", {})).json(); } catch (error) { explain(error); return; }
    say("title", tidy(about.title, 120));
    document.title = `${tidy(about.title, 60)} \u2013 likewise explorer`;
    const unit = about.task === "regression" ? ` A gap of 100% is a difference of ${Number(about.scale.toPrecision(6)).toLocaleString("en-US")}.` : "";
    say("source", `${count(about.n_rows, "person", "people")}, scored by ${tidy(about.origin, 120)}. Sensitive: ${tidy(about.sensitive.join(", "), 200) || "none"}.${about.weights === null ? "" : ` Weighted by ${tidy(about.weights, 120)}.`}${unit}${about.direction && ` ${about.direction}.`}`);
    say("why", about.why);
    if (about.baseline_note) say("baseline-note", about.baseline_note);
    if (about.note) { say("note", about.note); $("note").hidden = false; }
    $("split-section").hidden = !about.has_model;
    $("label-field").hidden = !about.labels.length;
    if (!about.labels.length) say("slices-caption", "Gaps");
    if (about.has_reference) {
      say("directions-words", "In each row the target group is compared with the control: a negative gap is worse for the target. Select a row to see its pairs.");
      say("directions-worse", "Target");
      say("directions-counts", "Worse / equal / better");
    } else if (about.favours_low) { // the record counts as lower who is worse off
      say("directions-words", "In each row the first group is worse off on average: low scores are favourable here. Select a row to see its pairs.");
      say("directions-worse", "Worse off");
      say("directions-counts", "Worse / equal / better");
    }
    fill("label", make("option", { value: "" }, "Any"), ...about.labels.map((_, code) => make("option", { value: code }, tidy(labelName(code), 90))));
    state = readState();
    const pair = state.pair;
    $("main").hidden = false;
    wire();
    await look();
    if (pair) open(...pair);
  }
  start();
})();
