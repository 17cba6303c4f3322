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

  // As measured, where there is a recording of it.
  const recorded = page.profile && page.profile.gpu;
  if (recorded) {
    const body = element("tbody");
    const missing = recorded.preparations.filter(p => !p.recorded).length;
    const time = us => us === undefined ? "–" : ms(us);
    const times =
        (start,
         us) => [time(start),
                 time(start === undefined ? undefined : start + us), time(us)]
                    .map(text => cell(text, "number"));
    for (const p of recorded.preparations)
      body.append(element(
          "tr", {}, cell(p.id),
          element("td", {}, element("i", {class: p.stage}), p.stage),
          element("td", {class: "long", title: p.what}, p.what),
          ...times(p.planned_start_us, p.planned_us),
          ...times(p.start_us, p.us),
          cell(p.recorded ? p.thread : "not recorded, as planned")));
    byId("gpu-measured").textContent = [
      ...Object.entries(recorded.stages)
          .map(
              ([stage, s]) => `${stage} ${ms(s.us)} ms` +
                  (s.bytes_per_second ?
                       ` for ${bytes(s.bytes)}, ${
                           (s.bytes_per_second * 1e-9).toPrecision(3)} GB/s` :
                       "") +
                  (s.preparations > 1 ?
                       ` (${s.preparations}; longest ${ms(s.longest_us)} ms, ${
                           s.longest})` :
                       "")),
      missing ? `${missing} of ${recorded.preparations.length} not recorded` :
                `all ready ${ms(recorded.ready_us)} ms after the session began`
    ].join(" · ");
    byId("preparations")
        .append(
            header([
              ["preparation"], ["stage"], ["what"], ["planned: from", "number"],
              ["to", "number"], ["ms", "number"], ["measured: from", "number"],
              ["to", "number"], ["ms", "number"], ["by"]
            ]),
            body);
  }

  const when = s => s.warm ? (s.cold ? "all" : "later ones") :
      s.cold               ? "the first one" :
                             "instead of others";
  const dispatches = s =>
      s.parts ? `${s.dispatches}, CPUs ${s.parts}` : String(s.dispatches);
  const stretches = element("tbody");
  for (const s of gpu.stretches)
    stretches.append(element(
        "tr", {}, element("td", {class: "long", title: s.layer}, s.layer),
        cell(String(s.layers), "number"), cell(dispatches(s), "number"),
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
