"""Opens a page in headless Chromium, 360 pixels wide as on a phone, goes
through its tabs, and prints what is there."""

import html
import json
import pathlib
import re
import subprocess
import sys
import tempfile

PROBE = """<!DOCTYPE html><meta charset="utf-8"><pre id="found"></pre>
<iframe id="page" style="width:360px;height:640px;border:0" src="PAGE"></iframe>
<script>
const frame = document.getElementById("page");
frame.addEventListener("load", () => {
  const inside = frame.contentDocument, found = {tabs: []};
  const wide = () => inside.documentElement.scrollWidth;
  const text = selector =>
      [...inside.querySelectorAll(selector)].map(e => e.textContent);
  // Canvases with more than one color.
  const drawn = tab => [...tab.querySelectorAll("canvas")].filter(canvas => {
    const {data} = canvas.getContext("2d").getImageData(
        0, 0, canvas.width, canvas.height);
    return new Set(new Uint32Array(data.buffer)).size > 1;
  }).length;
  found.bare = wide();
  found.alien = inside.querySelectorAll("img, b[onclick]").length;
  for (const button of inside.querySelectorAll("[role=tab]")) {
    button.click();
    const shown = [...inside.querySelectorAll(".tab")].filter(t => !t.hidden);
    found.tabs.push({
      title: button.textContent,
      shown: shown.map(t => t.id),
      hash: frame.contentWindow.location.hash,
      shapes: shown[0].querySelectorAll("rect, circle, .parts i").length,
      rows: shown[0].querySelectorAll("tbody tr").length,
      drawn: drawn(shown[0]),
      wide: wide()
    });
  }
  const times = () => text("#operations td:nth-child(3)").map(Number);
  if (inside.querySelector("#operations")) {
    found.descending = times();
    inside.querySelectorAll("#operations th button")[2].click();
    found.ascending = times();
  }
  frame.contentWindow.location.hash = "#roofline";
  document.getElementById("found").textContent = JSON.stringify(found);
});
</script>"""

page = pathlib.Path(sys.argv[1]).resolve()
with tempfile.TemporaryDirectory() as folder:
    probe = pathlib.Path(folder, "probe.html")
    probe.write_text(PROBE.replace("PAGE", page.as_uri()), encoding="utf-8")
    result = subprocess.run(
        [
            "chromium",
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--allow-file-access-from-files",
            f"--user-data-dir={folder}/profile",
            "--enable-logging=stderr",
            "--virtual-time-budget=5000",
            "--dump-dom",
            probe.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
for line in result.stderr.splitlines():
    if "CONSOLE" in line:
        print("console:", line)
found = json.loads(
    html.unescape(
        re.search(r'<pre id="found">(.*?)</pre>', result.stdout).group(1)
    )
)
assert found["alien"] == 0, "a name became an element"
assert found["bare"] <= 360, f"{found['bare']} pixels wide"
for tab in found["tabs"]:
    assert tab["shown"] == [f"panel-{tab['hash'][1:]}"], tab
    assert tab["wide"] <= 360, tab
    pictures = f", {tab['drawn']} pictures" if tab["drawn"] else ""
    print(
        f"{tab['title']}: {tab['shapes']} shapes, {tab['rows']} rows{pictures}"
    )
if "descending" in found:
    assert found["descending"] == sorted(found["ascending"], reverse=True)
    assert found["ascending"] == sorted(found["ascending"])
    print("sorted", len(found["ascending"]))
