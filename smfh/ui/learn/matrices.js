const make = (kind, text, ...classes) => {
  const element = document.createElement(kind)
  if (text !== undefined) element.textContent = text
  element.classList.add(...classes.filter(Boolean))
  return element
}
const heading = (name, picture, sampled) => {
  const cell = Object.assign(make("th", picture ? "" : name, sampled && "sampled"), { title: name })
  if (picture) cell.append(Object.assign(make("img"), { src: picture, alt: name, title: name }))
  return cell
}

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".groups")
  const open = new Set([...parentElement.querySelectorAll("details[open]")].map((each) => each.dataset.of))
  const focused = root.getRootNode().activeElement?.dataset?.cell
  const drawn = data.groups.map((group) => {
    const element = make("div", undefined, "group"), tables = make("div", undefined, "tables")
    element.append(make("h4", group.title), tables)
    tables.append(...group.matrices.map(draw))
    return element
  })
  root.replaceChildren(...drawn.slice(0, 2))
  parentElement.querySelector(".rest").replaceChildren(...drawn.slice(2))
  if (focused) parentElement.querySelector(`[data-cell="${CSS.escape(focused)}"]`)?.focus()

  function draw(matrix) {
    const figure = make("figure"), caption = make("figcaption"), details = make("details")
    details.dataset.of = matrix.id
    details.open = open.has(matrix.id)
    details.append(make("summary", matrix.title), make("p", matrix.meaning))
    caption.append(details)
    const table = make("table"), head = make("thead"), body = make("tbody"), top = make("tr")
    table.setAttribute("aria-label", matrix.title)
    top.append(make("th"), ...matrix.columns.map((name, k) => heading(name, matrix.column_pictures[k])))
    head.append(top)
    matrix.entries.forEach((texts, i) => {
      const line = make("tr")
      line.append(heading(matrix.rows[i], matrix.row_pictures[i], matrix.sampled[i]))
      texts.forEach((text, k) => {
        const cell = make("td"), id = `${matrix.id}:${i}:${k}`, shade = matrix.shades[i][k]
        const classes = [matrix.changed[i][k] && "changed", id === data.selected && "selected"]
        const button = make("button", text, ...classes, !shade && "zero")
        button.dataset.cell = id
        const where = `${matrix.title}, ${matrix.rows[i]}, ${matrix.columns[k]}`
        button.setAttribute("aria-label", `${where}: ${text}`)
        const hue = shade < 0 ? "215, 127, 13" : "99, 81, 212"
        button.style.background = `rgba(${hue}, ${Math.min(0.55, 0.55 * Math.abs(shade))})`
        button.onclick = () => setTriggerValue("cell", id)
        cell.append(button)
        line.append(cell)
      })
      body.append(line)
    })
    table.append(head, body)
    figure.append(caption, table)
    return figure
  }
}
