/** In SQL, the least UUIDv7 that can be made at a time: ids begin with the milliseconds of their making. */
export const leastIdAt = (time: string): string =>
  `(lpad(to_hex(greatest(0, floor(extract(epoch from ${time}) * 1000)::bigint)), 12, '0') || repeat('0', 20))::uuid`
