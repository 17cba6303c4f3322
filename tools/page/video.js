// Video: what a stream reused of the frames of a clip, by layer, frame and
// pixel.
(() => {
  const {byId, element, ms, bytes, cell, header, profile} = page;
  const video = profile && profile.video;
  if (!video) return;
  const panel = page.tabs.add("video", "Video", true);
  const layers = video.layers, frames = video.frames;
  const bytesOf = hex => Uint8Array.from(
      {length: hex.length / 2}, (_, i) => parseInt(hex.substr(2 * i, 2), 16));
  const percent = part => `${(100 * part).toFixed(1)} %`;
  const nameOf = layer => layer.layer || "(no name)";
  const colorOf = name =>
      getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  /// Makes a canvas so large, in points of the page; returns what draws on it.
  function begin(canvas, width, height) {
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    return context;
  }

  // Tiles by layer and frame.
  const computed = layers.map(layer => bytesOf(layer.computed));
  const rowHeight = layers.length > 80 ? 8 : 14;
  const map = element("canvas", {
    role: "img",
    "aria-label": "Part of the tiles that was computed, by layer and frame"
  });
  const told = element("p", {class: "note", role: "status"}, " ");
  const labels = element("div", {class: "labels"});
  if (rowHeight > 8)
    for (const layer of layers)
      labels.append(element(
          "div", {
            style: `height:${rowHeight}px;line-height:${rowHeight}px`,
            title: nameOf(layer)
          },
          nameOf(layer)));
  const area = element("div", {class: "scroll"}, map);
  let columns = 1;

  function drawMap() {
    const width = Math.max(area.clientWidth, 160);
    columns = Math.max(1, Math.min(frames.length, Math.floor(width / 2)));
    const context = begin(map, width, layers.length * rowHeight);
    const colors = ["--ground", "--read", "--transform"].map(colorOf);
    const gap = rowHeight > 8 ? 1 : 0;
    computed.forEach((row, y) => {
      for (let x = 0; x < columns; ++x) {
        // More frames than columns: the one with most.
        let most = 0;
        for (let i = Math.floor(x * frames.length / columns);
             i < Math.floor((x + 1) * frames.length / columns); ++i)
          most = Math.max(most, row[i]);
        const left = x * width / columns, top = y * rowHeight;
        const paint = (color, alpha) => {
          context.globalAlpha = alpha;
          context.fillStyle = color;
          context.fillRect(left, top, width / columns + 0.5, rowHeight - gap);
        };
        paint(colors[0], 1);
        if (most === 255)
          paint(colors[2], 1);
        else if (most)
          paint(colors[1], 0.25 + 0.75 * most / 255);
      }
    });
  }

  function tell(event) {
    const box = map.getBoundingClientRect();
    const y = Math.floor((event.clientY - box.top) / rowHeight);
    const x =
        Math.floor((event.clientX - box.left) / box.width * frames.length);
    if (!layers[y] || !frames[x]) return;
    const frame = frames[x], part = computed[y][x] / 255;
    told.textContent = `Frame ${x} (${frame.kind}, ${ms(frame.us)} ms, ${
        ms(frame.plain_us)} plain), ${nameOf(layers[y])}: ${
        part ? `${percent(part)} of the tiles` : "kept"}`;
  }
  map.addEventListener("pointermove", tell);
  map.addEventListener("click", event => {
    tell(event);
    const y = Math.floor(
        (event.clientY - map.getBoundingClientRect().top) / rowHeight);
    if (layers[y]) choose(y + 1);
  });

  // Pixels of the input and of each result, over the picture.
  const heats = [
    ["input: pixels that changed", video.input],
    ...layers.map(layer => [`${layer.index}: ${nameOf(layer)}`, layer.pixels])
  ];
  const choice = element(
      "select", {id: "heat", "aria-label": "Pixels of"},
      ...heats.map(([name], i) => element("option", {value: i}, name)));
  const picture = element("canvas", {role: "img"});
  const scene = document.createElement("canvas");
  if (video.picture) {
    const {rows, columns, bytes: hex} = video.picture, from = bytesOf(hex);
    scene.width = columns;
    scene.height = rows;
    const context = scene.getContext("2d");
    const image = context.createImageData(columns, rows);
    for (let i = 0; i < rows * columns; ++i) {
      image.data.set(from.subarray(3 * i, 3 * i + 3), 4 * i);
      image.data[4 * i + 3] = 255;
    }
    context.putImageData(image, 0, 0);
  }
  const deepest = element("p", {class: "note", role: "status"});
  const around = element("div", {class: "plot"}, picture);

  function drawPicture() {
    const [name, heat] = heats[choice.value];
    const shape = video.picture || heat || {rows: 1, columns: 1};
    const width = Math.min(around.clientWidth || 280, 560);
    const height = width * shape.rows / shape.columns;
    const context = begin(picture, width, height);
    context.fillStyle = colorOf("--raised");
    context.fillRect(0, 0, width, height);
    if (video.picture) {
      // Colors of the heat stand out of a picture without its own.
      context.filter = "grayscale(1)";
      context.drawImage(scene, 0, 0, width, height);
      context.filter = "none";
    }
    picture.setAttribute(
        "aria-label", `How often pixels were computed: ${name}`);
    deepest.textContent = "";
    if (!heat) return;
    const values = bytesOf(heat.bytes), most = Math.max(1, ...values);
    deepest.textContent =
        `Where the color is deepest: ${percent(most / 255)} of the time.`;
    context.fillStyle = colorOf("--mark");
    const stepX = width / heat.columns, stepY = height / heat.rows;
    values.forEach((value, i) => {
      context.globalAlpha = 0.8 * value / most;
      context.fillRect(
          i % heat.columns * stepX, Math.floor(i / heat.columns) * stepY, stepX,
          stepY);
    });
  }
  function choose(i) {
    choice.value = i;
    drawPicture();
  }
  choice.addEventListener("change", drawPicture);

  // The table.
  const body = element("tbody");
  for (const layer of [...layers].sort((a, b) => b.us - a.us)) {
    const row = element(
        "tr", {class: "pick"}, cell(String(layer.index), "number"),
        element("td", {class: "long", title: nameOf(layer)}, nameOf(layer)),
        cell(layer.us.toFixed(1), "number"),
        cell(layer.plain_us.toFixed(1), "number"),
        cell((100 * layer.tiles).toFixed(1), "number"),
        cell(layer.merging_us.toFixed(1), "number"),
        cell(String(layer.skipped), "number"),
        cell(String(layer.partial), "number"),
        cell(String(layer.whole), "number"), cell(layer.parts),
        cell(layer.routine));
    row.addEventListener("click", () => choose(layer.index + 1));
    body.append(row);
  }

  const {count, mean_us: mean} = video;
  const facts = [`${frames.length} frames of ${video.width}x${video.height} (${
      video.clip}): ${count.reused} reused values, ${
      count.whole} computed all, ${count.plain} were plain runs`];
  if (count.reused)
    facts.push(
        `Frames that reused values: median ${ms(video.median_us)} ms, ${
            ms(video.plain_median_us)} in a plain run; mean: matching ${
            ms(mean.matching)}, merging ${ms(mean.merging)}, operations ${
            ms(mean.operations)}`,
        `${percent(video.work)} of the work was done`);
  facts.push(`${bytes(video.memory_bytes)} of values stay`);
  const key = (kind, text) =>
      element("span", {}, element("i", {class: kind}), text);
  panel.append(
      element("h2", {}, "Tiles that were computed, by layer and frame"),
      element("p", {class: "note"}, `${facts.join(". ")}.`),
      element(
          "div", {class: "legend"}, key("kept", "kept"),
          key("read", "a part, deeper where it is more"),
          key("transform", "all")),
      element("div", {class: "chart"}, labels, area), told,
      element("h2", {}, "Where"),
      element(
          "p", {class: "note"},
          "How often frames that reused values computed each place of a " +
              "layer's result, drawn over the last of them. Choose a layer " +
              "here, in the picture above or in the table."),
      choice, around, deepest, element("h2", {}, "Layers"),
      element(
          "p", {class: "note"},
          "Times are of a frame that reused values (medians of those that " +
              "computed some of the layer, times their part of all), beside " +
              "plain runs; skipped, part and all count frames."),
      element(
          "div", {class: "wide"},
          element(
              "table", {}, header([
                ["#", "number"], ["layer"], ["us", "number"],
                ["plain, us", "number"], ["tiles, %", "number"],
                ["merging, us", "number"], ["skipped", "number"],
                ["part", "number"], ["all", "number"], ["parts by"], ["routine"]
              ]),
              body)));

  const draw = () => {
    if (panel.hidden) return;
    drawMap();
    drawPicture();
  };
  addEventListener("resize", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
})();
