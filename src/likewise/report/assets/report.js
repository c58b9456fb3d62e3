/* What a report does beyond lying there: words on marks, series on and off, tables in order, parts open and closed.
 *
 * Marks:    any element with data-tip; those of a chart (svg.lw-chart) are one stop of the Tab key, arrows go on.
 * Legends:  g.lw-key with data-series switches every .lw-series of its chart with the same number.
 * Tables:   table.sortable; a cell's data-sort goes before its text; th[data-nosort] stays as it is.
 * Parts:    the element with data-details-controls gets two buttons for every <details>.
 * Words of the data only ever become textContent.
 */
(function () {
  "use strict";

  var all = function (selector, root) {
    return Array.prototype.slice.call((root || document).querySelectorAll(selector));
  };

  /* words on marks */

  var tip = document.createElement("div");
  tip.className = "lw-tip";
  tip.setAttribute("role", "tooltip");
  tip.hidden = true;
  document.body.appendChild(tip);

  function showTip(mark, pointer) {
    var place = mark.getBoundingClientRect();
    var x = pointer ? pointer.clientX : place.left + place.width / 2;
    var y = pointer ? pointer.clientY : place.top;
    tip.textContent = mark.getAttribute("data-tip");
    tip.hidden = false;
    var room = document.documentElement.clientWidth;
    var above = y - tip.offsetHeight - 12;
    tip.style.left = Math.max(8, Math.min(x - tip.offsetWidth / 2, room - tip.offsetWidth - 8)) + "px";
    tip.style.top = (above >= 8 ? above : (pointer ? y : place.bottom) + 16) + "px";
  }

  function hideTip() {
    tip.hidden = true;
  }

  function markOf(event) {
    return event.target instanceof Element ? event.target.closest("[data-tip]") : null;
  }

  ["pointermove", "pointerdown"].forEach(function (kind) {
    document.addEventListener(kind, function (event) {
      var mark = markOf(event);
      if (mark) showTip(mark, event);
      else if (event.pointerType !== "mouse" || !document.activeElement.hasAttribute("data-tip")) hideTip();
    });
  });
  document.addEventListener("focusin", function (event) {
    var mark = markOf(event);
    if (mark) showTip(mark, null);
  });
  document.addEventListener("focusout", hideTip);
  document.addEventListener("pointerleave", hideTip);
  window.addEventListener("scroll", hideTip, { passive: true });
  document.addEventListener("keydown", function (event) {
    if (event.key === "Escape") hideTip();
  });

  /* charts */

  var STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

  function openChart(chart) {
    var marks = all("[data-tip]", chart);
    var title = chart.querySelector("title");
    var description = chart.querySelector("desc");
    chart.setAttribute("role", "group"); // an image has no parts that could be reached
    if (title) {
      chart.setAttribute("aria-label", title.textContent);
      if (description) chart.setAttribute("aria-description", description.textContent);
      title.remove(); // or the browser lays its own words over ours
    }
    all("text", chart).forEach(function (words) {
      words.setAttribute("aria-hidden", "true");
    });
    marks.forEach(function (mark, i) {
      all("title", mark).forEach(function (words) {
        words.remove();
      });
      mark.setAttribute("role", "img");
      mark.setAttribute("aria-label", mark.getAttribute("data-tip"));
      mark.setAttribute("tabindex", i ? "-1" : "0");
    });
    chart.addEventListener("keydown", function (event) {
      var at = marks.indexOf(event.target);
      if (at < 0) return;
      var next = event.key === "Home" ? 0 : event.key === "End" ? marks.length - 1 : at + (STEPS[event.key] || 0);
      if (next === at || !marks[next]) return;
      event.preventDefault();
      marks[at].setAttribute("tabindex", "-1");
      marks[next].setAttribute("tabindex", "0");
      marks[next].focus();
    });
    all(".lw-key", chart).forEach(function (key) {
      openKey(chart, key);
    });
  }

  function openKey(chart, key) {
    function turn() {
      var isOn = key.getAttribute("aria-pressed") !== "true";
      key.setAttribute("aria-pressed", String(isOn));
      all(".lw-series", chart).forEach(function (series) {
        if (series.getAttribute("data-series") === key.getAttribute("data-series")) {
          series.classList.toggle("is-off", !isOn);
        }
      });
    }
    key.setAttribute("role", "button");
    key.setAttribute("tabindex", "0");
    key.setAttribute("aria-pressed", "true");
    key.setAttribute("aria-label", key.getAttribute("data-name"));
    key.addEventListener("click", turn);
    key.addEventListener("keydown", function (event) {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      turn();
    });
  }

  all("svg.lw-chart").forEach(openChart);

  /* tables in order */

  var collator = new Intl.Collator(undefined, { numeric: true });

  function wordsOf(row, column) {
    var cell = row.cells[column];
    if (!cell) return "";
    return (cell.hasAttribute("data-sort") ? cell.getAttribute("data-sort") : cell.textContent).trim();
  }

  function compare(a, b, isNumeric) {
    return isNumeric ? Number(a) - Number(b) : collator.compare(a, b);
  }

  function sortTable(table, head) {
    var column = head.cellIndex;
    var sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    var body = table.tBodies[0];
    var rows = Array.prototype.map.call(body.rows, function (row) {
      return { row: row, words: wordsOf(row, column) };
    });
    var isNumeric = rows.every(function (one) {
      return one.words === "" || isFinite(Number(one.words));
    });
    rows.sort(function (a, b) {
      // what is missing comes last, both ways
      if (a.words === "" || b.words === "") return (a.words === "") - (b.words === "");
      return sign * compare(a.words, b.words, isNumeric);
    });
    rows.forEach(function (one) {
      body.appendChild(one.row);
    });
    all("th[aria-sort]", table).forEach(function (other) {
      other.setAttribute("aria-sort", "none");
    });
    head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
  }

  all("table.sortable").forEach(function (table) {
    if (!table.tHead || !table.tHead.rows.length || !table.tBodies.length) return;
    all("th", table.tHead.rows[table.tHead.rows.length - 1]).forEach(function (head) {
      if (head.hasAttribute("data-nosort") || !head.textContent.trim()) return;
      var button = document.createElement("button");
      button.type = "button";
      button.className = "lw-sort";
      while (head.firstChild) button.appendChild(head.firstChild);
      head.appendChild(button);
      head.setAttribute("aria-sort", "none");
      button.addEventListener("click", function () {
        sortTable(table, head);
      });
    });
  });

  /* parts open and closed */

  var opened = [];

  function setAll(isOpen) {
    all("details").forEach(function (part) {
      part.open = isOpen;
    });
  }

  function addControls(place) {
    [["Expand all", true], ["Collapse all", false]].forEach(function (one) {
      var button = document.createElement("button");
      button.type = "button";
      button.className = "lw-control";
      button.textContent = one[0];
      button.addEventListener("click", function () {
        setAll(one[1]);
      });
      place.appendChild(button);
    });
  }

  all("[data-details-controls]").forEach(addControls);

  window.addEventListener("beforeprint", function () {
    hideTip();
    opened = all("details:not([open])");
    setAll(true);
  });
  window.addEventListener("afterprint", function () {
    opened.forEach(function (part) {
      part.open = false;
    });
  });

  function openTarget() {
    var name = location.hash.slice(1); // our own names need no decoding, and what cannot be decoded is no name
    var target = name && document.getElementById(name);
    for (var part = target; part; part = part.parentElement) {
      if (part instanceof HTMLDetailsElement) part.open = true;
    }
    if (target) target.scrollIntoView();
  }

  window.addEventListener("hashchange", openTarget);
  if (location.hash) openTarget();
})();
