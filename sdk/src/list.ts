/** Paged lists and events: `await` one for its first page, or iterate it through all of them. */

export interface Page<Item> {
  readonly items: readonly Item[]
  readonly total: number
  readonly page: number
  readonly limit: number
  readonly total_pages: number
}

export interface List<Item> extends PromiseLike<Page<Item>>, AsyncIterable<Item> {}

/** @param fetchPage - Asks for one page, counted from 1. */
export function openList<Item>(first: number, fetchPage: (page: number) => Promise<Page<Item>>): List<Item> {
  return {
    // biome-ignore lint/suspicious/noThenProperty: awaiting a list is its first page
    then: (resolve, reject) => fetchPage(first).then(resolve, reject),
    async *[Symbol.asyncIterator]() {
      for (let page = first; ; page++) {
        const found = await fetchPage(page)
        yield* found.items
        if (page >= found.total_pages) return
      }
    },
  }
}

export interface Replay<Event> {
  readonly items: readonly Event[]
  /** Whether another page is there already. */
  readonly has_more: boolean
  /** What to give as `after` next time; null while there is no event. */
  readonly cursor: string | null
}

export interface Events<Event> extends PromiseLike<Replay<Event>>, AsyncIterable<Event> {}

/** @param fetchAfter - Asks for the events after a cursor; from the oldest on when there is none. */
export function openEvents<Event>(
  first: string | undefined,
  fetchAfter: (after: string | undefined) => Promise<Replay<Event>>,
): Events<Event> {
  return {
    // biome-ignore lint/suspicious/noThenProperty: awaiting is the first page
    then: (resolve, reject) => fetchAfter(first).then(resolve, reject),
    async *[Symbol.asyncIterator]() {
      let after = first
      for (;;) {
        const found = await fetchAfter(after)
        yield* found.items
        if (!found.has_more || found.cursor === null) return
        after = found.cursor
      }
    },
  }
}
