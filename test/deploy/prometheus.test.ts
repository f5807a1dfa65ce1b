/** The alert rules and the dashboard, by Prometheus' own tools: what they ask for is what a running Beck tells. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { after } from 'node:test'
import { promisify } from 'node:util'
import { SIMULATED_CHAINS } from '../../src/chains/simulated/network.ts'
import { call, testApp, testMerchant } from '../api.ts'
import { testGateway } from '../gateway.ts'

const exec = promisify(execFile)
const folder = await mkdtemp(join(tmpdir(), 'beck-prometheus-'))
after(() => rm(folder, { recursive: true, force: true }))

interface Panel {
  readonly title: string
  readonly targets: readonly { readonly expr: string }[]
}

const gateway = await testGateway({ freshPerChain: 2 })
const app = await testApp(gateway, { chains: SIMULATED_CHAINS })
const { key } = await testMerchant(gateway.db)
assert.equal(
  (await call(app, key, 'POST', '/payments', { body: { asset: 'LTC', fiat_amount: 5 } })).status,
  201,
)
const metrics = await app.monitored.metrics()
const dashboard: { panels: Panel[] } = JSON.parse(await readFile('deploy/grafana/beck.json', 'utf8'))

test('promtool accepts the rules, and each alert is raised by what should raise it, and by nothing else', async () => {
  await exec('promtool', ['check', 'config', 'deploy/prometheus/prometheus.yml'])
  const { stdout } = await exec('promtool', ['test', 'rules', 'deploy/prometheus/beck.rules.test.yml'])
  assert.match(stdout, /SUCCESS/)
})

test('every metric that a rule or a panel asks for is told by a running Beck', async () => {
  const told = new Set([...metrics.matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name))
  const rules = await readFile('deploy/prometheus/beck.rules.yml', 'utf8')
  const asked = `${rules}\n${dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)).join('\n')}`
  const names = [...asked.matchAll(/\b(?:beck|process|nodejs)_\w+/g)].map(([name]) =>
    name.replace(/^(beck_http_request_duration_seconds)_(?:bucket|count|sum)$/, '$1'),
  )
  assert.ok(names.length > 40)
  for (const name of new Set(names)) assert.ok(told.has(name), `nothing tells ${name}`)
})

test('what a running Beck tells is what promtool reads, with as many series as there are roles, chains and states', async () => {
  const checking = execFile('promtool', ['check', 'metrics'])
  let said = ''
  for (const stream of [checking.stdout, checking.stderr])
    stream?.on('data', (text: string) => {
      said += text
    })
  checking.stdin?.end(metrics)
  await new Promise((resolve) => checking.on('close', resolve))
  // Names of Node's own, from a library, are not ours to change.
  const ours = said.split('\n').filter((line) => line.startsWith('beck_'))
  assert.deepEqual(ours, [])
  const series = metrics.split('\n').filter((line) => line.startsWith('beck_') && !line.includes('_bucket{'))
  assert.ok(series.length < 200, `${series.length} series`)
  assert.match(metrics, /^beck_payments\{mode="test",status="pending"\} 1$/m)
  assert.match(metrics, /^beck_role_running\{role="signer"\} 0$/m)
})

test('every panel of the dashboard is an expression of Prometheus', async () => {
  const rules = dashboard.panels.flatMap(({ title, targets }, panel) =>
    targets.map(({ expr }, index) => ({ title, record: `panel_${panel}_${index}`, expr })),
  )
  assert.ok(rules.length > 25)
  // JSON is YAML.
  const file = join(folder, 'panels.yml')
  await writeFile(
    file,
    JSON.stringify({
      groups: [{ name: 'panels', rules: rules.map(({ record, expr }) => ({ record, expr })) }],
    }),
  )
  await exec('promtool', ['check', 'rules', file])
})

test('every alert has a section that says what it wants', async () => {
  const page = await readFile('docs/incidents.md', 'utf8')
  const alerts = [
    ...(await readFile('deploy/prometheus/beck.rules.yml', 'utf8')).matchAll(/- alert: (\w+)/g),
  ].map(([, name = '']) => name)
  assert.ok(alerts.length >= 20)
  const sections = [...page.matchAll(/^## (Beck\w+)/gm)].map(([, name = '']) => name)
  assert.deepEqual(sections, alerts)
})
