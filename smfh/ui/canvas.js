// Map of codes on a canvas: move, zoom and brush. Captions are set as text, never as markup.
const NEAR = 14, PICTURE = 26, MAX_PICTURE = 44  // pixels

export default function ({ data, parentElement, setStateValue }) {
  const canvas = parentElement.querySelector("canvas")
  const state = (canvas.smfh ??= begin(parentElement, canvas))
  if (state.map !== data.map) Object.assign(state, { map: data.map, chosen: new Set(), ...WHOLE })
  Object.assign(state, { data, report: (rows) => setStateValue("rows", rows) })
  canvas.setAttribute("aria-label", data.description)
  state.draw()
}

const WHOLE = { zoom: 1, x: 0, y: 0 }

function begin(root, canvas) {
  const state = { mode: "brush", chosen: new Set(), ...WHOLE, data: { x: [], y: [] } }
  const pen = canvas.getContext("2d")
  const tip = root.querySelector(".tip")
  const ends = (values) => [Math.min(...values), Math.max(...values)]
  const frame = () => {
    const { x, y } = state.data, [left, right] = ends(x), [low, high] = ends(y)
    const wide = canvas.clientWidth, tall = canvas.clientHeight
    const scale = 0.9 * Math.min(wide / (right - left || 1), tall / (high - low || 1)) * state.zoom
    const across = (v) => wide / 2 + (v - (left + right) / 2) * scale + state.x
    const down = (v) => tall / 2 - (v - (low + high) / 2) * scale + state.y
    return { wide, tall, across, down }
  }
  state.draw = () => {
    const { data, chosen } = state, sheet = window.smfhSheet, dots = window.devicePixelRatio || 1
    const { wide, tall, across, down } = frame()
    if (!data.x.length || !wide) return
    canvas.width = wide * dots
    canvas.height = tall * dots
    pen.setTransform(dots, 0, 0, dots, 0, 0)
    const size = Math.min(MAX_PICTURE, PICTURE * state.zoom ** 0.3)
    const disc = (x, y, radius, fill, line) => {
      pen.beginPath()
      pen.arc(x, y, radius, 0, 2 * Math.PI)
      Object.assign(pen, { fillStyle: fill, strokeStyle: line, lineWidth: 1.5 })
      pen.fill()
      if (line) pen.stroke()
    }
    const results = new Set(data.results)
    const cell = (v) => Math.floor(v / (1.3 * size)), taken = new Map()  // pictures by grid cell
    const overlaps = (x, y, side) => {
      for (const i of [-1, 0, 1])
        for (const j of [-1, 0, 1])
          for (const [u, v, other] of taken.get(`${cell(x) + i} ${cell(y) + j}`) ?? [])
            if (Math.max(Math.abs(u - x), Math.abs(v - y)) < (side + other) / 2) return true
      return false
    }
    const rank = (k) => (results.has(k) ? 0 : chosen.has(k) ? 1 : 2)  // drawn first, so that it is not covered
    const points = data.x.map((v, k) => ({ k, x: across(v), y: down(data.y[k]), rank: rank(k) }))
    points.sort((a, b) => a.rank - b.rank)
    for (const point of points) {
      const { x, y } = point, side = point.rank ? size : 1.3 * size
      if (!sheet || overlaps(x, y, side)) continue
      const key = `${cell(x)} ${cell(y)}`
      taken.set(key, [...(taken.get(key) ?? []), [x, y, side]])
      point.side = side
    }
    for (const { k, x, y, side, rank } of points.reverse()) {
      pen.globalAlpha = chosen.size && rank === 2 ? 0.2 : 1
      if (!rank) disc(x, y, side ? side / 2 : 4, "#fff", "#000")
      else if (!side && !overlaps(x, y, 5)) disc(x, y, 2.5, data.colours[k])
      if (!side) continue
      const from = [(k % data.columns) * data.side, Math.floor(k / data.columns) * data.side]
      const drawn = rank ? side : 0.7 * side  // inside the ring
      pen.drawImage(sheet, ...from, data.side, data.side, x - drawn / 2, y - drawn / 2, drawn, drawn)
    }
    pen.globalAlpha = 1
    if (data.query) {
      const [x, y] = [across(data.query[0]), down(data.query[1])]
      pen.beginPath()
      for (let k = 0; k < 10; k++) {
        const radius = k % 2 ? 5 : 12, turn = (k * Math.PI) / 5
        pen.lineTo(x + radius * Math.sin(turn), y - radius * Math.cos(turn))
      }
      pen.closePath()
      Object.assign(pen, { fillStyle: "#D77F0D", strokeStyle: "#000", lineWidth: 1.5 })
      pen.fill()
      pen.stroke()
    }
    if (state.box) {
      const [x, y, to, below] = state.box
      Object.assign(pen, { fillStyle: "rgba(99, 81, 212, 0.15)", strokeStyle: "#6351D4", lineWidth: 1 })
      pen.fillRect(x, y, to - x, below - y)
      pen.strokeRect(x, y, to - x, below - y)
    }
  }
  const nearest = (x, y) => {
    const { across, down } = frame()
    let best = -1, least = NEAR
    state.data.x.forEach((v, k) => {
      const away = Math.hypot(across(v) - x, down(state.data.y[k]) - y)
      if (away < least) [best, least] = [k, away]
    })
    return best
  }
  const zoom = (by, x, y) => {
    const old = state.zoom, { wide, tall } = frame()
    state.zoom = Math.min(40, Math.max(1, old * by))
    const grown = state.zoom / old, dx = (x ?? wide / 2) - wide / 2, dy = (y ?? tall / 2) - tall / 2
    Object.assign(state, { x: dx + (state.x - dx) * grown, y: dy + (state.y - dy) * grown })
    if (state.zoom === 1) Object.assign(state, WHOLE)
    state.draw()
  }
  const zoomIn = (by) => {  // from the whole map to the selection or the query; then around the current centre
    const isWhole = state.zoom === 1
    zoom(by)
    if (!isWhole || by <= 1) return
    const { x, y, query } = state.data, places = [...state.chosen]
    const mean = (values) => places.reduce((sum, k) => sum + values[k], 0) / places.length
    const [u, v] = places.length ? [mean(x), mean(y)] : (query ?? [0, 0])
    const { wide, tall, across, down } = frame()
    Object.assign(state, { x: state.x + wide / 2 - across(u), y: state.y + tall / 2 - down(v) })
    state.draw()
  }
  const choose = (places) => {
    state.chosen = new Set(places)
    state.report(places.map((k) => state.data.rows[k]))
    state.draw()
  }
  const place = (event) => [event.offsetX, event.offsetY]
  let start = null
  canvas.onpointerdown = (event) => {
    canvas.setPointerCapture(event.pointerId)
    start = { at: place(event), view: [state.x, state.y] }
    start.moves = state.mode === "move" || event.shiftKey || event.button === 1
  }
  canvas.onpointermove = (event) => {
    const [x, y] = place(event)
    if (start?.moves) {
      Object.assign(state, { x: start.view[0] + x - start.at[0], y: start.view[1] + y - start.at[1] })
      state.draw()
    } else if (start) {
      state.box = [...start.at, x, y]
      state.draw()
    } else {
      const k = nearest(x, y), side = x > canvas.clientWidth / 2 ? `translateX(-100%)` : ""
      tip.textContent = k < 0 ? "" : state.data.words[k]
      Object.assign(tip.style, { display: k < 0 ? "none" : "block", transform: side })
      Object.assign(tip.style, { left: `${x}px`, top: `${y + 16}px` })
    }
  }
  canvas.onpointerleave = () => (tip.style.display = "none")
  canvas.onpointercancel = () => {
    start = state.box = null
    state.draw()
  }
  canvas.onpointerup = (event) => {
    if (start && !start.moves) {
      const [x, y] = place(event), [a, b] = start.at
      const between = (v, p, q) => v >= Math.min(p, q) && v <= Math.max(p, q)
      const { across, down } = frame()
      const under = (v, k) => between(across(v), a, x) && between(down(state.data.y[k]), b, y) ? [k] : []
      const near = nearest(x, y)
      const isClick = Math.hypot(x - a, y - b) < 4
      start = state.box = null
      choose(isClick ? (near < 0 ? [] : [near]) : state.data.x.flatMap(under))
    }
    start = null
  }
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return  // let the page scroll
    event.preventDefault()
    zoom(Math.exp(-event.deltaY / 200), ...place(event))
  }, { passive: false })
  canvas.onkeydown = (event) => {
    const step = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }
    const by = { "+": 1.5, "=": 1.5, "-": 1 / 1.5 }
    const [dx, dy] = step[event.key] ?? [0, 0]
    if (event.key === "Escape") choose([])
    else if (event.key in by) zoomIn(by[event.key])
    else if (event.key in step) Object.assign(state, { x: state.x + dx, y: state.y + dy })
    else return
    event.preventDefault()
    state.draw()
  }
  for (const button of root.querySelectorAll("button"))
    button.onclick = () => {
      const { mode, zoom: by } = button.dataset
      if (by) return zoomIn(Number(by))
      state.mode = mode
      for (const each of root.querySelectorAll("[data-mode]"))
        each.setAttribute("aria-pressed", each === button)
      canvas.style.cursor = mode === "move" ? "grab" : "crosshair"
    }
  window.addEventListener("smfh-sheet", () => state.draw())
  new ResizeObserver(() => state.draw()).observe(canvas)
  return state
}
