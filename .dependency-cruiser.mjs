// Who may import whom. The table stands in words in ARCHITECTURE.md; this file enforces it.
const rooms =
  'accounts|alerts|audit|rates|wallets|payments|deposits|ledger|events|withdrawals|treasury|checkout|users|mails|approvals'

/** What a deposit is and whether it counts as received: payments ask, and nobody says it a second time. */
const received = '^src/deposits/(deposit|received)\\.ts$'

/** The port to the chains and how far each was seen: what lies in `chains/` beside the adapters. */
const port = 'chains/[^/]+\\.ts$'

/** A rule that lets files under `from` import, inside this repository, only what `allowed` matches. */
const only = (name, from, allowed, comment) => ({
  name,
  severity: 'error',
  comment,
  from: { path: from, pathNot: '\\.test\\.ts$' },
  to: { path: '^(src|web|sdk|cli|test|bench)/', pathNot: allowed },
})

export default {
  forbidden: [
    { name: 'no-circles', severity: 'error', from: {}, to: { circular: true } },
    { name: 'resolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
    only('core-imports-nothing', '^src/core/', '^src/core/', 'core is the ground floor'),
    only('db-imports-core', '^src/db/', '^src/(core|db)/', 'the database layer knows no room'),
    {
      ...only(
        'a-room-imports-core-and-itself',
        `^src/(${rooms})/`,
        `^src/(core|$1)/|${received}`,
        'rooms never import each other; which deposits count is told by the deposits alone',
      ),
      from: { path: `^src/(${rooms})/`, pathNot: '(\\.sql|\\.test)\\.ts$|^src/rates/sources/' },
    },
    {
      ...only(
        'a-query-imports-also-db',
        `^src/(${rooms})/`,
        `^src/(core|db|$1)/|${received}`,
        'queries use the transaction type',
      ),
      from: { path: `^src/(${rooms})/.*\\.sql\\.ts$` },
    },
    only(
      'sources-import-their-port',
      '^src/rates/sources/',
      '^src/(core/|rates/(sources/|rates\\.ts|pair\\.ts))',
    ),
    {
      ...only(
        'an-adapter-imports-the-port',
        '^src/chains/([^/]+)/',
        '^src/(core/|chains/(chain|json-rpc)\\.ts|chains/$1/)',
      ),
      from: { path: '^src/chains/([^/]+)/', pathNot: '(\\.sql|\\.test)\\.ts$|^src/chains/simulated/' },
    },
    only(
      'the-simulated-chain-lives-in-postgres',
      '^src/chains/simulated/',
      '^src/(core|db|chains/simulated)/|^src/chains/chain\\.ts|^src/chains/ethereum/(call-data|delegate|signed-transaction|sweep|transfer-call|wire)\\.ts',
      'of Ethereum it shares what bytes say, and nothing that speaks with a node',
    ),
    only(
      'flows-join-rooms',
      '^src/flows/(?!sandbox\\.ts$)',
      `^src/(core|db|flows|proof|${rooms})/|^src/${port}`,
    ),
    only(
      'the-sandbox-moves-the-simulated-chain',
      '^src/flows/sandbox\\.ts$',
      `^src/(core|db|flows|${rooms})/|^src/${port}|^src/chains/simulated/`,
      'the only flow that reaches behind the port, for test accounts',
    ),
    only(
      'signer-is-alone',
      '^src/signer/',
      '^src/(core|db|signer)/|^src/config/(shared|variables)\\.ts$|^src/process/log\\.ts$|^src/chains/[^/]+/sign\\.ts$|^src/wallets/(derivation|wallets\\.sql)\\.ts$|^src/withdrawals/(withdrawal|destination|limits)\\.ts$|^src/treasury/(own-address|fees|gas|fee-rates\\.sql|payout-cost|select-utxos|signed-(entry|transaction)|(place|restore)-signed\\.sql)\\.ts$|^src/withdrawals/withdrawals\\.sql\\.ts$|^src/alerts/alerts\\.sql\\.ts$|^src/approvals/',
      'beside signing it shares what must be the same on both sides: derivation, the request, its destination, and the rows of what it signs',
    ),
    {
      name: 'nobody-imports-signer',
      severity: 'error',
      from: { path: '^(src|web|sdk|cli)/', pathNot: '^src/signer/|\\.test\\.ts$' },
      to: { path: '^src/signer/' },
    },
    only(
      'proof-reads-the-rooms',
      '^src/proof/',
      `^src/(core|db|proof|${rooms})/|^src/flows/[^/]+\\.ts$|^src/${port}`,
      'it proves what flows did, and calls none of their stories',
    ),
    only('http-calls-flows', '^src/http/', `^src/(core|db|flows|http|${rooms})/|^src/${port}`),
    only('workers-call-flows', '^src/workers/', `^src/(core|db|flows|proof|workers|${rooms})/|^src/${port}`),
    only('sdk-is-a-leaf', '^sdk/', '^sdk/'),
    only(
      'beck-cli-needs-no-gateway',
      '^cli/',
      '^cli/|^src/core/|^src/events/(event|send|delivery|signature)\\.ts$|^src/cli/terminal\\.ts$',
      'it is bundled into one file for machines without Beck',
    ),
    {
      name: 'the-command-line-alone-has-its-commands',
      severity: 'error',
      from: { path: '^(src|web|sdk)/', pathNot: '^src/cli/' },
      to: { path: '^cli/' },
    },
    only(
      'web-is-a-leaf',
      '^web/',
      '^web/|^src/http/hosted/colour\\.ts$',
      'but for the colours of the checkout, which its preview has to have',
    ),
  ],
  options: {
    parser: 'swc',
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default'] },
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^node:|node_modules' },
  },
}
