"""A server that hangs, or was started anew, is seen: the page says so, and comes back by itself.

Streamlit notices a connection that ends, not one that is silent; and where a new server answers it leaves the
page as it was, with nothing behind it. Here the browser asks for the health of the server every few seconds,
says so where no answer comes, and opens the address again where the server that answers is another one.
"""

import streamlit as st

from smfh.ui.server import STARTED, health_path

LOST = (
    "The server does not answer. This page comes back by itself as soon as it does: finished runs are kept, "
    "data of your own may have to be dropped again."
)
TIMES = {  # milliseconds
    "every": 5000,  # between two looks
    "patience": 4000,  # for an answer
    "sooner": 1000,  # after none came
    "once": 60_000,  # in which the page is opened again at most once: servers that take turns do no harm
}
FAILURES = 2  # in a row, until the page says so

_TOUCH = st.components.v2.component(
    "smfh_touch",
    js="""
    const LAST = "smfh_opened_again"

    function say(text) {
      const banner = document.createElement("div")
      banner.id = "smfh_lost"
      banner.setAttribute("role", "alert")
      banner.textContent = text
      Object.assign(banner.style, {
        position: "fixed", inset: "0 0 auto 0", zIndex: 2000000, padding: ".6rem 1rem", textAlign: "center",
        font: "600 1rem sans-serif", color: "#fff", background: "#8a3c00",
      })
      document.body.append(banner)
    }

    async function startOf(health, patience) {
      try {
        const answer = await fetch(health, { cache: "no-store", signal: AbortSignal.timeout(patience) })
        return (await answer.json()).started ?? null
      } catch {
        return null  // none, or that of a proxy
      }
    }

    function openAgain(once) {
      if (Date.now() - Number(sessionStorage.getItem(LAST)) < once) return
      sessionStorage.setItem(LAST, String(Date.now()))
      window.location.reload()
    }

    export default function ({ data }) {
      const begun = window.smfhTouch !== undefined
      window.smfhTouch = data
      if (begun) return
      let failures = 0
      const look = async () => {
        const { started, health, lost, times } = window.smfhTouch
        const answered = await startOf(health, times.patience)
        failures = answered === null ? failures + 1 : 0
        const banner = document.getElementById("smfh_lost")
        if (answered !== null) banner?.remove()
        else if (failures >= data.failures && !banner) say(lost)
        if (answered !== null && answered !== started) openAgain(times.once)
        setTimeout(look, failures ? times.sooner : times.every)
      }
      setTimeout(look, data.times.every)
    }
    """,
)


def keep_in_touch() -> None:
    """Nothing to see, as long as the server answers."""
    health = f"{health_path()}?page"  # so that the server knows of an open page
    said = {"started": STARTED, "health": health, "lost": LOST, "times": TIMES, "failures": FAILURES}
    _TOUCH(data=said, key="smfh_touch")
