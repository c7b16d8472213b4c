// The search page. The words of the query are in the address after #; captions are inserted as text, not as HTML.
const of = (id) => document.getElementById(id);
const make = (name, text = "", look = "") => Object.assign(document.createElement(name), { textContent: text, className: look });
const inBits = (distance) => (distance ? `${Number.isInteger(distance) ? distance : distance.toFixed(2)} ${distance === 1 ? "bit" : "bits"}` : "same code");

function makePage(content, hasher) {
  const state = { words: content.example, item: null, flips: [] };
  const looks = new Map();
  let found = null;

  function look(item) {
    if (!looks.has(item)) {
      const { thumbnails, thumbnail_starts: starts } = content.arrays;
      const file = thumbnails.subarray(starts[item], starts[item + 1]);
      looks.set(item, URL.createObjectURL(new Blob([file], { type: content.types[item] })));
    }
    return looks.get(item);
  }

  function card(item, distance) {
    const button = make("button"), picture = make("img");
    button.type = "button";
    button.title = content.captions[item];
    if (content.types) Object.assign(picture, { src: look(item), alt: "" });
    button.append(...(content.types ? [picture] : []), make("span", content.captions[item]), make("span", inBits(distance), "away"));
    button.addEventListener("click", () => open(item, distance));
    return button;
  }

  function drawBits() {
    of("bits").replaceChildren(...found.code.map((on, k) => {
      const bit = make("button", "", state.flips.includes(k) ? "flipped" : "");
      bit.type = "button";
      bit.setAttribute("role", "switch");
      bit.setAttribute("aria-checked", String(on));
      bit.title = found.weights ? `bit ${k}, weight ${found.weights[k].toFixed(2)}` : `bit ${k}`;
      bit.setAttribute("aria-label", `bit ${k}`);
      bit.addEventListener("click", () => {
        state.flips = state.flips.includes(k) ? state.flips.filter((other) => other !== k) : [...state.flips, k];
        draw();
        of("bits").children[k].focus();
      });
      return bit;
    }));
  }

  function draw() {
    const words = state.words ?? "";
    found = state.item === null ? hasher.search(words, state.flips) : hasher.searchItem(state.item, state.flips);
    const unknown = state.item === null ? hasher.unknown(words) : [];
    of("notes").textContent = unknown.length ? `Not in the training data: ${unknown.join(", ")}.` : "";
    of("code").hidden = !found;
    of("wall").replaceChildren();
    if (!found) {
      of("summary").textContent = hasher.words(words).length ? "None of these words occurs in the training data. Try other or simpler words." : "Type at least one word of letters or digits.";
      return;
    }
    of("query").textContent = state.item === null ? `“${words}” as ${content.bits} bits` : `Code of “${content.captions[state.item]}”`;
    of("undo").hidden = !state.flips.length;
    drawBits();
    const near = found.distances[0], several = found.same > 1;
    const what = near ? `${several ? "are" : "is"} nearest, ${inBits(near)} away` : `${several ? "have" : "has"} this code`;
    of("summary").textContent = `${found.same.toLocaleString("en")} of ${content.items.toLocaleString("en")} items ${what}.`;
    of("wall").replaceChildren(...found.items.map((item, place) => card(item, found.distances[place])));
  }

  function strip(code, other) {
    const line = make("div", "", "strip");
    line.append(...code.map((on, k) => make("i", "", `${on ? "on" : ""} ${on === other[k] ? "" : "differ"}`.trim())));
    return line;
  }

  function open(item, distance) {
    const code = hasher.codeOf(item), tokens = hasher.tokensOf(item);
    of("caption").textContent = content.captions[item];
    of("picture").hidden = !content.types;
    if (content.types) of("picture").src = look(item);
    of("labels").textContent = content.labels[item];
    of("distance").textContent = distance ? `${inBits(distance)} away from the query` : "same code as the query";
    of("strips").replaceChildren(strip(found.code, code), strip(code, found.code));
    of("explanation").textContent = `Above: code of the query. Below: code of this item.${tokens.length ? " Search with a word of its text:" : ""}`;
    of("tokens").replaceChildren(...tokens.map((token) => {
      const button = make("button", token);
      button.type = "button";
      button.addEventListener("click", () => go({ words: token }));
      return button;
    }));
    of("similar").onclick = () => go({ item });
    of("item").showModal();
  }

  function go(query) {
    Object.assign(state, { words: null, item: null, flips: [] }, query);
    of("words").value = state.words ?? "";
    of("item").close();
    history.replaceState(null, "", `#${encodeURIComponent(state.words ?? "")}`);
    draw();
  }

  function fromAddress() {
    let words = "";
    try { words = decodeURIComponent(location.hash.slice(1)); } catch { /* not an address of this page */ }
    go({ words: Array.from(words).slice(0, 500).join("") || content.example });  // whole characters, not halves of surrogate pairs
  }

  let typed = 0;
  of("words").addEventListener("input", () => {
    clearTimeout(typed);
    typed = setTimeout(() => go({ words: of("words").value }), 60);
  });
  of("random").addEventListener("click", () => {
    const item = Math.floor(Math.random() * content.items), caption = content.captions[item];
    go({ words: hasher.search(caption) ? caption : hasher.tokensOf(item, 2).join(" ") });
  });
  of("undo").addEventListener("click", () => { state.flips = []; draw(); });
  of("close").addEventListener("click", () => of("item").close());
  of("item").addEventListener("click", (event) => { if (event.target === of("item")) of("item").close(); });
  addEventListener("hashchange", fromAddress);
  of("about").textContent = content.about;
  for (const part of ["ties", "database", "terms"]) of(part).textContent = content[part];
  of("words").disabled = of("random").disabled = false;
  fromAddress();
}

async function begin() {
  if (typeof DecompressionStream === "undefined") throw new Error("This page needs a browser from 2023 or later.");
  const content = await unpack(of("content").textContent);
  const hasher = makeHasher(content);
  globalThis.smfh = { content, ...hasher };  // for the console and for tests
  makePage(content, hasher);
}

begin().catch((error) => { of("summary").textContent = `This page cannot be opened: ${error.message}`; });
