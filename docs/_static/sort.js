// The tables of the leaderboard can be sorted by any column: a button in each heading, numbers by value, empty cells last.
document.addEventListener("DOMContentLoaded", () => {
  if (!document.querySelector("section#how-to-read-it")) return;
  const value = (row, column) => row.cells[column].textContent.trim();
  const number = (text) => parseFloat(text.replace("−", "-"));
  const compare = (one, other) => {
    const [left, right] = [number(one), number(other)];
    if (!Number.isNaN(left) && !Number.isNaN(right)) return left - right;
    return one.localeCompare(other);
  };
  for (const table of document.querySelectorAll("article table")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.className = "sort";
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        heads.forEach((one) => one.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const rows = [...table.tBodies[0].rows];
        const full = rows.filter((row) => value(row, column) !== "");
        full.sort((a, b) => (down ? -1 : 1) * compare(value(a, column), value(b, column)));
        table.tBodies[0].append(...full, ...rows.filter((row) => value(row, column) === ""));
      });
    });
  }
});
