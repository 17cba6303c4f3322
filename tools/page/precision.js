// Layers in fewer bits: the front of time (or bytes) and error, and each
// layer's part. The bundle's property says it; foreign text, of which numbers
// alone are drawn.
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
  // Weights alone are rounded: their bytes count.
  const ofWeights = found.weights === true;
  const value = point => !ofWeights ? point.time :
      front[0].bytes > 0            ? point.bytes / front[0].bytes :
                                      1;
  const panel = page.tabs.add("precision", "Precision");
  const number = value => Number(value.toPrecision(3)).toString();
  const info = element("p", {class: "note", role: "status"});
  const chart = element("div", {class: "plot"});
  const kindOf = point => point.chosen ? "chosen" :
      tried.includes(point)            ? "measured" :
                                         "predicted";

  function tell(point) {
    info.textContent = `${kindOf(point)}: ${point.layers} ${
        ofWeights ? "layers with rounded weights" :
                    "products in 8 bits"} take ${
        number(point.time)} of the time of floats, ${
        bytes(point.bytes)} of weights; rmse ${number(point.rmse)}`;
  }

  function draw() {
    const width = Math.max(chart.clientWidth, 280);
    const height = Math.min(420, Math.max(260, width * 0.5));
    const left = 56, right = width - 14, top = 14, bottom = height - 42;
    const all = front.concat(tried);
    const most = Math.max(...all.map(p => p.rmse), 1e-9);
    const low = Math.min(...all.map(value), 1) - 0.02;
    const high = Math.max(...all.map(value), 1) + 0.02;
    const atX = v => left + v / most * (right - left);
    const atY = v => bottom - (v - low) / (high - low) * (bottom - top);
    const svg = shape("svg", {
      width,
      height,
      role: "img",
      "aria-label":
          (ofWeights ? "Bytes" : "Time") + " over the error of the outputs"
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
            ofWeights ? "part of the bytes of floats" :
                        "part of the time of floats"),
        shape("polyline", {
          class: "front",
          points: front.map(p => `${atX(p.rmse)},${atY(value(p))}`).join(" ")
        }));
    for (const point of all) {
      const circle = shape("circle", {
        class: `point ${kindOf(point)}`,
        cx: atX(point.rmse),
        cy: atY(value(point)),
        r: point.chosen ? 8 : 5
      });
      circle.addEventListener("pointerenter", () => tell(point));
      circle.addEventListener("click", () => tell(point));
      svg.append(circle);
    }
    chart.replaceChildren(svg);
  }

  // Columns of forms that a layer has.
  const layers = found.layers;
  const has = form =>
      layers.some(l => l[form] && Number.isFinite(l[form].time));
  const isNumber = Number.isFinite;
  const percent = v => isNumber(v) ? (100 * v).toFixed(2) : "";
  const size = v => isNumber(v) ? bytes(v) : "";
  const error = v => isNumber(v) ? number(v) : "";
  const columns = [
    ["floats, % of the time", l => percent(l.time)],
    ["weights of floats", l => size(l.bytes)]
  ];
  if (layers.some(l => isNumber(l.time8)))
    columns.push(
        ["8 bits, % of the time", l => percent(l.time8)],
        ["of 8 bits", l => size(l.bytes8)],
        ["rmse alone", l => l.product ? error(l.rmse) : ""]);
  for (const form of ["f16", "q8"].filter(has))
    columns.push(
        [`weights of ${form}`, l => l[form] ? size(l[form].bytes) : ""],
        [`rmse with ${form}`, l => l[form] ? error(l[form].rmse) : ""]);
  const forms = ["f32", "8 bits", "f16", "q8"];
  const formOf = l => forms.includes(l.form) ? l.form :
      l.in8                                  ? "8 bits" :
                                               "f32";
  const worst = l => Math.max(
      ...[l.rmse, l.f16 && l.f16.rmse, l.q8 && l.q8.rmse].filter(isNumber), 0);

  const table = element("table");
  table.append(page.header(
      [["layer"], ["in"], ...columns.map(([name]) => [name, "number"])]));
  const body = element("tbody");
  // The layer that hurts most comes first.
  for (const layer of layers.slice().sort((a, b) => worst(b) - worst(a)))
    body.append(element(
        "tr", {}, page.cell(String(layer.name)), page.cell(formOf(layer)),
        ...columns.map(([, text]) => page.cell(text(layer), "number"))));
  table.append(body);
  const legend = element("p", {class: "legend"});
  for (const kind of ["predicted", "measured", "chosen"])
    legend.append(element("span", {}, element("i", {class: kind}), kind));
  panel.append(
      element(
          "h2", {},
          ofWeights ? "Bytes and error of rounded weights" :
                      "Time and error of layers in 8 bits"),
      element(
          "p", {class: "note"},
          "The line has the choices that are predicted to be the " +
              (ofWeights ? "smallest" : "fastest") +
              " for their error. Those that were tried have measured errors. " +
              "Hover or tap one for its figures."),
      legend, chart, info, element("h2", {}, "Layers"),
      element("div", {class: "wide"}, table));
  addEventListener("resize", () => {
    if (!panel.hidden) draw();
  });
})();
