// Invisible parts of every page: a reload after a restart of the server, the steps of Back, and tables that the
// keyboard can scroll.
export default function ({ data }) {
  reloadAfterRestart(data)
  limitHistory(data.places)
  reachTables()
  acknowledgePresses()
}

const LAST = "smfh_last_reload"

// Streamlit itself shows a lost connection and connects again. But after a restart of the server it leaves the
// old page on the screen until the visitor clicks something.
function reloadAfterRestart({ started, health, pollMilliseconds, reloadMilliseconds }) {
  const isRunning = window.smfhStarted !== undefined
  window.smfhStarted = started
  if (isRunning) return
  setInterval(async () => {
    const request = fetch(health, { cache: "no-store" })
    const answer = await request.then((it) => it.json()).catch(() => ({}))
    if (!answer.started || answer.started === window.smfhStarted) return
    if (Date.now() - Number(sessionStorage.getItem(LAST)) < reloadMilliseconds) return
    sessionStorage.setItem(LAST, String(Date.now()))
    window.location.reload()
  }, pollMilliseconds)
}

// Streamlit adds a step for Back with every change of the address, and two with `switch_page`: the old page
// with the new query, then the new page. Here a change on the same page replaces the current step, unless one
// of the `places` keys has changed, and then only once for each action of the visitor; the step of the old
// page is corrected. Without this script Back takes more steps, and nothing else is lost.
function limitHistory(places) {
  const history = window.history
  if (!history.smfh) {
    const push = history.pushState
    const own = (history.smfh = { places: [] })
    // whether the visitor acted, the address before the change, whether the change added a step
    const begin = (acted) => Object.assign(own, { acted, before: null, stepped: false })
    for (const kind of ["pointerdown", "keydown"]) window.addEventListener(kind, () => begin(true), true)
    window.addEventListener("popstate", () => begin(false))
    begin(true)
    history.pushState = function (state, title, url) {
      const here = new URL(window.location.href)
      const next = new URL(url ?? here, here)
      const differs = (key) => next.searchParams.get(key) !== here.searchParams.get(key)
      let step = true
      if (next.pathname === here.pathname) {
        step = own.acted && own.places.some(differs)
        own.before ??= here.href
        if (step) Object.assign(own, { acted: false, stepped: true })
      } else {
        if (own.before && next.search === here.search) {
          step = !own.stepped
          if (step) history.replaceState(state, title, own.before)
        }
        begin(false)
      }
      return (step ? push : history.replaceState).call(history, state, title, url)
    }
  }
  history.smfh.places = places
}

// A table wider than a phone scrolls; without a stop for the keyboard, only a pointer could scroll it.
function reachTables() {
  if (window.smfhTables) return
  const reach = () => {
    for (const frame of document.querySelectorAll("[data-testid=stTable] > div")) frame.tabIndex = 0
  }
  window.smfhTables = new MutationObserver(reach)
  window.smfhTables.observe(document.body, { childList: true, subtree: true })
}

// A press of Pause, Step, Resume or Cancel is confirmed at once; the server answers after the iteration.
const PRESSED = { pause: "pausing …", step: "one more step …", resume: "continuing …", cancel: "cancelling …" }
const PRESSED_MILLISECONDS = 1500

function acknowledgePresses() {
  if (window.smfhPresses) return
  window.smfhPresses = true
  window.addEventListener("click", ({ target }) => {
    const strip = target.closest?.(".st-key-run_strip"), button = target.closest?.("[class*=st-key-run_controls_]")
    const pressed = PRESSED[button?.className.match(/st-key-run_controls_(\w+)/)[1]]
    if (!strip || !pressed) return
    strip.dataset.pressed = pressed
    setTimeout(() => delete strip.dataset.pressed, PRESSED_MILLISECONDS)
  }, true)
}
