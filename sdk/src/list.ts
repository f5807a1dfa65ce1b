/** Paged lists: `await` one for its first page, or iterate it through all of them. */

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
