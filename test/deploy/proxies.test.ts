/** The proxies' files: nginx runs with its own before a Beck, Caddy says that it could with its own. */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { after } from 'node:test'
import { promisify } from 'node:util'
import { freePort } from '../../src/db/embedded/embedded.ts'
import { testApp } from '../api.ts'
import { selfSigned } from '../certificate.ts'
import { testGateway } from '../gateway.ts'
import { waitFor } from '../wait-for.ts'

const exec = promisify(execFile)
const NGINX = '/usr/sbin/nginx'
const folder = await mkdtemp(join(tmpdir(), 'beck-proxies-'))
after(() => rm(folder, { recursive: true, force: true }))

test('nginx takes its file, passes requests on over TLS, and replaces what a stranger says of where he is', async () => {
  const gateway = await testGateway()
  const app = await testApp(gateway, { trustProxy: '127.0.0.1' })
  const upstream = new URL(await app.listen({ port: 0, host: '127.0.0.1' }))
  const [http, https] = [await freePort(), await freePort()]
  const { key, cert } = selfSigned(['pay.example.com'])
  await writeFile(join(folder, 'key.pem'), key)
  await writeFile(join(folder, 'cert.pem'), cert)
  const site = (await readFile('deploy/nginx/beck.conf', 'utf8'))
    .replace('127.0.0.1:8080', upstream.host)
    .replace('listen 80;', `listen 127.0.0.1:${http};`)
    .replace('listen 443 ssl http2;', `listen 127.0.0.1:${https} ssl http2;`)
    .replaceAll(/^ *listen \[::\].*\n/gm, '')
    .replace(/\/etc\/letsencrypt\S+fullchain.pem/, join(folder, 'cert.pem'))
    .replace(/\/etc\/letsencrypt\S+privkey.pem/, join(folder, 'key.pem'))
    .replace('/var/www/html', join(folder, 'html'))
  // Read by nginx' own user, where this is root.
  await chmod(folder, 0o755)
  await mkdir(join(folder, 'html/.well-known/acme-challenge'), { recursive: true })
  await writeFile(join(folder, 'html/.well-known/acme-challenge/token'), 'what certbot put there')
  await writeFile(
    join(folder, 'nginx.conf'),
    `pid ${folder}/nginx.pid; error_log stderr; events {}
     http { access_log ${folder}/access.log; ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`).join(' ')}
     ${site} }`,
  )
  const given = ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', 'stderr']
  await exec(NGINX, [...given, '-t'])
  const nginx = spawn(NGINX, [...given, '-g', 'daemon off;'], { stdio: 'ignore' })
  after(() => nginx.kill('SIGKILL'))

  const ask = (path: string, headers: Record<string, string> = {}) =>
    new Promise<{ status: number; body: string; headers: Record<string, unknown> }>((resolve, reject) => {
      request(
        {
          host: '127.0.0.1',
          port: https,
          path,
          ca: cert,
          servername: 'pay.example.com',
          headers: { host: 'pay.example.com', ...headers },
        },
        async (answer) =>
          resolve({
            status: answer.statusCode ?? 0,
            headers: answer.headers,
            body: Buffer.concat(await Array.fromAsync(answer)).toString(),
          }),
      )
        .on('error', reject)
        .end()
    })
  await waitFor('nginx', () => ask('/livez').catch(() => null))
  const alive = await ask('/livez')
  assert.equal(alive.status, 200)
  assert.equal(alive.headers['strict-transport-security'], 'max-age=63072000', 'once')
  assert.equal((await ask('/checkout/cs_x')).status, 404)
  // Failed sign-ins are counted by address: a stranger cannot name a new one each time.
  const guess = (n: number) =>
    ask('/v1/payments', { 'x-api-key': 'bk_test_wrong', 'x-forwarded-for': `192.0.2.${n}` })
  const statuses = new Set<number>()
  for (let n = 0; n < 60; n += 1) statuses.add((await guess(n)).status)
  assert.ok(statuses.has(429), 'all came from one address')
  const plain = await fetch(`http://127.0.0.1:${http}/docs`, { redirect: 'manual' })
  assert.equal(plain.status, 308)
  // A certificate is renewed while nginx runs.
  const challenge = await fetch(`http://127.0.0.1:${http}/.well-known/acme-challenge/token`)
  assert.equal(await challenge.text(), 'what certbot put there')
  // Links that are secrets are in no log; what was asked for before and after them is.
  for (const path of ['/pos/pos_secret', '/pos/pos_secret/sales', '/dashboard/join/secret']) {
    await ask(path)
    await fetch(`http://127.0.0.1:${http}${path}`, { redirect: 'manual' })
  }
  await ask('/livez?last')
  const log = await waitFor('the log', async () => {
    const text = await readFile(join(folder, 'access.log'), 'utf8')
    return text.includes('/livez?last') ? text : null
  })
  assert.doesNotMatch(log, /secret/)
  nginx.kill('SIGTERM')
})

test('caddy takes its file', async () => {
  const home = { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }
  await exec('caddy', ['validate', '--adapter', 'caddyfile', '--config', 'deploy/caddy/Caddyfile'], {
    env: { ...process.env, ...home },
  })
  const { stdout } = await exec(
    'caddy',
    ['adapt', '--adapter', 'caddyfile', '--config', 'deploy/caddy/Caddyfile'],
    {
      env: { ...process.env, ...home },
    },
  )
  assert.match(stdout, /"flush_interval":-1/)
})
