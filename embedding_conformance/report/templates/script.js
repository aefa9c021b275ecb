(function () {
  "use strict";
  var root = document.documentElement;
  var all = function (query, within) { return Array.prototype.slice.call((within || document).querySelectorAll(query)); };
  root.classList.add("js");
  if (((navigator.languages && navigator.languages[0]) || navigator.language || "").toLowerCase().indexOf("zh") === 0) {
    root.classList.add("zh");
  }
  var controls = document.getElementById("controls");
  if (!controls) { return; }
  var search = document.getElementById("search"), chapter = document.getElementById("chapter");
  var status = document.getElementById("status"), buttons = all("button[data-v]", controls);
  var expand = document.getElementById("expand");
  var cards = all("details.card"), groups = all("section.chapter"), texts = null;
  controls.hidden = false;

  function pressed() {
    return buttons.filter(function (one) { return one.getAttribute("aria-pressed") === "true"; })
      .map(function (one) { return one.dataset.v; });
  }
  function apply() {
    var words = search.value.toLowerCase().split(/\s+/).filter(Boolean), chosen = pressed(), shown = 0;
    if (words.length && !texts) { texts = cards.map(function (card) { return card.textContent.toLowerCase(); }); }
    cards.forEach(function (card, index) {
      var fits = (!chosen.length || chosen.indexOf(card.dataset.v) >= 0) && (!chapter.value || card.parentNode.dataset.c === chapter.value)
        && words.every(function (word) { return texts[index].indexOf(word) >= 0; });
      if (card.hidden === fits) { card.hidden = !fits; }
      shown += fits ? 1 : 0;
    });
    groups.forEach(function (group) { group.hidden = !group.querySelector("details.card:not([hidden])"); });
    status.textContent = shown === cards.length ? cards.length + " claims" : shown + " of " + cards.length + " claims";
  }
  function remember() {
    var kept = new URLSearchParams();
    if (search.value) { kept.set("q", search.value); }
    if (pressed().length) { kept.set("v", pressed().join(",")); }
    if (chapter.value) { kept.set("c", chapter.value); }
    var text = kept.toString();
    history.replaceState(null, "", text ? "#?" + text : location.pathname + location.search);
    apply();
  }
  function recall() {
    var hash = location.hash;
    if (hash.indexOf("#?") === 0) {
      var kept = new URLSearchParams(hash.slice(2)), words = (kept.get("v") || "").split(",");
      search.value = kept.get("q") || "";
      chapter.value = kept.get("c") || "";
      buttons.forEach(function (one) { one.setAttribute("aria-pressed", String(words.indexOf(one.dataset.v) >= 0)); });
      apply();
      document.getElementById("claims").scrollIntoView();
      return;
    }
    apply();
    var target = hash.length > 1 && document.getElementById(decodeURIComponent(hash.slice(1)));
    if (!target) { return; }
    if (target.hidden) {
      search.value = chapter.value = "";
      buttons.forEach(function (one) { one.setAttribute("aria-pressed", "false"); });
      apply();
    }
    for (var one = target; one; one = one.parentElement) { if (one.tagName === "DETAILS") { one.open = true; } }
    target.scrollIntoView();
    var summary = target.querySelector("summary");
    if (summary) { summary.focus({ preventScroll: true }); }
  }
  search.addEventListener("input", remember);
  chapter.addEventListener("change", remember);
  buttons.forEach(function (one) {
    one.addEventListener("click", function () {
      one.setAttribute("aria-pressed", String(one.getAttribute("aria-pressed") !== "true"));
      remember();
    });
  });
  expand.addEventListener("click", function () {
    var open = expand.textContent.indexOf("Open") === 0;
    cards.forEach(function (card) { if (!card.hidden) { card.open = open; } });
    expand.textContent = open ? "Close all shown" : "Open all shown";
  });
  window.addEventListener("hashchange", recall);
  recall();
}());
