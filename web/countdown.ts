/** The time left, on the server's clock: a visitor's clock may be hours off. */
import { announce } from './announce.ts'

/** A quote's window, for the length of the bar. */
const WINDOW_MS = 30 * 60_000
/** Steps of the bar: it is drawn anew with each of them, and not each second. */
const BAR_STEPS = 200
/** From here on the time is shown as short. */
const SHORT_MS = 2 * 60_000
const ANNOUNCED_MINUTES = [10, 5, 2, 1]

let ticking: ReturnType<typeof setInterval> | undefined

/** @param over - Called once when the time is up. */
export function startCountdown(over: () => void): void {
  clearInterval(ticking)
  const place = document.querySelector<HTMLElement>('.countdown')
  const shown = place?.querySelector('time')
  if (!place || !shown) return
  const endsAt = performance.now() + Number(place.dataset.ends) - Number(place.dataset.now)
  const { lang } = document.documentElement
  const two = new Intl.NumberFormat(lang, { minimumIntegerDigits: 2 })
  const minutes = new Intl.NumberFormat(lang, { style: 'unit', unit: 'minute', unitDisplay: 'long' })
  let announced = Math.ceil((endsAt - performance.now()) / 60_000)
  let step = Number.NaN
  const text = new Text()
  shown.replaceChildren(text)

  const draw = (leftMs: number) => {
    const seconds = Math.ceil(leftMs / 1_000)
    text.data = `${two.format(Math.floor(seconds / 60))}:${two.format(seconds % 60)}`
    const next = Math.min(BAR_STEPS, Math.ceil((leftMs / WINDOW_MS) * BAR_STEPS))
    if (next !== step) place.style.setProperty('--left', `${(next / BAR_STEPS) * 100}%`)
    step = next
    place.classList.toggle('short', leftMs < SHORT_MS)
  }
  const tick = () => {
    const leftMs = Math.max(0, endsAt - performance.now())
    // Where nobody looks, drawing would cost a phone its battery.
    if (!document.hidden || Number.isNaN(step)) draw(leftMs)
    const minute = Math.ceil(leftMs / 60_000)
    if (minute < announced && ANNOUNCED_MINUTES.includes(minute))
      announce((place.dataset.announced ?? '').replace('{time}', minutes.format(minute)))
    announced = minute
    if (leftMs > 0) return
    clearInterval(ticking)
    over()
  }
  tick()
  ticking = setInterval(tick, 1_000)
}
