/** On a page that only says that something is not there now: asks for it again, as a link to it would. */

const AFTER_MS = 15_000

const again = (): void => location.replace(location.href)

setTimeout(again, AFTER_MS)
addEventListener('online', again)

export {}
