// What a GPU takes over: stretches of layers, and the pipelines that compute
// them. Times are microseconds.
(() => {
  const {byId, ms, bytes, cell, element, header, data} = page;
  const gpu = data.gpu;
  if (!gpu) return;
  byId("gpu").hidden = false;
  const facts = [`prepared from ${
      gpu.start === "after the first result" ?
          "the first result on" :
          "the moment on when the bundle is opened"}`];
  if (gpu.predicted_cold)
    facts.push(`predicted cold ${ms(gpu.predicted_cold)} ms`);
  if (gpu.predicted_warm)
    facts.push(`predicted warm ${ms(gpu.predicted_warm)} ms`);
  byId("gpu-facts").textContent = facts.join(" · ");

  const when = s => s.warm ? (s.cold ? "all" : "later ones") :
      s.cold               ? "the first one" :
                             "instead of others";
  const stretches = element("tbody");
  for (const s of gpu.stretches)
    stretches.append(element(
        "tr", {}, element("td", {class: "long", title: s.layer}, s.layer),
        cell(String(s.layers), "number"), cell(String(s.dispatches), "number"),
        cell(bytes(s.in), "number"), cell(bytes(s.out), "number"),
        cell(s.duration === undefined ? "–" : ms(s.duration), "number"),
        cell(when(s))));
  byId("stretches")
      .append(
          header([
            ["stretch"], ["layers", "number"], ["dispatches", "number"],
            ["handed over", "number"], ["taken back", "number"],
            ["predicted, ms", "number"], ["in which runs"]
          ]),
          stretches);

  const pipelines = element("tbody");
  for (const p of gpu.pipelines)
    pipelines.append(element(
        "tr", {}, element("td", {class: "long", title: p.name}, p.name),
        cell(String(p.dispatches), "number"),
        cell(String(p.invocations), "number"),
        cell(p.shared ? bytes(p.shared) : "", "number"),
        cell(bytes(p.bytes), "number"),
        cell(p.predicted ? ms(p.predicted) : "–", "number")));
  byId("pipelines")
      .append(
          header([
            ["pipeline"], ["dispatches", "number"],
            ["invocations a group", "number"], ["shared", "number"],
            ["SPIR-V", "number"], ["predicted, ms", "number"]
          ]),
          pipelines);
})();
