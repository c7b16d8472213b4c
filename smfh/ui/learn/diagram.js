// The diagram of the method as SVG. Names are set as text, never as markup; numbers are those of the core.
const NARROW = 640, STEP_MILLISECONDS = 600  // pixels; time per step while playing
const VIOLET = "99, 81, 212", ORANGE = "215, 127, 13"
const STYLE = `
  text { font: 12px sans-serif; fill: var(--st-text-color, #222); }
  .title { font-weight: 600; font-size: 12.5px; }
  .heading { font-size: 14px; fill: #6351D4; }
  .small { font-size: 10.5px; }
  .digit { font-size: 10px; text-anchor: middle; pointer-events: none; }
  .frame { fill: transparent; stroke: var(--st-border-color, #bbb); rx: 5px; }
  .box { cursor: pointer; outline: none; }
  .box:hover .frame, .box:focus-visible .frame, .box.selected .frame { stroke: #6351D4; stroke-width: 2.5; }
  .box.computes .frame { stroke: #D77F0D; stroke-width: 2.5; }
  .arrow { fill: none; stroke: var(--st-border-color, #bbb); stroke-width: 1.5; }
  .arrow.flows { stroke: #D77F0D; stroke-width: 2.5; stroke-dasharray: 6 5; }
  .line { stroke: var(--st-border-color, #bbb); stroke-width: 1.2; }
  .line.relevant { stroke: #6351D4; }
  rect.cell { transition: fill .3s; }
  @media (prefers-reduced-motion: no-preference) {
    .playing .arrow.flows { animation: flow .6s linear infinite; } }
  @keyframes flow { to { stroke-dashoffset: -22; } }`

const make = (kind, attributes = {}, ...children) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", kind)
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value)
  element.append(...children)
  return element
}
const write = (text, x, y, kind = "") => make("text", { x, y, class: kind }, text)
const shorten = (text, length) => (text.length > length ? `${text.slice(0, length - 1)}…` : text)

export default function ({ data, parentElement, setStateValue, setTriggerValue }) {
  const root = parentElement.querySelector(".diagram")
  const state = (root.smfh ??= begin(root))
  const isNew = JSON.stringify(state.data?.frames) !== JSON.stringify(data.frames)
  if (!state.timer && (isNew || state.data?.stage !== data.stage)) state.stage = data.stage
  state.stage = Math.min(state.stage, data.frames.length - 1)
  Object.assign(state, { data, report: (stage) => setStateValue("stage", stage) })
  state.open = (box) => {
    setTriggerValue("box", box)
    const page = root.ownerDocument
    const look = (tries) => setTimeout(() => {  // the page draws the open box below the diagram
      const open = page.querySelector(".st-key-learn_box")
      if (open) open.scrollIntoView({ block: "nearest", behavior: "smooth" })
      else if (tries) look(tries - 1)
    }, 150)
    look(20)
  }
  state.build()
}

function begin(root) {
  const state = { stage: 0, timer: null, drawn: {} }
  const part = (name) => root.querySelector(`.${name}`)
  const [slider, play] = [part("stage"), part("play")]

  state.build = () => {
    const { data } = state, focused = root.getRootNode().activeElement?.dataset?.box
    const isNarrow = root.clientWidth < NARROW, { places, width, height } = layout(data, isNarrow)
    const svg = make("svg", { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": data.label })
    Object.assign(state, { svg, drawn: {}, isNarrow })
    svg.append(make("style", {}, STYLE), make("defs", {}, arrowHead()))
    const around = (name) => hull(Object.entries(places).filter(([id]) => id.split(":")[0] === name))
    const isRow = ([from, to]) => !isNarrow || (from !== "function" && around(from).y === around(to).y && from !== "labels")
    state.arrows = data.arrows.filter(isRow).map(([from, to]) => {
      const isQuery = to === "query" && from === "function"  // only the function of its modality encodes it
      const start = isQuery ? places[`function:${data.source}`] : around(from)
      const path = make("path", { d: curve(start, around(to), isQuery || from === "labels"), class: "arrow" })
      path.setAttribute("marker-end", "url(#head)")
      svg.append(path)
      return { path, from, to }
    })
    for (const [name, text] of Object.entries(data.headings))
      if (!isNarrow) svg.append(write(text, Math.max(around(name).x - 4, 0), 18, "heading"))
      else if (name === "basis" || name === "relaxed") svg.append(write(text, 0, around(name).y - 30, "heading"))
    drawItems(svg, data, places)
    for (const box of data.boxes) svg.append(drawBox(state, box, places[box.id]))
    part("drawing").replaceChildren(svg)
    slider.max = data.frames.length - 1
    for (const frame of data.frames.slice(0, state.stage + 1)) fill(state, frame.values)
    show()
    if (focused) svg.querySelector(`[data-box="${CSS.escape(focused)}"]`)?.focus()
  }
  const show = () => {  // title, arrows and sampled items of the current frame
    const { data, svg, arrows, stage } = state, frame = data.frames[stage]
    const isPart = (box, names) => names.includes(box.split(":")[0])
    slider.value = stage
    slider.setAttribute("aria-valuetext", frame.title)
    part("now").textContent = frame.title
    for (const { path, from, to } of arrows)
      path.classList.toggle("flows", frame.uses.includes(from) && frame.computes.includes(to))
    for (const box of svg.querySelectorAll(".box"))
      box.classList.toggle("computes", isPart(box.dataset.box, frame.computes))
    svg.querySelectorAll(".sampled").forEach((bar, i) => {
      bar.setAttribute("visibility", frame.sampled.includes(i) ? "visible" : "hidden")
    })
    svg.classList.toggle("playing", Boolean(state.timer))
    play.textContent = state.timer ? "Pause" : "Play"
  }
  const move = (stage) => {
    const last = state.data.frames.length - 1, to = Math.min(Math.max(stage, 0), last)
    const from = to > state.stage ? state.stage + 1 : 0
    for (const frame of state.data.frames.slice(from, to + 1)) fill(state, frame.values)
    state.stage = to
    show()
  }
  const pause = () => {
    clearInterval(state.timer)
    state.timer = null
    state.report(state.stage)
    show()
  }
  play.onclick = () => {
    if (state.timer) return pause()
    const last = () => state.data.frames.length - 1
    if (state.stage >= last()) move(0)
    state.timer = setInterval(() => {
      if (!root.isConnected) return clearInterval(state.timer)
      move(state.stage + 1)
      if (state.stage >= last()) pause()
    }, STEP_MILLISECONDS)
    show()
  }
  slider.oninput = () => move(Number(slider.value))
  slider.onchange = pause
  part("back").onclick = () => { move(state.stage - 1); pause() }
  part("forward").onclick = () => { move(state.stage + 1); pause() }
  part("save").onclick = () => {
    const text = new XMLSerializer().serializeToString(state.svg)
    const link = document.createElement("a")
    link.href = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }))
    link.download = `smfh-step-${state.stage}.svg`
    link.click()
    URL.revokeObjectURL(link.href)
  }
  new ResizeObserver(() => {
    if (state.data && state.isNarrow !== root.clientWidth < NARROW) state.build()
  }).observe(root)
  return state
}

function layout(data, isNarrow) {  // where each box is: left, top, and the size of a cell
  const items = data.items.length, { bits, classes } = data, places = {}
  const put = (id, x, y, columns, rows, across, down) => {
    if (data.boxes.some((box) => box.id === id) || id === "items:")
      places[id] = { x, y, across, down, width: columns * across, height: rows * down }
  }
  const row = isNarrow ? 22 : 26, top = isNarrow ? 40 : 64, below = top + items * row
  const [first, second] = data.modalities, features = (name) => data.boxes.find(({ id }) => id === `features:${name}`).columns.length
  const wide = 13 * bits
  put("items:", 0, top, 1, items, isNarrow ? 92 : 132, row)
  if (isNarrow) {
    const middle = below + 66, low = middle + 118, search = low + 148, code = 22 + 11 * bits
    put("labels:", 96, top, classes.length, items, 50 / classes.length, row)
    put(`features:${first}`, 156, top, features(first), items, 100 / features(first), row)
    put(`features:${second}`, 270, top, features(second), items, 100 / features(second), row)
    data.modalities.forEach((name, k) => {
      put(`basis:${name}`, 8 + 124 * k, middle, bits, features(name), 13, 13)
      put(`function:${name}`, 8 + 124 * k, low, bits, features(name), 13, 13)
    })
    put("graph:", 262, middle, items, items, 108 / items, 108 / items)
    put("relaxed:", 4, search, bits, items, 11, row)
    put("code:", code, search, bits, items, 11, row)
    put("query:", code, search + items * row + 34, bits, 1, 11, 18)
    put("distances:", code + 11 * bits + 14, search, 1, items, 22, row)
    put("results:", 284, search, 1, items, 90, row)
    return { places, width: 380, height: search + items * row + 80 }
  }
  const low = Math.max(below - 14, top + 268), relaxed = 730, code = relaxed + 15 * bits + 34
  const distances = code + 14 * bits + 34, results = distances + 90
  put("labels:", 140, top, classes.length, items, 60 / classes.length, row)
  put(`features:${first}`, 218, top, features(first), items, 90 / features(first), row)
  put(`features:${second}`, 322, top, features(second), items, 90 / features(second), row)
  data.modalities.forEach((name, k) => {
    put(`basis:${name}`, 560 + (k ? 12 : -wide - 12), top, bits, features(name), 13, 13)
    put(`function:${name}`, 560 + (k ? 12 : -wide - 12), low, bits, features(name), 13, 13)
  })
  put("graph:", 506, top + 122, items, items, 108 / items, 108 / items)
  put("relaxed:", relaxed, top, bits, items, 15, row)
  put("code:", code, top, bits, items, 14, row)
  put("query:", code, Math.max(below + 40, low + 28), bits, 1, 14, 20)
  put("distances:", distances, top, 1, items, 24, row)
  put("results:", results, top, 1, items, 130, row)
  return { places, width: results + 136, height: low + 6 * 13 + 44 }
}

function hull(named) {  // the rectangle around these boxes
  const boxes = named.map(([, box]) => box), least = (of) => Math.min(...boxes.map(of))
  const x = least((box) => box.x), y = least((box) => box.y)
  const right = -least((box) => -box.x - box.width), bottom = -least((box) => -box.y - box.height)
  return { x, y, width: right - x, height: bottom - y }
}

function curve(from, to, isBelow) {  // from the nearest side of one box to that of another
  const middle = (box) => [box.x + box.width / 2, box.y + box.height / 2]
  const [x, y] = middle(from), [u, v] = middle(to)
  if (isBelow && to.x > from.x + from.width && to.y < from.y + from.height) {  // past the boxes between
    const start = from.y + from.height + 4
    return `M${x} ${start} C${x} ${start + 40} ${to.x - 90} ${start + 30} ${to.x - 50} ${v + 40} S${to.x - 30} ${v} ${to.x - 8} ${v}`
  }
  if (to.x >= from.x + from.width) {
    const [start, end] = [from.x + from.width + 4, to.x - 8], bend = (end - start) / 2
    return `M${start} ${y} C${start + bend} ${y} ${end - bend} ${v} ${end} ${v}`
  }
  if (from.x >= to.x + to.width && Math.abs(v - y) < from.height) {
    const [start, end] = [from.x - 4, to.x + to.width + 8], bend = (end - start) / 2
    return `M${start} ${y + 12} C${start + bend} ${y + 12} ${end - bend} ${v} ${end} ${v}`
  }
  const isDown = v > y, start = isDown ? from.y + from.height + 4 : from.y - 20
  const end = isDown ? to.y - 22 : to.y + to.height + 8, bend = (end - start) / 2
  return `M${x} ${start} C${x} ${start + bend} ${u} ${end - bend} ${u} ${end}`
}

const arrowHead = () => make(
  "marker", { id: "head", viewBox: "0 0 8 8", refX: 6, refY: 4, markerWidth: 5, markerHeight: 5, orient: "auto" },
  make("path", { d: "M0 0L8 4L0 8z", fill: "#999" }),
)

function drawItems(svg, data, places) {
  const { x, y, down, width } = places["items:"], side = down - 4
  svg.append(write(width > 100 ? "Pictures, words" : "Items", x, y - 10, "title"))
  data.items.forEach(({ name, picture }, i) => {
    const above = y + i * down
    svg.append(
      make("rect", { x, y: above + 2, width: 3, height: side, fill: `rgb(${ORANGE})`, class: "sampled" }),
      make("image", { href: picture, x: x + 6, y: above + 2, width: side, height: side }),
      write(shorten(name, width > 100 ? 16 : 10), x + side + 10, above + down / 2 + 4, width > 100 ? "" : "small"),
    )
  })
}

function drawBox(state, box, place) {
  const { x, y, across, down, width, height } = place, { data } = state
  const label = `${box.title}: ${box.meaning}. Open its numbers, equation and code.`
  const group = make("g", { class: "box", tabindex: 0, role: "button", "aria-label": label, "data-box": box.id })
  group.classList.toggle("selected", box.id === data.selected)
  const title = write(box.title, x, y - 10, "title")
  group.append(make("title", {}, box.meaning), title)
  group.append(make("rect", { x: x - 4, y: y - 4, width: width + 8, height: height + 8, class: "frame" }))
  const cells = box.id === "results:" ? [] : box.rows.map((row, i) => box.columns.map((column, k) => {
    const size = { width: Math.max(across - 1, 1), height: Math.max(down - (down > 16 ? 4 : 1), 1) }
    const cell = make("rect", { x: x + k * across, y: y + i * down + (down > 16 ? 2 : 0), ...size, class: "cell" })
    cell.dataset.cell = `${box.id}:${i}:${k}`
    const hint = make("title"), digit = write("", x + (k + 0.5) * across, y + (i + 0.5) * down + 3, "digit")
    cell.append(hint)
    group.append(cell)
    if (["code:", "query:", "distances:"].includes(box.id)) group.append(digit)
    return { cell, hint, digit, name: `${row}, ${column}` }
  }))
  if (box.id === "query:") group.append(write(data.query_text, x, y + height + 18, "small"))
  state.drawn[box.id] = { cells, group, place }
  group.onclick = () => state.open(box.id)
  group.onkeydown = (event) => {
    if (event.key !== "Enter" && event.key !== " ") return
    event.preventDefault()
    state.open(box.id)
  }
  return group
}

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length

function fill(state, values) {  // write these numbers into the boxes
  for (const [box, rows] of Object.entries(values)) {
    const { cells, group, place } = state.drawn[box]
    if (box === "results:") {
      drawResults(state, rows, group, place)
      continue
    }
    const middle = rows[0].map((_, k) => (box === "relaxed:" ? mean(rows.map((line) => line[k])) : 0))
    const largest = Math.max(...rows.flatMap((line) => line.map((value, k) => Math.abs(value - middle[k])))) || 1
    rows.forEach((line, i) => line.forEach((value, k) => {
      const { cell, hint, digit, name } = cells[i][k], share = (value - middle[k]) / largest
      const colour = `rgba(${share < 0 ? ORANGE : VIOLET}, ${0.06 + 0.7 * Math.abs(share)})`
      cell.setAttribute("fill", box === "distances:" ? "transparent" : colour)
      cell.dataset.value = String(value)
      hint.textContent = `${name}: ${value}`
      digit.textContent = String(value)
    }))
  }
}

function drawResults(state, order, group, { x, y, down, width }) {
  const { data, drawn } = state, from = drawn["distances:"]?.place
  group.querySelectorAll(".result").forEach((each) => each.remove())
  order.forEach((item, rank) => {
    const { name, picture, relevant } = data.items[item], side = down - 4, above = y + rank * down
    const result = make("g", { class: "result", "data-item": item })
    if (from) {
      const ends = { x1: from.x + from.width + 5, y1: from.y + (item + 0.5) * down, x2: x - 5, y2: above + down / 2 }
      result.append(make("line", { ...ends, class: relevant ? "line relevant" : "line" }))
    }
    const text = `${relevant ? "" : "✗ "}${shorten(name, width > 100 ? 15 : 8)}`
    result.append(
      make("image", { href: picture, x, y: above + 2, width: side, height: side, opacity: relevant ? 1 : 0.4 }),
      write(text, x + side + 4, above + down / 2 + 4, width > 100 ? "" : "small"),
    )
    group.append(result)
  })
}
