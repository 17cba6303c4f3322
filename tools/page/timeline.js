// Draws the plan: lanes over time as predicted, and as measured where there is
// a trace. Times are microseconds.
(() => {
  const {byId, element, shape, ms, bytes, sum, cell, header, data} = page;
  const STAGES = ["read", "decode", "transform", "execute"];
  const ROW = 26, HEAD = 24, AXIS = 26, GAP = 10;

  // What is drawn: a picture each for the plan and the trace. An item refers to
  // its operation of the plan by number, so that both pictures can point at the
  // same one.
  const operations = data.operations;
  const isPredicted = operations.some(o => o.start !== undefined);
  const pictures = [];
  const laneNames = data.lanes.map((lane, i) => `${i} ${lane.kind}`);
  /// Threads that prepare for the GPU, and the GPU, below the CPU's lanes. Of
  /// a trace data.lines names the threads; those for the GPU are called so
  /// there, too.
  const gpu = data.gpu || {lanes: 0, preparations: [], stretches: []};
  const gpuNames = data.gpu ? [...Array(gpu.lanes).keys()]
                                  .map(i => `GPU preparation ${i + 1}`)
                                  .concat("GPU") :
                              [];
  const gpuItems = [
    ...gpu.preparations.map(p => ({...p, lane: laneNames.length + p.lane})),
    ...gpu.stretches.map(
        s => ({...s, stage: "stretch", lane: laneNames.length + gpu.lanes}))
  ].filter(item => item.start !== undefined);
  if (isPredicted) {
    pictures.push({
      title: "predicted",
      timed: true,
      isPlan: true,
      lanes: laneNames.length + gpuNames.length,
      items: operations
                 .flatMap((o, i) => o.start === undefined ? [] : [{
                            lane: o.lane,
                            stage: o.stage,
                            layer: o.layer,
                            start: o.start,
                            duration: o.duration,
                            planned: i
                          }])
                 .concat(gpuItems)
    });
  } else if (!data.trace) {
    // Without times there is still an order: one step for each place in a
    // queue.
    const places = data.lanes.map(() => 0);
    pictures.push({
      title: "queues",
      timed: false,
      isPlan: true,
      lanes: laneNames.length,
      items: operations.map((o, i) => ({
                              lane: o.lane,
                              stage: o.stage,
                              layer: o.layer,
                              start: places[o.lane]++,
                              duration: 1,
                              planned: i
                            }))
    });
  }
  if (data.trace)
    pictures.push({
      title: "measured",
      timed: true,
      items: data.trace,
      lanes: Math.max(laneNames.length, ...data.trace.map(e => e.lane + 1))
    });
  if (data.warm_run)
    pictures.push({
      title: "warm run",
      timed: true,
      items: data.warm_run,
      lanes: Math.max(1, ...data.warm_run.map(e => e.lane + 1))
    });
  const timed = pictures.every(p => p.timed);
  for (const picture of pictures)
    picture.end = Math.max(0, ...picture.items.map(i => i.start + i.duration));
  // What is done in the background after the first result may last far longer
  // than the run.
  const end = Math.max(1e-3, ...pictures.map(p => p.end));
  const measured = new Map();
  for (const event of data.trace || [])
    if (event.planned !== undefined) {
      const times = measured.get(event.planned) ||
          {duration: 0, start: event.start, lane: event.lane, stolen: false};
      times.duration += event.duration;
      times.start = Math.min(times.start, event.start);
      times.stolen = times.stolen || !!event.stolen;
      measured.set(event.planned, times);
    }
  // What prepares the GPU has no number among the operations, but a name.
  const planOfGpu = new Map(gpu.preparations.map(p => [p.id, p]));
  const measuredOfGpu = new Map(
      (data.trace || []).filter(e => e.id !== undefined).map(e => [e.id, e]));
  const isGpuRecorded = !!(data.trace && page.profile && page.profile.gpu);
  const laneName = (lane, picture) => {
    const planned = picture?.isPlan ? laneNames.concat(gpuNames) : laneNames;
    const thread = data.lines?.[lane] ?? `${lane} thread`;
    return picture && !picture.isPlan && data.lines ? thread :
                                                      planned[lane] ?? thread;
  };
  /// When the first result is there: a trace may go on with later runs, which
  /// execute all again.
  function lastExecute(picture) {
    const first = new Map();
    for (const item of picture.items)
      if (item.stage === "execute" && !first.has(item.planned))
        first.set(item.planned, item.start + item.duration);
    return Math.max(0, ...first.values());
  }

  function writeHeader() {
    byId("title").textContent = data.model || data.file;
    const facts = [
      data.file, data.target, bytes(data.file_size),
      `${operations.length} operations`
    ];
    if (data.prepared_size) facts.push(`${bytes(data.prepared_size)} prepared`);
    if (data.predicted_cold)
      facts.push(`predicted cold ${ms(data.predicted_cold)} ms`);
    if (data.predicted_warm)
      facts.push(`predicted warm ${ms(data.predicted_warm)} ms`);
    if (data.trace)
      facts.push(`measured ${
          ms(lastExecute(pictures.find(
              p => p.title === "measured")))} ms (${data.trace_file})`);
    byId("facts").textContent = facts.join(" · ");
    const present =
        new Set([...operations, ...(data.trace || [])].map(o => o.stage));
    for (const stage of [...STAGES, "other"])
      if (present.has(stage))
        byId("legend").append(
            element("span", {}, element("i", {class: stage}), stage));
    for (const [stage, name] of [
             ["device", "prepares for the GPU"], ["stretch", "GPU"]])
      if ([...gpuItems, ...measuredOfGpu.values()].some(
              item => (item.stage === "stretch") === (stage === "stretch")))
        byId("legend").append(
            element("span", {}, element("i", {class: stage}), name));
    if ((data.trace || []).some(e => e.stolen))
      byId("legend").append(element(
          "span", {}, element("i", {class: "stolen"}),
          "stolen from another lane"));
    byId("hint").textContent = !timed ?
        "This bundle holds no predicted times: each step is one place in a " +
            "queue, not a duration." :
        "A lane works from left to right. Gaps on the execute lane are where " +
            `it waits for weights${data.gpu ? " or the GPU" : ""}. ` +
            "Hover or tap an operation for its figures; pinch, Ctrl + " +
            "wheel or the buttons zoom.";
  }

  // The pictures.
  const scroll = byId("scroll");
  let zoom = 1;
  let selected = null;
  let revealed = -Infinity;  // when reveal() last scrolled the window
  const drawn = [];          // {item, rect, picture}, in the order of drawing

  function niceStep(span) {
    const power = 10 ** Math.floor(Math.log10(span));
    return [1, 2, 5, 10].map(f => f * power).find(step => step >= span);
  }

  function drawAxis(svg, scale, height) {
    const step =
        timed ? niceStep(90 / scale) : Math.max(1, niceStep(50 / scale));
    for (let i = 0; i * step <= end; ++i) {
      const x = Math.round(i * step * scale) + 0.5;
      svg.append(shape(
          "line", {class: "grid", x1: x, x2: x, y1: AXIS - 6, y2: height}));
      const value = timed ? `${Number((i * step / 1000).toPrecision(6))} ms` :
                            `${i * step}`;
      svg.append(shape("text", {x: x + 3, y: AXIS - 10}, value));
    }
  }

  function drawItem(svg, picture, item, scale, y) {
    const x = item.start * scale, width = Math.max(item.duration * scale, 0.7);
    // What is no operation, as opening the bundle, may last while operations
    // run: a strip below.
    const isOther = item.stage === "other";
    const rect = shape("rect", {
      class: `op ${item.stage}${item.stolen ? " stolen" : ""}`,
      x,
      y: isOther ? y + ROW - 5 : y + 3,
      width,
      height: isOther ? 4 : ROW - 8,
      rx: Math.min(2, width / 3)
    });
    drawn.push({item, rect, picture});
    rect.dataset.number = drawn.length - 1;
    svg.append(rect);
    const letters = Math.floor((width - 6) / 6.8);
    if (letters >= 4 && !isOther) {
      // Names of neighbours differ at their ends.
      const name = item.layer.length > letters ?
          "…" + item.layer.slice(1 - letters) :
          item.layer;
      svg.append(
          shape("text", {class: "name", x: x + 4, y: y + ROW / 2 + 3}, name));
    }
  }

  function draw() {
    const width = Math.max(scroll.clientWidth - 1, 120) * zoom;
    const scale = (width - 12) / end;
    const height = AXIS + sum(pictures, p => HEAD + p.lanes * ROW + GAP);
    const svg = shape("svg", {width, height, "aria-hidden": "true"});
    const labels = byId("labels");
    labels.replaceChildren(element("div", {style: `height:${AXIS}px`}));
    drawn.length = 0;
    let y = AXIS;
    for (const picture of pictures) {
      labels.append(element(
          "div",
          {class: "head", style: `height:${HEAD}px;line-height:${HEAD}px`},
          picture.title));
      y += HEAD;
      picture.top = y;
      for (let lane = 0; lane < picture.lanes; ++lane, y += ROW) {
        const name = laneName(lane, picture);
        labels.append(element(
            "div", {style: `height:${ROW}px;line-height:${ROW}px`, title: name},
            // There is little room, and the number must be seen.
            name.replace("GPU preparation", "GPU prep.")));
        svg.append(shape(
            "rect", {class: "row", x: 0, y: y + 1, width, height: ROW - 2}));
      }
      labels.append(element("div", {style: `height:${GAP}px`}));
      y += GAP;
    }
    drawAxis(svg, scale, height);
    for (const picture of pictures) {
      for (const item of picture.items)
        drawItem(svg, picture, item, scale, picture.top + item.lane * ROW);
      if (!picture.timed) continue;
      const last = lastExecute(picture), x = last * scale;
      svg.append(shape("line", {
        class: "end",
        x1: x,
        x2: x,
        y1: picture.top - 14,
        y2: picture.top + picture.lanes * ROW
      }));
      const text = shape(
          "text",
          {class: "end", x: x - 4, y: picture.top - 7, "text-anchor": "end"},
          `result after ${ms(last)} ms`);
      svg.append(text);
    }
    scroll.replaceChildren(svg);
    mark();
  }

  /// Outlines the selected operation in every picture.
  function mark() {
    for (const {item, rect} of drawn) {
      const same = selected &&
          (item === selected ||
           (item.planned !== undefined && item.planned === selected.planned) ||
           (item.id !== undefined && item.id === selected.id));
      rect.classList.toggle("same", !!same);
    }
  }

  function setZoom(next, clientX) {
    next = Math.min(Math.max(next, 1), 400);
    const box = scroll.getBoundingClientRect();
    const inside = (clientX ?? box.left + box.width / 2) - box.left;
    const place = (scroll.scrollLeft + inside) / (zoom * box.width);
    zoom = next;
    draw();
    scroll.scrollLeft = place * zoom * box.width - inside;
  }

  // The tip.
  function rowsOf(item, picture) {
    const o = item.planned === undefined ? {} : operations[item.planned];
    const rows =
        [["stage", item.stage + (o.background ? ", in the background" : "")]];
    if (o.kernel) rows.push(["kernel", o.kernel]);
    if (o.switched_to) rows.push(["later", o.switched_to]);
    if (o.stage === "decode")
      rows.push([
        "bytes",
        `${bytes(o.bytes)} of ${o.codec}${
            o.planes > 1 ? `, ${o.planes} planes` : ""}` +
            ` to ${bytes(o.prepared || 0)}`
      ]);
    else if (o.prepared)
      rows.push(["bytes", `${bytes(o.bytes)} to ${bytes(o.prepared)}`]);
    else if (o.bytes)
      rows.push([
        "bytes", bytes(o.bytes) + (o.stage === "execute" ? " of weights" : "")
      ]);
    if (o.tiles) rows.push(["tiles", String(o.tiles)]);
    if (item.dispatches) rows.push(["dispatches", String(item.dispatches)]);
    rows.push([
      "lane", laneName(item.lane, picture) + (item.stolen ? ", stolen" : "")
    ]);
    if (picture.timed) {
      rows.push(["start", `${ms(item.start)} ms`]);
      rows.push([picture.title, `${ms(item.duration)} ms`]);
      const [title, other] = picture.title === "measured" ?
          ["predicted", item.id ? planOfGpu.get(item.id) : o] :
          [
            "measured",
            item.id ? measuredOfGpu.get(item.id) : measured.get(item.planned)
          ];
      if (other?.duration !== undefined)
        rows.push([title, `${ms(other.duration)} ms`]);
      else if (item.id && picture.isPlan && isGpuRecorded)
        rows.push([title, "not recorded"]);
    }
    const after = o.after || planOfGpu.get(item.id)?.after;
    if (after) rows.push(["after", after.join(", ")]);
    return rows;
  }

  function showTip({item, rect, picture}, at) {
    const tip = byId("tip");
    const list = element("dl");
    for (const [name, value] of rowsOf(item, picture))
      list.append(element("dt", {}, name), element("dd", {}, value));
    tip.replaceChildren(element("b", {}, item.layer), list);
    tip.hidden = false;
    const box = rect.getBoundingClientRect();
    const x = at ? at.clientX : box.left, y = at ? at.clientY : box.bottom;
    tip.style.left =
        `${Math.max(8, Math.min(x + 12, innerWidth - tip.offsetWidth - 8))}px`;
    tip.style.top = `${
        y + 16 + tip.offsetHeight < innerHeight ?
            y + 16 :
            Math.max(8, y - tip.offsetHeight - 12)}px`;
  }

  function select(entry, at) {
    selected = entry ? entry.item : null;
    mark();
    if (entry)
      showTip(entry, at);
    else
      byId("tip").hidden = true;
  }

  const entryAt = event => {
    const number = event.target.dataset && event.target.dataset.number;
    return number === undefined ? null : drawn[number];
  };

  /// Scrolls an operation into view, zoomed so that it can be seen, and selects
  /// it.
  function reveal(number) {
    let entry = drawn.find(d => d.item.planned === number);
    if (!entry) return;
    const share = entry.item.duration / end;
    if (share * zoom < 0.05) {
      zoom = Math.min(400, Math.max(zoom, 0.1 / Math.max(share, 1e-4)));
      draw();
    }
    entry = drawn.find(d => d.item.planned === number);
    scroll.scrollLeft =
        Number(entry.rect.getAttribute("x")) - scroll.clientWidth / 3;
    revealed = performance.now();
    scroll.scrollIntoView({block: "center"});
    select(entry);
  }

  function listen() {
    scroll.addEventListener("pointermove", event => {
      if (event.pointerType === "mouse") select(entryAt(event), event);
    });
    scroll.addEventListener("pointerleave", event => {
      if (event.pointerType === "mouse") select(null);
    });
    scroll.addEventListener("click", event => select(entryAt(event), event));
    scroll.addEventListener("wheel", event => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      setZoom(zoom * Math.exp(-event.deltaY / 300), event.clientX);
    }, {passive: false});
    let pinch = null;
    const spread = touches => Math.hypot(
        touches[0].clientX - touches[1].clientX,
        touches[0].clientY - touches[1].clientY);
    scroll.addEventListener("touchstart", event => {
      if (event.touches.length === 2)
        pinch = {distance: spread(event.touches), zoom};
    }, {passive: true});
    scroll.addEventListener("touchmove", event => {
      if (!pinch || event.touches.length !== 2) return;
      event.preventDefault();
      setZoom(
          pinch.zoom * spread(event.touches) / pinch.distance,
          (event.touches[0].clientX + event.touches[1].clientX) / 2);
    }, {passive: false});
    scroll.addEventListener("touchend", event => {
      if (event.touches.length < 2) pinch = null;
    });
    scroll.addEventListener("keydown", event => {
      if (event.key === "+" || event.key === "=")
        setZoom(zoom * 1.6);
      else if (event.key === "-")
        setZoom(zoom / 1.6);
      else if (event.key === "0")
        setZoom(1);
      else if (event.key === "Escape")
        select(null);
      else if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
        const order = drawn.slice().sort((a, b) => a.item.start - b.item.start);
        const now = order.findIndex(d => d.item === selected);
        const next = order[Math.min(
            Math.max(now + (event.key === "ArrowRight" ? 1 : -1), 0),
            order.length - 1)];
        if (!next) return;
        const x = Number(next.rect.getAttribute("x"));
        if (x < scroll.scrollLeft ||
            x > scroll.scrollLeft + scroll.clientWidth - 40)
          scroll.scrollLeft = x - 60;
        select(next);
      } else
        return;
      event.preventDefault();
    });
    byId("in").addEventListener("click", () => setZoom(zoom * 1.6));
    byId("out").addEventListener("click", () => setZoom(zoom / 1.6));
    byId("fit").addEventListener("click", () => setZoom(1));
    addEventListener("resize", draw);
    addEventListener("scroll", () => {
      if (performance.now() - revealed > 300) select(null);
    }, {passive: true});
  }

  // The tables.
  function writeStages() {
    const columns = [["stage"], ["operations", "number"], ["bytes", "number"]];
    for (const picture of pictures)
      if (picture.timed) columns.push([`${picture.title}, ms`, "number"]);
    const body = element("tbody");
    for (const stage of STAGES) {
      const some = operations.filter(o => o.stage === stage);
      if (!some.length) continue;
      const row = element(
          "tr", {}, element("td", {}, element("i", {class: stage}), stage),
          cell(String(some.length), "number"),
          cell(bytes(sum(some, o => o.bytes)), "number"));
      for (const picture of pictures)
        if (picture.timed)
          row.append(cell(
              ms(
                  sum(picture.items.filter(i => i.stage === stage),
                      i => i.duration)),
              "number"));
      body.append(row);
    }
    byId("stages").append(header(columns), body);
  }

  function writeLanes() {
    const columns = [["lane"], ["core"], ["operations", "number"]];
    for (const picture of pictures)
      if (picture.timed)
        columns.push(
            [`${picture.title}: busy, ms`, "number"], ["waits, ms", "number"]);
    const body = element("tbody");
    // Lanes of the plan beside threads with their numbers, more threads, and
    // those for the GPU by name.
    const isOfGpu = lane => gpuNames.includes(data.lines?.[lane]);
    const count = Math.max(
        laneNames.length, ...pictures.filter(p => !p.isPlan).map(p => p.lanes));
    const rows =
        [...Array(count).keys()]
            .filter(lane => !isOfGpu(lane))
            .map(lane => ({
                   name: laneName(lane),
                   core: data.lanes[lane] ? data.lanes[lane].core : "",
                   operations: operations.filter(o => o.lane === lane).length,
                   laneIn: picture =>
                       picture.isPlan && lane >= laneNames.length ? -1 : lane
                 }));
    for (let i = 0; i < gpu.lanes; ++i)
      rows.push({
        name: gpuNames[i],
        core: "",
        operations: gpu.preparations.filter(p => p.lane === i).length,
        laneIn: picture => picture.isPlan ?
            laneNames.length + i :
            (data.lines || []).indexOf(gpuNames[i])
      });
    for (const {name, core, operations, laneIn} of rows) {
      const row = element(
          "tr", {}, cell(name), cell(core), cell(String(operations), "number"));
      for (const picture of pictures) {
        if (!picture.timed) continue;
        const items = picture.items.filter(
            i => i.lane === laneIn(picture) && i.stage !== "other");
        const busy = sum(items, i => i.duration);
        const last = Math.max(0, ...items.map(i => i.start + i.duration));
        row.append(
            cell(ms(busy), "number"),
            cell(ms(Math.max(0, last - busy)), "number"));
      }
      body.append(row);
    }
    byId("lanes").append(header(columns), body);
  }

  function writeLongest() {
    const cost = i => Math.max(
        operations[i].duration || 0,
        measured.has(i) ? measured.get(i).duration : 0);
    const order = operations.map((_, i) => i)
                      .sort(
                          (a, b) => cost(b) - cost(a) ||
                              operations[b].bytes - operations[a].bytes);
    const columns =
        [["stage"], ["layer"], ["kernel"], ["lane"], ["bytes", "number"]];
    if (isPredicted) columns.push(["predicted, ms", "number"]);
    if (data.trace) columns.push(["measured, ms", "number"]);
    const body = element("tbody");
    const write = count => {
      body.replaceChildren();
      for (const i of order.slice(0, count)) {
        const o = operations[i];
        const row = element(
            "tr", {class: "pick"},
            element("td", {}, element("i", {class: o.stage}), o.stage),
            element("td", {class: "long", title: o.layer}, o.layer),
            element(
                "td", {class: "long", title: o.kernel || ""}, o.kernel || ""),
            cell(laneName(o.lane)),
            cell(o.bytes ? bytes(o.bytes) : "", "number"));
        if (isPredicted)
          row.append(
              cell(o.duration === undefined ? "–" : ms(o.duration), "number"));
        if (data.trace)
          row.append(cell(
              measured.has(i) ? ms(measured.get(i).duration) : "–", "number"));
        row.addEventListener("click", () => reveal(i));
        body.append(row);
      }
    };
    byId("longest").append(header(columns), body);
    write(20);
    const more = byId("more");
    more.hidden = order.length <= 20;
    more.textContent = `show all ${order.length}`;
    more.addEventListener("click", () => {
      write(order.length);
      more.hidden = true;
    });
  }

  writeHeader();
  draw();
  listen();
  writeStages();
  writeLanes();
  writeLongest();
})();
