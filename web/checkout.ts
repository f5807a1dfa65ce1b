/** The checkout's own script: the page works without it; this keeps it live, and adds what only a script can do. */
import { announceContent, announceNews } from './announce.ts'
import { offerCopies } from './copy.ts'
import { startCountdown } from './countdown.ts'
import { keepForms } from './forms.ts'
import { passOnEscape, tellFrame } from './frame.ts'
import { refresh, startLive } from './live.ts'
import { watchWalletLinks } from './open-wallet.ts'
import { offerPrint, showLocalTimes } from './receipt.ts'
import { shownContent } from './replace.ts'
import { returnSoon } from './return.ts'
import { lookForWallets, offerWallets } from './wallets.ts'

function equip(): void {
  offerCopies()
  startCountdown(refresh)
  offerWallets()
  offerPrint()
  showLocalTimes()
  tellFrame()
}

equip()
passOnEscape()
lookForWallets()
keepForms()
watchWalletLinks()
startLive()

document.addEventListener('beck:content', (event) => {
  equip()
  const { before } = (event as CustomEvent<{ before: HTMLElement }>).detail
  if (before.dataset.state === shownContent()?.dataset.state) {
    announceNews(before)
    return
  }
  returnSoon()
  announceContent()
})
document.addEventListener('beck:time', () => startCountdown(refresh))
