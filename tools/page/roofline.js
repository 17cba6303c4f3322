// Roofline: what each operation does of what the machine can (Williams,
// Waterman, Patterson, 2009). A GPU has other roofs, which nobody measured.
(() => {
  const {byId, element, shape, profile} = page;
  const warm = profile && profile.warm;
  const points = ((warm && warm.operations) || [])
                     .filter(
                         o => !o.on_gpu && o.multiply_adds > 0 && o.bytes > 0 &&
                             o.us.median > 0)
                     .map(o => ({
                            operation: o,
                            x: o.multiply_adds / o.bytes,
                            y: o.multiply_adds / o.us.median * 1e-3
                          }));
  if (!points.length) return;
  const panel = page.tabs.add("roofline", "Roofline"), roof = warm.roof;
  const peak = roof ? roof.multiply_adds_per_second * 1e-9 : 0;
  // Only the slowest memory and the fastest cache: those between are between.
  const sizes = roof ? roof.by_size || [] : [];
  const memories = [];
  if (roof && roof.bytes_per_second)
    memories.push({name: "memory", rate: roof.bytes_per_second * 1e-9});
  if (sizes.length)
    memories.push({
      name: "caches",
      rate: Math.max(...sizes.map(s => s.bytes_per_second)) * 1e-9
    });

  const info = element("p", {class: "note", role: "status"});
  const explanation = "Each circle is an operation, as large as its share of " +
      "a run. Lines are what the machine does at best; a circle below the " +
      "slanted part is bound by memory, below the flat part by computing. " +
      "Hover or tap one for its figures.";
  const chart = element("div", {class: "plot"});
  const number = value => Number(value.toPrecision(3)).toString();

  function tell({operation, x, y}) {
    info.textContent =
        `${operation.layer || "(no name)"}: ${number(y)} GMAC/s, ${
            number(x)} multiply-adds a byte, ${
            operation.us.median.toFixed(
                1)} us, ${(100 * operation.share).toFixed(1)} % of a run` +
        (operation.explanation ?
             `; ${operation.explanation.cause}: ${operation.explanation.text}` :
             "") +
        ` (${operation.kernel})`;
  }

  function draw() {
    const width = Math.max(chart.clientWidth, 280);
    const height = Math.min(460, Math.max(280, width * 0.55));
    const left = 56, right = width - 14, top = 14, bottom = height - 42;
    const xs = points.map(p => p.x), ys = points.map(p => p.y);
    if (peak) ys.push(peak);
    // Roofs bend where the flat part begins.
    if (peak)
      for (const memory of memories) xs.push(peak / memory.rate);
    const range = values =>
        [Math.log10(Math.min(...values)) - 0.2,
         Math.log10(Math.max(...values)) + 0.2];
    const [x0, x1] = range(xs), [y0, y1] = range(ys);
    const atX = v => left + (Math.log10(v) - x0) / (x1 - x0) * (right - left);
    const atY = v => bottom - (Math.log10(v) - y0) / (y1 - y0) * (bottom - top);
    const svg = shape("svg", {
      width,
      height,
      role: "img",
      "aria-label": "Multiply-adds a second over multiply-adds a byte"
    });
    const ticks = (from, to, room) => {
      const found = [];
      for (let power = Math.floor(from); power <= Math.ceil(to); ++power)
        for (const factor of (to - from) * 60 < room ? [1, 2, 5] : [1]) {
          const value = factor * 10 ** power;
          if (Math.log10(value) >= from && Math.log10(value) <= to)
            found.push(value);
        }
      return found;
    };
    for (const value of ticks(x0, x1, (right - left) / 3)) {
      const x = atX(value);
      svg.append(
          shape("line", {class: "grid", x1: x, x2: x, y1: top, y2: bottom}),
          shape(
              "text", {x, y: bottom + 15, "text-anchor": "middle"},
              number(value)));
    }
    for (const value of ticks(y0, y1, bottom - top)) {
      const y = atY(value);
      svg.append(
          shape("line", {class: "grid", x1: left, x2: right, y1: y, y2: y}),
          shape(
              "text", {x: left - 6, y: y + 4, "text-anchor": "end"},
              number(value)));
    }
    svg.append(
        shape(
            "text",
            {x: (left + right) / 2, y: height - 8, "text-anchor": "middle"},
            "multiply-adds a byte"),
        shape(
            "text", {
              x: 0,
              y: 0,
              "text-anchor": "middle",
              transform: `translate(12 ${(top + bottom) / 2}) rotate(-90)`
            },
            "GMAC/s"));
    // A roof: slanted up to the peak.
    const lowX = 10 ** x0, highX = 10 ** x1, lowY = 10 ** y0;
    for (const memory of memories) {
      const bend = peak / memory.rate;
      const from = Math.max(lowX, lowY / memory.rate);
      const to = Math.min(bend, highX);
      if (from < to) {
        svg.append(shape("line", {
          class: "roof",
          x1: atX(from),
          y1: atY(from * memory.rate),
          x2: atX(to),
          y2: atY(to * memory.rate)
        }));
        const middle = Math.sqrt(from * to);
        const slope = Math.atan2(
                          atY(to * memory.rate) - atY(from * memory.rate),
                          atX(to) - atX(from)) *
            180 / Math.PI;
        svg.append(shape(
            "text", {
              class: "roofname",
              x: 0,
              y: -5,
              "text-anchor": "middle",
              transform: `translate(${atX(middle)} ${
                  atY(middle * memory.rate)}) rotate(${slope})`
            },
            `${memory.name} ${number(memory.rate)} GB/s`));
      }
    }
    if (peak) {
      const bend = Math.min(...memories.map(m => peak / m.rate), highX);
      svg.append(
          shape("line", {
            class: "roof",
            x1: atX(Math.max(lowX, bend)),
            y1: atY(peak),
            x2: right,
            y2: atY(peak)
          }),
          shape(
              "text", {
                class: "roofname",
                x: right - 4,
                y: atY(peak) - 5,
                "text-anchor": "end"
              },
              `multiply-adds ${number(peak)} GMAC/s`));
    }
    // Large ones first, so that small ones stay in reach.
    for (const point of points.slice().sort(
             (a, b) => b.operation.share - a.operation.share)) {
      const cause =
          point.operation.explanation && point.operation.explanation.cause;
      const circle = shape("circle", {
        class: `point cause-${cause || "compute"}`,
        cx: atX(point.x),
        cy: atY(point.y),
        r: 3 + 16 * Math.sqrt(point.operation.share)
      });
      circle.append(shape(
          "title", {}, `${point.operation.layer}: ${number(point.y)} GMAC/s`));
      circle.addEventListener("pointerenter", () => tell(point));
      circle.addEventListener("click", () => tell(point));
      svg.append(circle);
    }
    chart.replaceChildren(svg);
  }

  const legend = element("p", {class: "legend"});
  const present = new Set(points.map(
      p => p.operation.explanation && p.operation.explanation.cause));
  for (const cause of page.causes)
    if (present.has(cause))
      legend.append(
          element("span", {}, element("i", {class: `cause-${cause}`}), cause));
  panel.append(
      element("h2", {}, "Operations against what the machine does at best"),
      element("p", {class: "note"}, explanation), legend, chart, info);
  if (!roof)
    panel.append(element(
        "p", {class: "note"},
        "What the machine can do was not measured: there are no lines."));
  addEventListener("resize", () => {
    if (!panel.hidden) draw();
  });
})();
