// Memory: how much of the arena holds values while operations run.
(() => {
  const {byId, element, shape, bytes, cell, header, profile} = page;
  const operations =
      ((profile && profile.warm && profile.warm.operations) || []);
  const memory = profile && profile.memory;
  if (!memory || !operations.some(o => o.live_bytes > 0)) return;
  const panel = page.tabs.add("memory", "Memory");
  const most = Math.max(...operations.map(o => o.live_bytes));
  const peak = operations.find(o => o.live_bytes === most);
  const top = Math.max(most, memory.arena_bytes || 0);
  const info = element("p", {class: "note", role: "status"});
  const chart = element("div", {class: "plot"});
  const tell = o => info.textContent =
      `Operation ${o.index}, ${o.layer || "(no name)"}: ${
          bytes(o.live_bytes)} hold values (${o.kernel})`;

  function draw() {
    const width = Math.max(chart.clientWidth, 280), height = 260;
    const left = 64, right = width - 10, high = 18, low = height - 34;
    const step = (right - left) / operations.length;
    const atY = value => low - value / top * (low - high);
    const svg = shape("svg", {
      width,
      height,
      role: "img",
      "aria-label": "Bytes of the arena that hold values, by operation"
    });
    for (let i = 0; i <= 4; ++i) {
      const y = atY(top * i / 4);
      svg.append(
          shape("line", {class: "grid", x1: left, x2: right, y1: y, y2: y}),
          shape(
              "text", {x: left - 6, y: y + 4, "text-anchor": "end"},
              bytes(Math.round(top * i / 4))));
    }
    operations.forEach((o, i) => {
      const bar = shape("rect", {
        class: o === peak ? "live peak" : "live",
        x: left + i * step,
        y: atY(o.live_bytes),
        width: Math.max(step - (step > 4 ? 1 : 0), 0.5),
        height: Math.max(low - atY(o.live_bytes), 0)
      });
      bar.append(shape("title", {}, `${o.layer}: ${bytes(o.live_bytes)}`));
      bar.addEventListener("pointerenter", () => tell(o));
      bar.addEventListener("click", () => tell(o));
      svg.append(bar);
    });
    const arena = atY(memory.arena_bytes);
    svg.append(
        shape(
            "line", {class: "roof", x1: left, x2: right, y1: arena, y2: arena}),
        shape(
            "text",
            {class: "roofname", x: right, y: arena - 5, "text-anchor": "end"},
            `arena ${bytes(memory.arena_bytes)}`),
        shape(
            "text",
            {x: (left + right) / 2, y: height - 10, "text-anchor": "middle"},
            "operations, in their order"));
    chart.replaceChildren(svg);
  }

  const rows = [
    ["arena: values between operations, of each session", memory.arena_bytes],
    ["most of it that holds values at once", most],
    ["prepared weights, of each session", memory.prepared_bytes],
    ["scratch, of each thread", memory.scratch_bytes_per_thread],
    ["weights in the bundle, shared", memory.weights_bytes]
  ];
  const body = element("tbody");
  for (const [name, value] of rows)
    body.append(
        element("tr", {}, cell(name), cell(bytes(value || 0), "number")));
  panel.append(
      element("h2", {}, "Memory over operations"),
      element(
          "p", {class: "note"},
          `Most is held in operation ${peak.index}, ${
              peak.layer || "(no name)"}. Hover or tap an operation.`),
      chart, info,
      element(
          "div", {class: "wide"},
          element("table", {}, header([["what"], ["bytes", "number"]]), body)));
  addEventListener("resize", () => {
    if (!panel.hidden) draw();
  });
})();
