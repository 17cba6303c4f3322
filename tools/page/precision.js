// Layers in 8 bits: the front of time and error, and each layer's part. The
// bundle's property says it; foreign text, of which numbers alone are drawn.
(() => {
  const {element, shape, bytes} = page;
  let found = null;
  try {
    found = JSON.parse(page.data.precision || "null");
  } catch {
  }
  const isPoint = p =>
      p && [p.time, p.rmse, p.bytes, p.layers].every(Number.isFinite);
  if (!found || !Array.isArray(found.front) || !Array.isArray(found.tried) ||
      !Array.isArray(found.layers))
    return;
  const front = found.front.filter(isPoint);
  const tried = found.tried.filter(isPoint);
  if (!front.length) return;
  const panel = page.tabs.add("precision", "Precision");
  const number = value => Number(value.toPrecision(3)).toString();
  const info = element("p", {class: "note", role: "status"});
  const chart = element("div", {class: "plot"});
  const kindOf = point => point.chosen ? "chosen" :
      tried.includes(point)            ? "measured" :
                                         "predicted";

  function tell(point) {
    info.textContent =
        `${kindOf(point)}: ${point.layers} products in 8 bits take ${
            number(point.time)} of the time of floats, ${
            bytes(point.bytes)} of weights; rmse ${number(point.rmse)}`;
  }

  function draw() {
    const width = Math.max(chart.clientWidth, 280);
    const height = Math.min(420, Math.max(260, width * 0.5));
    const left = 56, right = width - 14, top = 14, bottom = height - 42;
    const all = front.concat(tried);
    const most = Math.max(...all.map(p => p.rmse), 1e-9);
    const low = Math.min(...all.map(p => p.time), 1) - 0.02;
    const high = Math.max(...all.map(p => p.time), 1) + 0.02;
    const atX = v => left + v / most * (right - left);
    const atY = v => bottom - (v - low) / (high - low) * (bottom - top);
    const svg = shape("svg", {
      width,
      height,
      role: "img",
      "aria-label": "Time over the error of the outputs"
    });
    for (let i = 0; i <= 4; ++i) {
      const x = most * i / 4, y = low + (high - low) * i / 4;
      svg.append(
          shape(
              "line",
              {class: "grid", x1: atX(x), x2: atX(x), y1: top, y2: bottom}),
          shape(
              "line",
              {class: "grid", x1: left, x2: right, y1: atY(y), y2: atY(y)}),
          shape(
              "text", {x: atX(x), y: bottom + 15, "text-anchor": "middle"},
              number(x)),
          shape(
              "text", {x: left - 6, y: atY(y) + 4, "text-anchor": "end"},
              y.toFixed(2)));
    }
    svg.append(
        shape(
            "text",
            {x: (left + right) / 2, y: height - 8, "text-anchor": "middle"},
            "rmse of the outputs"),
        shape(
            "text", {
              x: 0,
              y: 0,
              "text-anchor": "middle",
              transform: `translate(12 ${(top + bottom) / 2}) rotate(-90)`
            },
            "part of the time of floats"),
        shape("polyline", {
          class: "front",
          points: front.map(p => `${atX(p.rmse)},${atY(p.time)}`).join(" ")
        }));
    for (const point of all) {
      const circle = shape("circle", {
        class: `point ${kindOf(point)}`,
        cx: atX(point.rmse),
        cy: atY(point.time),
        r: point.chosen ? 8 : 5
      });
      circle.addEventListener("pointerenter", () => tell(point));
      circle.addEventListener("click", () => tell(point));
      svg.append(circle);
    }
    chart.replaceChildren(svg);
  }

  const table = element("table");
  table.append(page.header([
    ["layer"], ["in"], ["floats, % of the time", "number"],
    ["8 bits, %", "number"], ["weights of floats", "number"],
    ["of 8 bits", "number"], ["rmse alone", "number"]
  ]));
  const body = element("tbody");
  const percent = value =>
      Number.isFinite(value) ? (100 * value).toFixed(2) : "";
  // The layer that hurts most comes first.
  for (const layer of found.layers.slice().sort(
           (a, b) => (b.rmse || 0) - (a.rmse || 0)))
    body.append(element(
        "tr", {}, page.cell(String(layer.name)),
        page.cell(layer.in8 ? "8 bits" : "f32"),
        page.cell(percent(layer.time), "number"),
        page.cell(percent(layer.time8), "number"),
        page.cell(bytes(Number(layer.bytes) || 0), "number"),
        page.cell(bytes(Number(layer.bytes8) || 0), "number"),
        page.cell(
            layer.product && Number.isFinite(layer.rmse) ? number(layer.rmse) :
                                                           "",
            "number")));
  table.append(body);
  const legend = element("p", {class: "legend"});
  for (const kind of ["predicted", "measured", "chosen"])
    legend.append(element("span", {}, element("i", {class: kind}), kind));
  panel.append(
      element("h2", {}, "Time and error of layers in 8 bits"),
      element(
          "p", {class: "note"},
          "The line has the choices that are predicted to be the fastest " +
              "for their error. Those that were tried have measured errors. " +
              "Hover or tap one for its figures."),
      legend, chart, info, element("h2", {}, "Layers"),
      element("div", {class: "wide"}, table));
  addEventListener("resize", () => {
    if (!panel.hidden) draw();
  });
})();
