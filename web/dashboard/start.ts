/** What a script adds to the dashboard: passkeys, copying, the keyboard's way to the search, the brand and a
 * withdrawal's quote as they are typed, pages that look again. */
import { announce, offerCopies } from './copy.ts'
import { closeMenuByKey } from './menu.ts'
import { openPalette } from './palette.ts'
import { offerPasskeys } from './passkeys.ts'
import { showBrand } from './preview.ts'
import { quoteAsTyped } from './quote.ts'
import { lookAgain } from './refresh.ts'
import { tellTimes } from './times.ts'

for (const element of document.querySelectorAll<HTMLElement>('.needs-script')) {
  // Where the browser has no passkeys, nothing offers them.
  if (!element.matches('.passkey, [data-create-from], .or') || 'credentials' in navigator)
    element.hidden = false
}
offerCopies()
tellWhatWasDone()
offerPasskeys()
openPalette()
closeMenuByKey()
tellTimes()
showBrand()
quoteAsTyped()
lookAgain()

// A form that was sent is not sent again by an impatient hand.
document.addEventListener('submit', (event) => {
  const { target } = event
  if (!(target instanceof HTMLFormElement) || event.defaultPrevented || target.method !== 'post') return
  const buttons = target.querySelectorAll('button')
  setTimeout(() => {
    for (const button of buttons) button.disabled = true
  })
})
// The page may come back out of the browser's memory.
addEventListener('pageshow', (event) => {
  if (!event.persisted) return
  for (const button of document.querySelectorAll('button')) button.disabled = false
})

/** What a page came with is not heard: only what changes on it is. */
function tellWhatWasDone(): void {
  const done = document.querySelector('main > .notice[role=status]')?.textContent
  if (done) setTimeout(() => announce(done), 500)
}
