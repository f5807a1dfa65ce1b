/** A part of a list that is sorted by time, alone or within each coin or state, or by what goes with time. */
import { binding, type ListQuery } from '../../db/list-filters.ts'
import { type Asked, type Begin, type Counted, LIMIT_MAX, type Place } from '../../db/list-places.ts'
import { allRows, firstRow } from '../../db/rows.ts'
import { conditionsOf, type Inside, without } from './list-part.sql.ts'
import { beginById } from './part-by-id.sql.ts'
import { CHANGES } from './payment-rungs.sql.ts'

/** Matching payments of a word, by which the list is sorted first; of the empty one where it is sorted by time alone. */
interface Word {
  readonly word: string
  total: bigint
  /** At each mark from the first, how many at the edges, and of what changed, stand before it. */
  readonly edges: bigint[]
  /** So many stand behind the last mark. */
  behind: bigint
}

/** Null where another count came between. */
export async function countByTime(asked: Asked, inside: Inside): Promise<Counted | null> {
  const sort = asked.query.sort ?? 'created_at'
  const word = sort === 'asset' || sort === 'status' ? `p.${sort}` : `''`
  const values: unknown[] = []
  const bind = binding(values)
  const part = conditionsOf(asked, inside, bind)
  const { matches, isOfCount, counted, first, last } = part
  const payments = (mark: string, where: string) =>
    `select ${word} as word, ${mark} as mark, count(*) as n from payments p where ${where} group by 1, 2`
  const behind = `width_bucket(p.created_at, (select marks[${first} + 1:${last}] from payment_grids where ${part.ofGrid})) + ${first} + 1`
  const rows = await allRows<{ word: string; mark: number | null; n: bigint }>(
    asked.db,
    `select word, mark, sum(n)::bigint as n from (
       select '' as word, ${first} as mark, 0::bigint as n
       ${part.sooner.map((where) => `union all ${payments(first, where)}`).join(' ')}
       union all ${payments(`${last} + 1`, part.later)}
       ${[...part.lower, ...part.higher].map((where) => `union all ${payments(behind, where)}`).join(' ')}
       union all select ${word}, ${behind}, p.n from (${CHANGES}) p where ${part.inside}
       union all select ${word}, null, ${counted} * case p.mark when ${last} then 1 else -1 end from payment_grid_counts p
         where ${matches} and ${part.ofGrid} and p.mark in (${first}, ${last})
     ) told where ${isOfCount} group by word, mark order by word, mark`,
    values,
  )
  if (rows.length === 0) return null
  const words: Word[] = []
  for (const row of rows) {
    let found = words.at(-1)
    if (found?.word !== row.word) {
      found = { word: row.word, total: 0n, edges: Array(inside.last - inside.first + 1).fill(0n), behind: 0n }
      words.push(found)
    }
    found.total += row.n
    if (row.mark === null) continue
    if (row.mark > inside.last) found.behind += row.n
    else found.edges[row.mark - inside.first] = row.n
  }
  for (const { edges } of words) for (const [at, n] of edges.entries()) edges[at] = n + (edges[at - 1] ?? 0n)
  return {
    total: words.reduce((sum, { total }) => sum + total, 0n),
    begin: (place) => beginAtMark(asked, inside, words, place),
  }
}

async function beginAtMark(
  asked: Asked,
  inside: Inside,
  words: readonly Word[],
  place: Place,
): Promise<Begin | null> {
  let within = place
  const index = words.findIndex((word) => {
    if (within < word.total) return true
    within -= word.total
    return false
  })
  const found = words[index]
  if (!found) return null
  const { query } = asked
  // A list of words would be walked through from its first, and every word that none of the part has.
  const queryOf = ({ word }: Word): ListQuery =>
    query.sort === 'asset' || query.sort === 'status'
      ? { ...without(query, `filter_${query.sort}_op`), [`filter_${query.sort}`]: word }
      : query
  const mark = await findMark({ ...asked, query: queryOf(found) }, inside, found, within)
  if (!mark) return null
  if (query.sort === 'id') return beginById(asked, mark, within)
  return {
    skip: within - mark.before,
    conditions(bind) {
      const isIn = asked.conditions(queryOf(found), bind)
      const begin = mark.at === null ? isIn : `${isIn} and p.created_at >= ${bind(mark.at, 'timestamptz')}`
      let reached = found.total - within
      const later = words.slice(index + 1).filter(({ total }) => {
        const isReached = total > 0n && reached < LIMIT_MAX
        reached += total
        return isReached
      })
      return [begin, ...later.map((word) => asked.conditions(queryOf(word), bind))]
    },
  }
}

/** The last mark that has no more before it than that, by halves. */
async function findMark(
  asked: Asked,
  inside: Inside,
  { total, edges, behind }: Word,
  place: Place,
): Promise<{ readonly at: string | null; readonly before: bigint } | null> {
  const before = edges[0] ?? 0n
  if (place < before) return { at: null, before: 0n }
  if (place >= total - behind) return { at: inside.to, before: total - behind }
  const values: unknown[] = []
  const bind = binding(values)
  const { matches, ofGrid, isOfCount, counted, first, last } = conditionsOf(asked, inside, bind)
  const all = `coalesce(sum(${counted}), 0)::bigint`
  return firstRow(
    asked.db,
    `with recursive begun as materialized (
       select ${all} as n from payment_grid_counts p where ${matches} and ${ofGrid} and p.mark = ${first}
     ), search as (
       select ${first} as low, ${last} as high, ${bind(before, 'bigint')} as before
       union all
       select case when is_found then middle else low end, case when is_found then high else middle end,
         case when is_found then upto else before end
       from (select *, (low + high) / 2 as middle from search where high - low > 1) half
       cross join lateral (select (${bind(edges, 'bigint[]')})[middle - ${first} + 1] + ${all} - (select n from begun) as upto
         from payment_grid_counts p where ${matches} and ${ofGrid} and p.mark = middle) counted
       cross join lateral (select upto <= ${bind(place, 'bigint')} as is_found) found
     )
     select marks[low]::text as at, before from search cross join payment_grids
     where ${ofGrid} and high - low <= 1 and ${isOfCount}`,
    values,
  )
}
