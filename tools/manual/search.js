/* search.js -- the field above the contents: names and sentences of the reference, headings of the pages. No network. */
(function () {
    var field = document.getElementById("search"), list = document.getElementById("found");
    var wide = window.matchMedia("(min-width: 52.01rem)"), contents = document.getElementById("contents");

    function fit() { contents.open = wide.matches; }
    function score(entry, words) {
        var name = entry[0].toLowerCase(), all = name + " " + entry[2].toLowerCase(), sum = 0;
        for (var i = 0; i < words.length; i++) {
            if (all.indexOf(words[i]) < 0) continue;
            sum += 2 + name === words[i] ? 8 : name.indexOf(words[i]) >= 0 ? 4 : 1;
        }
        return sum / (1 + name.length / 100);
    }
    function show() {
        var words = field.value.toLowerCase().split(/[\s()]+/).filter(Boolean), hits = [];
        list.textContent = "";
        if (!words.length) return;
        RELN_INDEX.forEach(function (entry) { var s = score(entry, words); if (s > 0) hits.push([s, entry]); });
        hits.sort(function (a, b) { return b[0] - a[0]; });
        hits.slice(0, 12).forEach(function (hit) {
            var item = document.createElement("li"), link = document.createElement("a"), text = document.createElement("small");
            link.href = hit[1][1];
            link.textContent = hit[1][0];
            text.textContent = hit[1][2];
            item.appendChild(link);
            item.appendChild(text);
            list.appendChild(item);
        });
        if (!hits.length) list.textContent = "nothing found";
    }
    field.addEventListener("input", show);
    fit();
    wide.addEventListener("change", fit);
})();
