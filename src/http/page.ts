import type { Page } from '../db/list.ts'

/** A page as the contract shows it. */
export const showPage = <Row, Item>(page: Page<Row>, show: (row: Row) => Item) => ({
  items: page.items.map(show),
  total: page.total,
  page: page.page,
  limit: page.limit,
  total_pages: page.totalPages,
})
