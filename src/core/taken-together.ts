/** An answer that is lost with its connection comes late, or never: whoever comes after so long does not wait for it. */
const LOST_MS = 10_000

/** Work that whoever comes while it runs takes part in, as the first one asked for it. Once it has ended, it is done anew for the next. */
export function takenTogether<Asked extends readonly unknown[], Result>(
  work: (...asked: Asked) => Promise<Result>,
): (...asked: Asked) => Promise<Result> {
  let last: { readonly result: Promise<Result>; readonly lostAtMs: number } | null = null
  return (...asked) => {
    const nowMs = performance.now()
    if (last && nowMs < last.lostAtMs) return last.result
    const own = { result: work(...asked), lostAtMs: nowMs + LOST_MS }
    last = own
    const end = () => {
      if (last === own) last = null
    }
    own.result.then(end, end)
    return own.result
  }
}
