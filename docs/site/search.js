// SPDX-License-Identifier: BSD-3-Clause
// Searches the manual without a network, also from file://, and opens the menu on narrow screens.
"use strict";
let manualIndex = null; // [title, address, summary, words]; search-index.js sets it

(function () {
  const root = document.currentScript.dataset.root;
  let waiting = [];

  function withIndex(then) {
    if (manualIndex) {
      then();
      return;
    }
    waiting.push(then);
    if (waiting.length === 1) {
      const script = document.createElement("script");
      script.src = root + "/search-index.js";
      script.onload = () => {
        manualIndex.forEach((row) => {
          row.title = row[0].toLowerCase();
          row.names = row.title.split(" \u2013 ")[0].split(/[\s,(:]+/).map((name) => name.replace(/^-+/, ""));
          row.all = (row[0] + " " + row[2] + " " + row[3]).toLowerCase();
        });
        waiting.forEach((f) => f());
        waiting = [];
      };
      document.head.appendChild(script);
    }
  }

  // How well a row fits all words: 0 where one is missing, more where they are in the title, most where they are its first word.
  // What is not there, and how things work inside, comes behind what can be used.
  function score(row, words) {
    let sum = 0;
    for (const word of words) {
      const at = row.all.indexOf(word);
      if (at < 0) {
        return 0;
      }
      const name = word.replace(/^-+/, "");
      const longer = row.names.filter((x) => x.startsWith(name)).map((x) => x.length - name.length);
      if (row.names[0] === name) {
        sum += 100;
      } else if (row.names.includes(name)) {
        sum += 60;
      } else if (longer.length > 0) {
        sum += 40 - Math.min(20, ...longer);
      } else if (row.title.includes(word)) {
        sum += 20;
      } else {
        sum += row[2].toLowerCase().includes(word) ? 8 : 2;
      }
    }
    const isBehind = row[1].startsWith("design/") || (row[2] || row[3]).startsWith("Not there");
    return (sum - (row[1].includes("#") ? 1 : 0)) / (isBehind ? 8 : 1);
  }

  function find(query, limit) {
    const words = query.toLowerCase().split(/\s+/).filter((w) => w);
    if (words.length === 0) {
      return [];
    }
    return manualIndex.map((row) => [score(row, words), row]).filter((x) => x[0] > 0)
      .sort((a, b) => b[0] - a[0] || a[1].title.length - b[1].title.length).slice(0, limit).map((x) => x[1]);
  }

  function excerpt(row, query) {
    if (row[2]) {
      return row[2];
    }
    const first = query.toLowerCase().split(/\s+/)[0];
    const at = Math.max(0, row[3].toLowerCase().indexOf(first) - 60);
    return (at > 0 ? "\u2026" : "") + row[3].slice(at, at + 160);
  }

  function show(box, query, limit) {
    const rows = find(query, limit);
    box.replaceChildren();
    for (const row of rows) {
      const a = document.createElement("a");
      a.href = root + "/" + row[1];
      const title = document.createElement("b");
      title.textContent = row[0];
      const text = document.createElement("span");
      text.textContent = excerpt(row, query);
      a.append(title, text);
      box.append(a);
    }
    if (rows.length === 0 && query.trim()) {
      box.textContent = "Nothing has all of these words.";
    }
  }

  // Below each field of the header is a list while something is typed; the page search.html has a long one.
  document.querySelectorAll("header .search").forEach((form) => {
    const input = form.querySelector("input");
    const box = document.createElement("div");
    box.className = "found";
    box.hidden = true;
    form.append(box);
    input.addEventListener("input", () => withIndex(() => {
      show(box, input.value, 8);
      box.hidden = !input.value.trim();
    }));
    document.addEventListener("click", (e) => {
      box.hidden = box.hidden || !form.contains(e.target);
    });
    input.addEventListener("keydown", (e) => {
      box.hidden = box.hidden || e.key === "Escape";
    });
  });

  document.addEventListener("keydown", (e) => {
    if (e.key === "/" && !/INPUT|TEXTAREA/.test(document.activeElement.tagName)) {
      e.preventDefault();
      document.querySelector("header input").focus();
    }
  });

  const results = document.getElementById("results");
  if (results) {
    const input = document.querySelector("main .search input");
    input.value = new URLSearchParams(location.search).get("q") || "";
    input.addEventListener("input", () => withIndex(() => show(results, input.value, 50)));
    withIndex(() => show(results, input.value, 50));
  }

  const button = document.getElementById("menu-button");
  button.addEventListener("click", () => {
    const isOpen = document.body.classList.toggle("menu");
    button.setAttribute("aria-expanded", isOpen);
  });
  const here = document.querySelector('nav [aria-current="page"]');
  if (here && matchMedia("(min-width: 900px)").matches) {
    const nav = document.getElementById("menu");
    nav.scrollTop = Math.max(0, here.offsetTop - nav.clientHeight / 2);
  }
})();
