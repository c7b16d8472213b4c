// One lesson without a server: predict, move the slider, read the answer. All texts are set as text.
const lesson = JSON.parse(document.getElementById("lesson").textContent)
const $ = (id) => document.getElementById(id)
const make = (kind, text = "") => Object.assign(document.createElement(kind), { textContent: text })
const COLOURS = ["#6351D4", "#D77F0D", "#00735C", "#E83E8C"], WIDTH = 460, HEIGHT = 230
const draw = (kind, attributes, text = "") => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", kind)
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value)
  element.textContent = text
  return element
}

function chart(series, at) {  // all series of one unit over the stops
  const top = 18 * series.length, bottom = top + HEIGHT  // the names of the series are above the chart
  const svg = draw("svg", { viewBox: `0 0 ${WIDTH} ${bottom}`, role: "img" })
  svg.setAttribute("aria-label", series.map(({ name, values }) => `${name}: ${values[at]}`).join("; "))
  const all = series.flatMap(({ values }) => values), low = Math.min(...all), high = Math.max(...all)
  const x = (k) => 50 + (k * (WIDTH - 80)) / Math.max(lesson.stops.length - 1, 1)
  const y = (value) => top + 20 + ((high - value) / (high - low || 1)) * (HEIGHT - 70)
  for (const value of [low, high])
    svg.append(draw("text", { x: 42, y: y(value) + 4, "text-anchor": "end" }, value.toPrecision(3)))
  svg.append(draw("line", { x1: x(at), x2: x(at), y1: top + 10, y2: bottom - 45, class: "now" }))
  lesson.stops.forEach((stop, k) => {
    if (lesson.stops.length <= 9) svg.append(draw("text", { x: x(k), y: bottom - 28, "text-anchor": "middle" }, stop.slice(0, 9)))
  })
  svg.append(draw("text", { x: 50, y: bottom - 8 }, `${lesson.axis}; ${series[0].unit}`))
  series.forEach(({ name, values }, place) => {
    const colour = COLOURS[place % COLOURS.length]
    svg.append(draw("polyline", { points: values.map((v, k) => `${x(k)},${y(v)}`).join(" "), stroke: colour, fill: "none" }))
    values.forEach((value, k) => svg.append(draw("circle", { cx: x(k), cy: y(value), r: k === at ? 5 : 3, fill: colour })))
    svg.append(draw("text", { x: 50, y: 14 + 18 * place, fill: colour }, `${name}: ${values[at].toPrecision(3)}`))
  })
  return svg
}

function show() {
  const at = Number($("stop").value), query = $("query").value
  $("at").textContent = lesson.stops[at]
  $("note").textContent = lesson.notes[at]
  const units = [...new Set(lesson.series.map(({ unit }) => unit))]
  $("charts").replaceChildren(...units.map((unit) => chart(lesson.series.filter((one) => one.unit === unit), at)))
  $("walls").replaceChildren(...(lesson.galleries[query]?.[at] ?? []).map(({ title, items }) => {
    const section = make("section"), list = make("ul")
    for (const { name, picture, relevant } of items) {
      const entry = make("li"), text = `${relevant ? "" : "✗ "}${name}`
      if (picture) entry.append(Object.assign(make("img"), { src: picture, alt: text }))
      entry.append(make("span", text))
      entry.classList.toggle("other", !relevant)
      list.append(entry)
    }
    section.append(make("h3", title), list)
    return section
  }))
}

function reveal(guess) {
  $("verdict").textContent = lesson.verdicts[guess] ?? lesson.verdicts.at(-1)
  $("predict").hidden = true
  $("measured").hidden = false
  show()
}

lesson.options.forEach((option, k) => {
  const button = make("button", option)
  button.onclick = () => reveal(k)
  $("options").append(button)
})
$("skip").onclick = () => reveal(-1)
$("stop").max = lesson.stops.length - 1
$("stop").setAttribute("aria-label", lesson.axis)
$("axis").textContent = lesson.axis
for (const name of Object.keys(lesson.galleries)) $("query").append(Object.assign(make("option", name), { value: name }))
$("query").parentElement.hidden = Object.keys(lesson.galleries).length < 2
$("stop").oninput = $("query").onchange = show
