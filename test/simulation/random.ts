/** Random numbers that a seed repeats: mulberry32, one stream a purpose, so that one does not shift another. */
export interface Random {
  /** A whole number from 0 up to a bound, without it. */
  below(bound: number): number
  /** True so many times in a hundred. */
  percent(chance: number): boolean
  pick<Item>(items: readonly Item[]): Item
  /** From here on what follows depends on this part of the story alone, and on nothing that was drawn before it. */
  restart(part: number): void
}

export function seeded(seed: number, stream: number): Random {
  const first = (Math.imul(seed, 0x9e3779b1) + Math.imul(stream, 0x85ebca77)) >>> 0
  let state = first
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let word = state
    word = Math.imul(word ^ (word >>> 15), word | 1)
    word ^= word + Math.imul(word ^ (word >>> 7), word | 61)
    return (word ^ (word >>> 14)) >>> 0
  }
  const below = (bound: number): number => next() % bound
  return {
    below,
    restart(part) {
      state = (first + Math.imul(part + 1, 0xc2b2ae3d)) >>> 0
    },
    percent: (chance) => below(100) < chance,
    pick: (items) => {
      const item = items[below(items.length)]
      if (item === undefined) throw new Error('nothing to pick from')
      return item
    },
  }
}
