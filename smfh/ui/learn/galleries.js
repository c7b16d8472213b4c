const make = (kind, text) => Object.assign(document.createElement(kind), { textContent: text ?? "" })

export default function ({ data, parentElement }) {
  parentElement.querySelector(".galleries").replaceChildren(...data.map(({ title, items }) => {
    const section = make("section"), list = make("ul")
    section.append(make("h4", title), items.length ? list : make("p", "no items"))
    for (const item of items) {
      const entry = make("li"), picture = make("img")
      const name = `${item.relevant ? "" : "✗ "}${item.name}`
      if (!item.relevant) entry.classList.add("other")
      Object.assign(picture, { src: item.picture, alt: name, title: name })
      entry.append(picture, make("span", name), ...item.notes.map((note) => make("span", note)))
      list.append(entry)
    }
    return section
  }))
}
