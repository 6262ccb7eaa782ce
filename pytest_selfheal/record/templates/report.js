"use strict";
(() => {
  const causes = [...document.querySelectorAll(".cause")];
  const rows = [...document.querySelectorAll(".overview tr[data-status]")];
  const search = document.getElementById("search");
  const buttons = [...document.querySelectorAll("[data-filter]")];
  let status = "all", at = -1;
  const words = causes.map((cause, n) => `${rows[n].textContent}\n${cause.textContent}`.toLowerCase());
  const filter = () => {
    const wanted = search.value.trim().toLowerCase();
    let found = 0;
    causes.forEach((cause, n) => {
      const right = (status === "all" || cause.dataset.status === status) && words[n].includes(wanted);
      for (const element of [cause, rows[n]]) element.classList.toggle("hidden", !right);
      found += right;
    });
    document.getElementById("nothing").classList.toggle("hidden", found > 0 || !causes.length);
  };
  for (const button of buttons) {
    button.addEventListener("click", () => {
      status = button.dataset.filter;
      for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
      filter();
    });
  }
  search.addEventListener("input", filter);
  const open = () => {
    const cause = location.hash && document.getElementById(location.hash.slice(1));
    if (cause && cause.matches(".cause")) { cause.open = true; cause.scrollIntoView(); at = causes.indexOf(cause); }
  };
  addEventListener("hashchange", open);
  open();
  const here = () => {
    const focused = document.activeElement?.closest(".cause");
    if (focused) at = causes.indexOf(focused);
    return at;
  };
  const go = (step) => {
    const shown = causes.filter((cause) => !cause.classList.contains("hidden"));
    if (!shown.length) return;
    const next = shown[Math.min(shown.length - 1, Math.max(0, shown.indexOf(causes[here()]) + step))];
    for (const cause of causes) cause.classList.toggle("at", cause === next);
    at = causes.indexOf(next);
    next.scrollIntoView({ block: "start" });
    next.querySelector("summary").focus({ preventScroll: true });
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target === search) { if (event.key === "Escape") search.blur(); return; }
    const keys = {
      j: () => go(1),
      k: () => go(-1),
      o: () => { if (here() >= 0) causes[at].open = !causes[at].open; },
      a: () => { const close = causes.every((cause) => cause.open); for (const cause of causes) cause.open = !close; },
      "/": () => search.focus(),
    };
    if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
  });
  document.getElementById("theme").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const details of opened) details.open = true;
  });
  addEventListener("afterprint", () => { for (const details of opened) details.open = false; });
})();
