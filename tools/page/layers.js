// Layers: why runs take so long, and a table that can be sorted.
page.causes = [
  "compute", "memory", "imbalance", "dispatch", "weights", "faults",
  "preemption", "frequency", "gpu", "hand-over"
];

/// A bar of an explanation's parts.
page.partsBar = (explanation, classes = "") => {
  const {element, sum} = page;
  const time = sum(page.causes, cause => explanation.parts_us[cause] || 0);
  const bar = element("span", {class: `parts ${classes}`});
  const told = [];
  for (const cause of page.causes) {
    const share = time ? (explanation.parts_us[cause] || 0) / time : 0;
    if (share < 0.005) continue;
    told.push(`${cause} ${Math.round(100 * share)} %`);
    bar.append(element("i", {
      class: `cause-${cause}`,
      style: `width:${(100 * share).toFixed(2)}%`
    }));
  }
  bar.title = told.join(", ");
  bar.setAttribute("role", "img");
  bar.setAttribute("aria-label", bar.title);
  return bar;
};

/// A heading, the bar, its legend, and what to look at first.
page.explain = (title, explanation) => {
  const {element} = page;
  const legend = element("p", {class: "legend"});
  for (const cause of page.causes)
    if ((explanation.parts_us[cause] || 0) > 0)
      legend.append(element(
          "span", {}, element("i", {class: `cause-${cause}`}),
          `${cause} ${page.ms(explanation.parts_us[cause])} ms`));
  return element(
      "section", {}, element("h2", {}, title),
      page.partsBar(explanation, "large"), legend,
      element(
          "p", {class: "note"},
          `To be looked at first: ${explanation.cause} (${
              explanation.text}).`));
};

(() => {
  const {byId, element, ms, profile} = page;
  const operations = profile && profile.warm && profile.warm.operations;
  if (!operations || !operations.length) return;
  const panel = page.tabs.add("layers", "Layers"), warm = profile.warm;
  if (warm.explanation)
    panel.append(
        page.explain("Why a warm run takes so long", warm.explanation));

  const rate = (amount, us) => us > 0 ? amount / us * 1e-3 : 0;
  const hasPieces = operations.some(o => o.idle !== undefined);
  const hasCauses = operations.some(o => o.explanation);
  // Name, what to sort by, what to show.
  const columns = [
    ["#", o => o.index, o => String(o.index)],
    ["layer", o => o.layer, o => o.layer || "(no name)"],
    ["us", o => o.us.median, o => o.us.median.toFixed(1)],
    ["%", o => o.share, o => (100 * o.share).toFixed(2)],
    ["p90, us", o => o.us.p90, o => o.us.p90.toFixed(1)],
    [
      "GMAC/s", o => rate(o.multiply_adds, o.us.median),
      o => rate(o.multiply_adds, o.us.median).toFixed(2)
    ],
    [
      "GB/s", o => rate(o.bytes, o.us.median),
      o => rate(o.bytes, o.us.median).toFixed(2)
    ],
    ...(hasPieces ? [[
      "idle, %", o => o.idle ?? -1,
      o => o.idle === undefined ? "" : (100 * o.idle).toFixed(1)
    ]] :
                    []),
    ["tiles", o => o.tiles, o => String(o.tiles)],
    ...(hasCauses ?
            [
              [
                "why", o => o.explanation ? o.explanation.cause : "",
                o => o.explanation ? o.explanation.cause : ""
              ],
              [
                "gives back, us",
                o => o.explanation ? o.explanation.gives_back_us : 0,
                o => o.explanation ? o.explanation.gives_back_us.toFixed(1) : ""
              ]
            ] :
            []),
    ["routine", o => o.routine, o => o.routine],
    ["kernel", o => o.kernel, o => o.kernel]
  ];
  const isNumber = ([name, key]) => typeof key(operations[0]) === "number";
  let sorted = 2, descends = true;
  const body = element("tbody"), head = element("tr");

  function cellOf(operation, column) {
    const [name, , show] = column;
    const text = show(operation);
    if (name === "layer")
      return element(
          "td", {class: "long", title: text}, element("span", {
            class: "share",
            style: `width:${(100 * operation.share / most).toFixed(1)}%`
          }),
          text);
    if (name === "why" && operation.explanation)
      return element(
          "td", {title: operation.explanation.text},
          page.partsBar(operation.explanation), text);
    return element(
        "td", isNumber(column) ? {class: "number"} : {class: "long"}, text);
  }

  const most = Math.max(1e-9, ...operations.map(o => o.share));
  function write() {
    const key = columns[sorted][1];
    const order = operations.slice().sort((a, b) => {
      const [x, y] = [key(a), key(b)];
      return (x < y     ? -1 :
                  x > y ? 1 :
                          0) *
          (descends ? -1 : 1) ||
          a.index - b.index;
    });
    body.replaceChildren(...order.map(
        operation => element(
            "tr", {}, ...columns.map(column => cellOf(operation, column)))));
    [...head.children].forEach(
        (cell, i) => cell.setAttribute(
            "aria-sort",
            i !== sorted ? "none" :
                descends ? "descending" :
                           "ascending"));
  }

  columns.forEach((column, i) => {
    const button =
        element("button", {type: "button", class: "sort"}, column[0]);
    button.addEventListener("click", () => {
      descends = i === sorted ? !descends : isNumber(column);
      sorted = i;
      write();
    });
    head.append(
        element("th", isNumber(column) ? {class: "number"} : {}, button));
  });
  panel.append(element(
      "section", {}, element("h2", {}, "Operations of a warm run"),
      element(
          "p", {class: "note"},
          `${warm.runs} runs, median ${ms(warm.us.median)} ms. ` +
              "A column's head sorts by it."),
      element(
          "div", {class: "wide"},
          element(
              "table", {id: "operations"}, element("thead", {}, head), body))));
  write();
})();
