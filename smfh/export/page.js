// The page: what is asked stands in the address behind #, and all texts are set as text.
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
    found = state.item === null ? hasher.ask(words, state.flips) : hasher.askItem(state.item, state.flips);
    const strange = state.item === null ? hasher.unknown(words) : [];
    of("notes").textContent = strange.length ? `Not known from training: ${strange.join(", ")}.` : "";
    of("code").hidden = !found;
    of("wall").replaceChildren();
    if (!found) {
      of("summary").textContent = hasher.words(words).length ? "None of these words is known from training, so they tell nothing; try other or simpler words." : "Type a word, of letters or digits.";
      return;
    }
    of("asked").textContent = state.item === null ? `“${words}” as ${content.bits} bits` : `“${content.captions[state.item]}”, by its code`;
    of("undo").hidden = !state.flips.length;
    drawBits();
    const near = found.distances[0], several = found.same > 1;
    const what = near ? `lie${several ? "" : "s"} ${inBits(near)} away; nothing is nearer` : `ha${several ? "ve" : "s"} this code`;
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
    of("distance").textContent = distance ? `${inBits(distance)} from what is asked` : "the same code as what is asked";
    of("strips").replaceChildren(strip(found.code, code), strip(code, found.code));
    of("spoken").textContent = tokens.length ? "The query's code above its own. Words of its text, to ask with:" : "The query's code above its own.";
    of("tokens").replaceChildren(...tokens.map((token) => {
      const button = make("button", token);
      button.type = "button";
      button.addEventListener("click", () => go({ words: token }));
      return button;
    }));
    of("alike").onclick = () => go({ item });
    of("item").showModal();
  }

  function go(asked) {
    Object.assign(state, { words: null, item: null, flips: [] }, asked);
    of("words").value = state.words ?? "";
    of("item").close();
    history.replaceState(null, "", `#${encodeURIComponent(state.words ?? "")}`);
    draw();
  }

  function fromAddress() {
    let words = "";
    try { words = decodeURIComponent(location.hash.slice(1)); } catch { /* no words of ours */ }
    go({ words: Array.from(words).slice(0, 500).join("") || content.example });  // characters, not halves of them
  }

  let typed = 0;
  of("words").addEventListener("input", () => {
    clearTimeout(typed);
    typed = setTimeout(() => go({ words: of("words").value }), 60);
  });
  of("surprise").addEventListener("click", () => {
    const item = Math.floor(Math.random() * content.items), caption = content.captions[item];
    go({ words: hasher.ask(caption) ? caption : hasher.tokensOf(item, 2).join(" ") });
  });
  of("undo").addEventListener("click", () => { state.flips = []; draw(); });
  of("close").addEventListener("click", () => of("item").close());
  of("item").addEventListener("click", (event) => { if (event.target === of("item")) of("item").close(); });
  addEventListener("hashchange", fromAddress);
  of("about").textContent = content.about;
  for (const part of ["ties", "database", "terms"]) of(part).textContent = content[part];
  of("words").disabled = of("surprise").disabled = false;
  fromAddress();
}

async function begin() {
  if (typeof DecompressionStream === "undefined") throw new Error("This page needs a browser of 2023 or newer.");
  const content = await unpack(of("content").textContent);
  const hasher = makeHasher(content);
  globalThis.smfh = { content, ...hasher };  // to be asked from the console, and by tests
  makePage(content, hasher);
}

begin().catch((error) => { of("summary").textContent = `It cannot be opened: ${error.message}`; });
