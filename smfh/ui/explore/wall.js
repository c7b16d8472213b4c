// The query's code, whose bits can be flipped, and the wall of results, which are searched with by a click.
// Elements are reused, so that pictures do not flicker and the focus stays. Texts are set as text, never markup.
// Pictures are decoded first, and then change together with their captions.
export default async function ({ data, parentElement, setTriggerValue }) {
  const wall = (parentElement.smfhWall ??= begin(parentElement.querySelector(".smfh_wall")))
  wall.newest = data
  const images = await Promise.all(data.items.map(async ({ picture }) => {
    const image = Object.assign(new Image(), { src: picture })
    await image.decode().catch(() => {})
    return image
  }))
  if (wall.newest !== data) return
  Object.assign(wall, { data, images, flips: [...data.flips], send: setTriggerValue })
  wall.draw()
}

const make = (name, look, ...parts) => {
  const element = Object.assign(document.createElement(name), { className: look })
  element.append(...parts)
  return element
}

const resize = (list, length, add) => {
  while (list.children.length > length) list.lastChild.remove()
  while (list.children.length < length) list.append(add(list.children.length))
}

function begin(root) {
  const [picture, asked, compared, undo, bits, cards] = ["picture", "asked", "compared", "undo", "bits", "cards"]
    .map((name) => root.querySelector(`.${name}`))
  const wall = { shown: 0 }  // the result whose code is below that of the query

  const flip = (bit) => {
    const { flips } = wall, without = flips.filter((other) => other !== bit)
    wall.flips = without.length < flips.length ? without : [...flips, bit].sort((a, b) => a - b)
    wall.send("flips", wall.flips)
    drawCode()
  }
  const addBit = (bit) => {
    const button = make("button", "", make("i", ""))
    button.onclick = () => flip(bit)
    button.onfocus = () => {  // one stop for the keyboard, arrows move between bits
      for (const each of bits.children) each.tabIndex = each === button ? 0 : -1
    }
    button.tabIndex = bit ? -1 : 0
    return button
  }
  bits.onkeydown = (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
    if (!step) return
    event.preventDefault()
    bits.children[[...bits.children].indexOf(document.activeElement) + step]?.focus()
  }
  undo.onclick = () => {
    wall.flips = []
    wall.send("flips", [])
    drawCode()
  }

  const addCard = (place) => {
    const button = make("button", "", make("img", ""), make("span", "caption"))
    button.onclick = () => wall.send("picked", wall.data.items[place].row)
    button.onpointerenter = button.onfocus = () => show(place)
    button.onpointerleave = button.onblur = () => show(0)
    return make("li", "", make("span", "group"), button)
  }
  const show = (place) => {
    wall.shown = place
    drawCode()
  }

  const drawCode = () => {
    const { data, flips } = wall, item = data.items[wall.shown] ?? data.items[0]
    const code = [...data.code].map((bit, k) => (flips.includes(k) !== data.flips.includes(k) ? 1 - bit : +bit))
    resize(bits, code.length, addBit)
    bits.style.setProperty("--wide", Math.min(code.length, 64))
    bits.style.setProperty("--narrow", Math.min(code.length, 32))
    let differing = 0
    code.forEach((on, k) => {
      const button = bits.children[k], other = Number(item.code[k])
      differing += on !== other
      const weight = data.weights ? `, weight ${data.weights[k].toFixed(2)}` : ""
      button.setAttribute("aria-pressed", on === 1)
      button.setAttribute("aria-label", `bit ${k}`)
      button.title = `bit ${k}: ${on}${weight}; click to flip`
      button.className = flips.includes(k) ? "flipped" : ""
      button.firstChild.className = `${other ? "on" : ""} ${on === other ? "" : "differs"}`
    })
    const bitsDiffer = `${differing} of ${code.length} bits ${differing === 1 ? "differs" : "differ"}`
    compared.textContent = [`↕ ${item.name}`, differing ? bitsDiffer : "identical codes", item.labels]
      .filter(Boolean).join(" · ")
    undo.hidden = !flips.length
    undo.textContent = flips.length === 1 ? "Undo 1 flip" : `Undo ${flips.length} flips`
  }

  wall.draw = () => {
    const { data, images } = wall
    picture.hidden = !data.picture
    picture.style.backgroundImage = data.picture ? `url("${data.picture}")` : ""
    asked.textContent = data.asked
    resize(cards, data.items.length, addCard)
    data.items.forEach((item, place) => {
      const card = cards.children[place], [button, before] = [card.lastChild, data.items[place - 1]]
      const starts = item.group !== before?.group, isSecond = !starts && before.group !== data.items[place - 2]?.group
      const isTied = !starts || item.group === data.items[place + 1]?.group
      card.className = `${starts ? "starts" : ""} ${isTied ? "tied" : ""}`
      card.firstChild.textContent = starts ? item.label : isSecond ? data.order : ""
      button.title = [item.name, item.labels, item.label, item.relevant ? "" : "not relevant", "click to search with it"]
        .filter(Boolean).join(" · ")
      const [image, caption] = button.children
      images[place].alt = item.name
      if (image.src === item.picture) image.alt = item.name
      else image.replaceWith(images[place])
      caption.textContent = `${item.relevant ? "" : "✗ "}${item.caption}`
      caption.setAttribute("aria-hidden", true)  // the picture has the same name
    })
    if (!cards.contains(document.activeElement) && !cards.matches(":hover")) wall.shown = 0
    drawCode()
  }
  return wall
}
