// What a page does beyond being read: everything on it can be read without this script.
(() => {
  "use strict";
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const button = (text, act) => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = text;
    made.addEventListener("click", () => act(made));
    return made;
  };

  // Values under the pointer.
  const tip = document.createElement("div");
  tip.id = "tip";
  tip.hidden = true;
  document.body.append(tip);
  for (const title of all("svg .mark > title")) {
    title.parentNode.dataset.tip = title.textContent;
    title.remove();
  }
  const point = (event) => {
    const mark = event.target.closest ? event.target.closest("[data-tip]") : null;
    tip.hidden = !mark;
    if (!mark) return;
    tip.textContent = mark.dataset.tip;
    const right = document.documentElement.clientWidth - tip.offsetWidth - 4;
    tip.style.left = `${Math.max(4, Math.min(event.clientX + 12, right)) + scrollX}px`;
    tip.style.top = `${event.clientY + 16 + scrollY}px`;
  };
  for (const kind of ["pointermove", "pointerdown"]) document.addEventListener(kind, point);

  // Series of a drawing, shown and hidden.
  for (const figure of all("figure")) {
    const marks = all("[data-series]", figure);
    const names = [...new Set(marks.map((mark) => mark.dataset.series))];
    if (names.length < 2 || names.length > 12) continue;
    const line = document.createElement("p");
    line.className = "numbers";
    line.append("Show: ");
    for (const name of names) {
      const made = button(name, () => {
        const off = made.getAttribute("aria-pressed") === "true";
        made.setAttribute("aria-pressed", String(!off));
        for (const mark of marks)
          if (mark.dataset.series === name) mark.classList.toggle("off", off);
      });
      made.setAttribute("aria-pressed", "true");
      line.append(made, " ");
    }
    figure.prepend(line);
  }

  // Tables, sorted by a column within the rows that belong together.
  const sizes = { thousand: 1e3, million: 1e6, billion: 1e9 };
  const value = (text) => {
    const found = /^[+-]?[\d.]+(e[+-]?\d+)?/.exec(text.replace(/−/g, "-").replace(/,/g, ""));
    const size = /\b(thousand|million|billion)\b/.exec(text);
    return found ? parseFloat(found[0]) * (size ? sizes[size[1]] : 1) : NaN;
  };
  const compare = (one, other, way) => {
    const [a, b] = [value(one), value(other)];
    if (isNaN(a) && isNaN(b)) return way * one.localeCompare(other);
    if (isNaN(a) || isNaN(b)) return isNaN(a) - isNaN(b);
    return way * (a - b);
  };
  for (const table of all("table.sortable")) {
    const heads = all("thead th", table);
    heads.forEach((head, place) => {
      if (!head.textContent) return;
      const text = head.textContent;
      head.textContent = "";
      head.append(button(text, () => {
        const down = head.getAttribute("aria-sort") !== "descending";
        for (const one of heads) one.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        for (const body of table.tBodies) {
          const rows = [...body.rows].filter((row) => !row.classList.contains("part"));
          const cell = (row) => (row.cells[place] ? row.cells[place].textContent.trim() : "");
          rows.sort((one, other) => compare(cell(one), cell(other), down ? -1 : 1));
          body.append(...rows);
        }
      }));
    });
  }

  // Cells of a grid: two sliders choose one cell of every measure.
  for (const grid of all(".cells")) {
    const texts = (selector, root = grid) => all(selector, root).map((one) => one.textContent);
    const line = document.createElement("p");
    const list = document.createElement("ul");
    list.setAttribute("aria-live", "polite");
    const slider = (name, texts, start) => {
      const label = document.createElement("label");
      const range = document.createElement("input");
      const shown = document.createElement("b");
      Object.assign(range, { type: "range", min: 0, max: texts.length - 1, value: start });
      range.show = () => {
        shown.textContent = texts[range.value];
        range.setAttribute("aria-valuetext", texts[range.value]);
      };
      range.addEventListener("input", () => show());
      label.append(`${name}: `, shown, range);
      line.append(label);
      return range;
    };
    const bodies = all("tbody", grid);
    const sizes = texts("tr:not(.part) th", bodies[0]);
    const values = texts("thead th").slice(1);
    const show = () => {
      size.show();
      value.show();
      list.replaceChildren(...bodies.map((body) => {
        const item = document.createElement("li");
        const cells = all("tr:not(.part)", body)[size.value].cells;
        const name = document.createElement("b");
        name.textContent = body.rows[0].textContent;
        item.append(name, `: ${cells[Number(value.value) + 1].textContent}`);
        return item;
      }));
    };
    const size = slider(grid.dataset.size, sizes, sizes.length - 1);
    const value = slider(grid.dataset.value, values, grid.dataset.start);
    show();
    grid.prepend(line, list);
  }

  // Copies of numbers and commands.
  const copy = async (text, made) => {
    const before = made.textContent;
    try {
      await navigator.clipboard.writeText(text);
      made.textContent = "Copied";
    } catch {
      made.textContent = "The browser does not allow it";
    }
    setTimeout(() => (made.textContent = before), 1500);
  };
  for (const link of all('a[download$=".csv"]')) {
    const text = () => decodeURIComponent(link.href.slice(link.href.indexOf(",") + 1));
    link.after(" ", button("Copy CSV", (made) => copy(text(), made)));
  }
  for (const code of all("pre.command")) {
    const line = document.createElement("p");
    line.className = "numbers";
    line.append(button("Copy", (made) => copy(code.textContent, made)));
    code.after(line);
  }

  // All numbers as one file.
  const data = document.getElementById("document");
  const place = document.getElementById("save");
  if (data && place) {
    place.append(button(`Save ${data.dataset.name}`, () => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([data.textContent], { type: "application/json" }));
      link.download = data.dataset.name;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    }));
  }
})();
