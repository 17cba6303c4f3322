// Runs: how long each took, what slow ones lose, and the first one.
(() => {
  const {byId, element, shape, ms, bytes, cell, header, profile} = page;
  const warm = profile && profile.warm;
  const samples = (warm && warm.samples_us) || [];
  const first = profile && profile.first_run;
  if (!samples.length && !first) return;
  const panel = page.tabs.add("runs", "Runs");

  if (samples.length) {
    const chart = element("div", {class: "plot"});
    const most = Math.max(...samples), least = Math.min(...samples);
    function draw() {
      const width = Math.max(chart.clientWidth, 280), height = 240;
      const left = 56, right = width - 64, high = 12, low = height - 34;
      const span = Math.max(most - least, most * 0.02);
      const from = Math.max(0, least - span * 0.05), to = most + span * 0.05;
      const atY = us => low - (us - from) / (to - from) * (low - high);
      const svg = shape("svg", {
        width,
        height,
        role: "img",
        "aria-label": "Time of each warm run, in their order"
      });
      for (let i = 0; i <= 4; ++i) {
        const value = from + (to - from) * i / 4, y = atY(value);
        svg.append(
            shape("line", {class: "grid", x1: left, x2: right, y1: y, y2: y}),
            shape(
                "text", {x: left - 6, y: y + 4, "text-anchor": "end"},
                ms(value)));
      }
      // More runs than points: of each point the fastest and the slowest.
      const columns = Math.max(1, Math.floor((right - left) / 3));
      const each = Math.max(1, Math.ceil(samples.length / columns));
      for (let i = 0; i < samples.length; i += each) {
        const some = samples.slice(i, i + each);
        const x =
            left + (i + some.length / 2) / samples.length * (right - left);
        for (const value of new Set([Math.min(...some), Math.max(...some)]))
          svg.append(shape(
              "circle", {class: "sample", cx: x, cy: atY(value), r: 1.8}));
      }
      // Names of lines must not lie over one another.
      let last = Infinity;
      for (const name of ["median", "p90", "p99"]) {
        const y = atY(warm.us[name]);
        svg.append(
            shape("line", {class: "roof", x1: left, x2: right, y1: y, y2: y}));
        const at = Math.min(y + 4, last - 12);
        last = at;
        svg.append(
            shape("text", {class: "roofname", x: right + 5, y: at}, name));
      }
      svg.append(shape(
          "text",
          {x: (left + right) / 2, y: height - 10, "text-anchor": "middle"},
          `${samples.length} warm runs in their order; ms`));
      chart.replaceChildren(svg);
    }
    panel.append(
        element("h2", {}, "Warm runs"),
        element(
            "p", {class: "note"},
            `Median ${ms(warm.us.median)} ms, p10 ${ms(warm.us.p10)}, p90 ${
                ms(warm.us.p90)}, p99 ${ms(warm.us.p99)}, most ${
                ms(warm.us.most)}` +
                (warm.predicted_us ? `; ${ms(warm.predicted_us)} predicted` :
                                     "") +
                "."),
        chart);
    addEventListener("resize", () => {
      if (!panel.hidden) draw();
    });
    const slow = (warm.operations || [])
                     .filter(o => o.slow_share >= 0.01)
                     .sort((a, b) => b.slow_share - a.slow_share)
                     .slice(0, 10);
    if (slow.length) {
      const body = element("tbody");
      for (const o of slow)
        body.append(element(
            "tr", {}, cell((100 * o.slow_share).toFixed(0), "number"),
            element("td", {class: "long"}, o.layer || "(no name)"),
            element("td", {class: "long"}, o.kernel)));
      panel.append(
          element("h2", {}, "Where slow runs lose"),
          element(
              "p", {class: "note"},
              "Of the slowest hundredth of the runs, what they take more " +
                  "than the median one."),
          element(
              "div", {class: "wide"},
              element(
                  "table", {}, header([["%", "number"], ["layer"], ["kernel"]]),
                  body)));
    }
  }

  if (first) {
    const facts = [
      `${ms(first.us)} ms from the first thing that was done`,
      `run ${ms(first.run_us)} ms`
    ];
    if (first.predicted_us) facts.push(`${ms(first.predicted_us)} predicted`);
    facts.push(`waits for weights ${ms(first.waits_us)} ms`);
    if (first.stored_bytes) facts.push(`${bytes(first.stored_bytes)} read`);
    const body = element("tbody");
    for (const [stage, us] of Object.entries(first.stages_us || {}))
      body.append(element("tr", {}, cell(stage), cell(ms(us), "number")));
    panel.append(
        element("h2", {}, "The first run"),
        element("p", {class: "note"}, `${facts.join(", ")}.`));
    if (first.explanation)
      panel.append(
          page.explain("Why the first run takes so long", first.explanation));
    panel.append(element(
        "div", {class: "wide"},
        element(
            "table", {}, header([["stage, on all threads"], ["ms", "number"]]),
            body)));
  }
})();

page.tabs.start();
