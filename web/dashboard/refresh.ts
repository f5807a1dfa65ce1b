/** A page on which something is under way looks again, and shows itself anew when it reads another way. */
import { announce } from './copy.ts'

const EVERY_MS = 1_500

export function lookAgain(): void {
  if (!('live' in document.body.dataset)) return
  // Of this very page: what changed since it was drawn is news already.
  const seen = document.body.dataset.live
  const look = async () => {
    try {
      const answer = await fetch(location.href, { headers: { 'X-Look': '1' } })
      const version = answer.headers.get('x-version')
      if (answer.redirected || !answer.ok) return
      // What has come to rest has no version any more.
      if (version !== seen && !isInUse()) {
        announce('The page has news')
        location.reload()
        return
      }
    } catch {
      // Away for a moment.
    }
    setTimeout(look, document.hidden ? EVERY_MS * 10 : EVERY_MS)
  }
  look()
}

/** Whether something is typed or open here that would be lost. */
const isInUse = (): boolean =>
  document.querySelector('main details[open]') !== null ||
  [...document.querySelectorAll<HTMLInputElement>('main input:not([type=hidden])')].some(
    (input) => input.value !== input.defaultValue || input === document.activeElement,
  )
