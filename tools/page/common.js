"use strict";
// What all scripts of the page share. Names are foreign text: they only ever go
// in as text nodes.
const page = (() => {
  const byId = id => document.getElementById(id);
  const element = (name, attributes = {}, ...children) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes))
      made.setAttribute(key, value);
    made.append(...children);
    return made;
  };
  const shape = (name, attributes = {}, text) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes))
      made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const ms = us => us >= 99950 ? (us / 1000).toFixed(0) :
      us >= 9995               ? (us / 1000).toFixed(1) :
      us >= 99.95              ? (us / 1000).toFixed(2) :
                                 (us / 1000).toFixed(3);
  const bytes = n => {
    const units = ["B", "KB", "MB", "GB", "TB"];
    let unit = 0;
    while (n >= 999.5 && unit < 4) {
      n /= 1000;
      ++unit;
    }
    return (unit ? Number(n.toPrecision(3)) : n) + " " + units[unit];
  };
  const sum = (list, value) =>
      list.reduce((total, item) => total + value(item), 0);
  const cell = (text, kind) => element("td", kind ? {class: kind} : {}, text);
  /// The head of a table, of names and classes.
  const header = columns => element(
      "thead", {},
      element(
          "tr", {},
          ...columns.map(
              ([name, kind]) =>
                  element("th", kind ? {class: kind} : {}, name))));
  return {
    byId,
    element,
    shape,
    ms,
    bytes,
    sum,
    cell,
    header,
    data: JSON.parse(byId("data").textContent),
    profile: JSON.parse(byId("profile").textContent)
  };
})();
