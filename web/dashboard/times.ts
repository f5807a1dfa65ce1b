/** Says beside an instant how long ago it was, to who points at it, in his own zone. */
const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const

export function tellTimes(): void {
  const format = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })
  for (const time of document.querySelectorAll('time')) {
    const at = new Date(time.dateTime)
    const seconds = (at.getTime() - Date.now()) / 1_000
    const [unit, size] = UNITS.find(([, each]) => Math.abs(seconds) >= each) ?? (['second', 1] as const)
    time.title = `${format.format(Math.round(seconds / size), unit)}, ${at.toLocaleString()}`
  }
}
