// Tabs, where there is more than a plan: the part of the address behind # names
// one. No element has that name: browsers would scroll to it.
page.tabs = (() => {
  const {byId, element} = page;
  const made = [];

  function show(id) {
    for (const tab of made) {
      const isShown = tab.id === id;
      tab.panel.hidden = !isShown;
      tab.button.setAttribute("aria-selected", String(isShown));
      tab.button.tabIndex = isShown ? 0 : -1;
    }
    byId("tip").hidden = true;
    // What was hidden had no size.
    dispatchEvent(new Event("resize"));
  }

  function choose(tab) {
    history.replaceState(null, "", `#${tab.id}`);
    show(tab.id);
    tab.button.focus();
  }

  const fromAddress = () => {
    const wanted = location.hash.slice(1);
    return made.some(tab => tab.id === wanted) ? wanted : made[0].id;
  };

  /// Another tab, the last or the first one; returns its element of the page.
  function add(id, title, isFirst = false) {
    const button = element(
        "button", {
          type: "button",
          role: "tab",
          id: `tab-${id}`,
          "aria-controls": `panel-${id}`
        },
        title);
    const panel = byId(`panel-${id}`);
    const tab = {id, button, panel};
    made[isFirst ? "unshift" : "push"](tab);
    button.addEventListener("click", () => choose(tab));
    button.addEventListener("keydown", event => {
      const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
      if (!step) return;
      const now = made.indexOf(tab);
      choose(made[(now + step + made.length) % made.length]);
      event.preventDefault();
    });
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", button.id);
    byId("tabs")[isFirst ? "prepend" : "append"](button);
    return panel;
  }

  /// After the last one. With only one there is nothing to choose.
  function start() {
    if (made.length < 2) return;
    byId("tabs").hidden = false;
    addEventListener("hashchange", () => show(fromAddress()));
    show(fromAddress());
  }

  return {add, start};
})();

if (page.profile || page.data.precision) page.tabs.add("timeline", "Timeline");
