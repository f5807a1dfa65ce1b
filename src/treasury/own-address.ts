/**
 * SQL: the address `a` of each UTXO `c`, by its key. Before PostgreSQL has counted, it takes all addresses of a series to be one, and
 * walks through them for each UTXO: 21 s among 6,000.
 */
export const ADDRESS_OF_UTXO = `cross join lateral (
  select * from addresses own where own.chain = c.chain and own.lookup = c.lookup offset 0) a`

/** SQL: whether an address of a chain with accounts is the gateway's own hot wallet, of retired wallets too; by its key. */
export const isHotWalletSql = (chain: string, address: string): string => `exists (
  select from addresses own where own.chain = ${chain} and own.lookup = decode(substr(${address}, 3), 'hex') and own.branch = 1)`
