// Threads: what part of warm runs each computes, and what was counted of them.
(() => {
  const {byId, element, cell, header, profile} = page;
  const threads = profile && profile.warm && profile.warm.threads;
  if (!threads || !threads.length) return;
  const panel = page.tabs.add("threads", "Threads");
  const hasPieces = profile.level >= 3;
  panel.append(
      element("h2", {}, "Threads in warm runs"),
      element(
          "p", {class: "note"},
          hasPieces ?
              "Of the time of warm runs; the rest is waking up, and what is " +
                  "outside of operations." :
              "What each thread did of operations was not recorded (level " +
                  "piece): only the execute lane is known."));
  const list = element("div", {class: "bars"});
  threads.forEach((thread, i) => {
    const prepares = i > 0 && i <= profile.preparing;
    const bar = element("span", {class: "parts large"});
    const add = (kind, part) => bar.append(element("i", {
      class: kind,
      style: `width:${(100 * Math.min(1, part)).toFixed(2)}%`
    }));
    add("execute", thread.busy);
    add("waits", thread.waiting);
    const told = prepares    ? "prepares weights, not in warm runs" :
        hasPieces || i === 0 ? `busy ${(100 * thread.busy).toFixed(1)} %` +
            (thread.waiting ?
                 `, waits for others ${(100 * thread.waiting).toFixed(1)} %` :
                 "") :
                               "not recorded";
    list.append(element(
        "div", {}, element("span", {}, thread.name), bar,
        element("span", {}, told)));
  });
  panel.append(list);

  const counters = profile.counters || {values: []};
  if (counters.values.length) {
    const isTime = name => name === "CPU time" || name === "wait for a CPU";
    const show = (name, value) => isTime(name) ?
        `${(value * 1e-6).toFixed(3)} ms` :
        Number(value.toPrecision(4)).toString();
    const body = element("tbody");
    for (const counter of counters.values)
      body.append(element(
          "tr", {}, cell(counter.name),
          cell(show(counter.name, counter.per_run), "number"),
          ...counter.of_thread.map(
              value => cell(show(counter.name, value), "number"))));
    panel.append(
        element("h2", {}, "Counted a run"),
        element(
            "div", {class: "wide"},
            element(
                "table", {}, header([
                  ["what"], ["all that compute", "number"],
                  ...threads.map(thread => [thread.name, "number"])
                ]),
                body)));
  }
  if (counters.state)
    panel.append(element("p", {class: "note"}, `${counters.state}.`));
})();
