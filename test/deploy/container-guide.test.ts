/** What the guides say of containers: each command is run by a service that can do it, and the settings that they make are whole. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { chmod, copyFile, glob, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { after } from 'node:test'
import { promisify } from 'node:util'
import { blocksOf } from '../install/guide.ts'

const exec = promisify(execFile)
const folder = await mkdtemp(join(tmpdir(), 'beck-container-guide-'))
after(() => rm(folder, { recursive: true, force: true }))

const pages = await Promise.all(
  (
    await Array.fromAsync(
      glob(['docs/**/*.md', 'deploy/*', 'README.md', 'CHANGELOG.md'], { exclude: ['docs/decisions/**'] }),
    )
  ).map(async (path) => [path, await readFile(path, 'utf8').catch(() => '')] as const),
)
const guide = await readFile('docs/single-machine.md', 'utf8')
const containers = guide.slice(guide.indexOf('\n## With containers'))

interface Call {
  readonly path: string
  readonly text: string
  /** Of `run` and `exec`. */
  readonly service?: string
  /** What the service is to do, as words. */
  readonly words: readonly string[]
}

/** Every call of compose that a page has, in a block or in a sentence, where it may go on in the next line. */
const calls: Call[] = pages.flatMap(([path, text]) =>
  [...text.matchAll(/docker compose\s+(?:[^`|>;\n]|\n(?=[^\n`]*`))+/g)].map(([found]) => {
    const words = found.trim().split(/\s+/)
    const verb = words.findIndex((word) => word === 'run' || word === 'exec')
    const rest = verb < 0 ? [] : words.slice(verb + 1)
    const at = rest.findIndex((word) => !word.startsWith('-'))
    const [service] = rest.slice(at)
    return {
      path,
      text: words.join(' '),
      ...(service ? { service } : {}),
      words: at < 0 ? [] : rest.slice(at + 1),
    }
  }),
)

test('every call of compose names the settings', () => {
  assert.ok(calls.length >= 15, String(calls.length))
  for (const { path, text } of calls)
    assert.match(text, /^docker compose --env-file beck\.env /, `${path}: ${text}`)
})

test('every command of the guides is run by a service that can do it', () => {
  const ran = calls.filter(({ service }) => service !== undefined)
  assert.ok(ran.length >= 10)
  for (const { path, text, service, words } of ran) {
    const [command = ''] = words[0] === 'beck' ? words.slice(1) : words
    const where = `${path}: ${text}`
    // The keys are the wallet's and the signer's, and the journal the backup's.
    if (service === 'wallet') assert.notEqual(command, 'find', where)
    else if (service === 'backup') assert.ok(['', 'restore'].includes(command), where)
    else {
      assert.equal(service, 'command', where)
      assert.ok(!['backup', 'restore', 'start'].includes(command), where)
      if (command === 'wallet') assert.equal(words[1], 'find', where)
    }
  }
  const shown = ran.map(({ service, words }) => `${service} ${words.join(' ')}`.trim())
  for (const needed of ['command doctor', 'command reconcile', 'command reconcile --unfreeze', 'wallet init'])
    assert.ok(shown.includes(needed), needed)
})

test('what asks the nodes is known, so that it is run where there are some', async () => {
  const asking: string[] = []
  for await (const path of glob('src/cli/**/*.ts'))
    if ((await readFile(path, 'utf8')).includes('openPorts(')) asking.push(path.slice('src/cli/'.length))
  assert.deepEqual(asking.sort(), ['book-spend.ts', 'doctor/outside.ts', 'find.ts', 'reconcile.ts'])
})

test('the settings that the guide makes start every service, and open the node to Beck', async () => {
  const bin = join(folder, 'bin')
  const clone = join(folder, 'beck')
  await mkdir(bin)
  await mkdir(join(clone, 'deploy'), { recursive: true })
  await copyFile('deploy/beck.env.example', join(clone, 'deploy/beck.env.example'))
  const standIns = {
    git: 'case "$*" in *--always*) echo v7.8.9 ;; *describe*) echo v7.8.9 ;; esac',
    chown: ':',
    docker: ':',
  }
  for (const [name, text] of Object.entries(standIns)) {
    await writeFile(join(bin, name), `#!/bin/sh\n${text}\n`)
    await chmod(join(bin, name), 0o755)
  }
  const blocks = blocksOf(containers).slice(0, 3)
  await exec('bash', ['-euc', blocks.join('\n')], {
    cwd: folder,
    env: { PATH: `${bin}:${process.env.PATH}` },
  })
  const made = Object.fromEntries(
    [...(await readFile(join(clone, 'deploy/beck.env'), 'utf8')).matchAll(/^([A-Z_]+)=(.*)$/gm)].map(
      // As compose reads it: what stands in single quotes stands for itself.
      ([, name, value = '']) => [name, /^'.*'$/.test(value) ? value.slice(1, -1) : value],
    ),
  )
  const compose = await readFile('deploy/compose.yaml', 'utf8')
  for (const [, name = ''] of compose.matchAll(/\$\{([A-Z_]+):\?/g)) assert.ok(made[name], name)
  const passwords = ['POSTGRES', 'OWNER', 'SERVER', 'SIGNER'].map((of) => made[`${of}_PASSWORD`] ?? '')
  for (const password of passwords) assert.match(password, /^[0-9a-f]{48}$/)
  assert.equal(new Set(passwords).size, 4)
  assert.deepEqual([made.BECK_PUBLIC_URL, made.BECK_VERSION], ['https://your.name', 'v7.8.9'])
  const word =
    /^http:\/\/beck:([0-9a-f]{48})@litecoin:9332$/.exec(made.LITECOIN_RPC_URL ?? '')?.[1] ?? assert.fail()
  checkLine(compose, made.LITECOIN_RPCAUTH ?? '', word)
})

test('the line that docs/operators.md makes goes into compose.yaml as its example says', async () => {
  const [, block = ''] =
    /```sh\n( +PASSWORD=[^`]*)```/.exec(await readFile('docs/operators.md', 'utf8')) ?? []
  const [line = '', word = ''] = (await exec('bash', ['-euc', block])).stdout.split('\n')
  assert.match(await readFile('deploy/beck.env.example', 'utf8'), /what stands after `rpcauth=`/)
  checkLine(await readFile('deploy/compose.yaml', 'utf8'), line.replace(/^rpcauth=/, ''), word)
})

/** Of Bitcoin and of Litecoin, which have one form. */
function checkLine(compose: string, given: string, word: string): void {
  for (const coin of ['BITCOIN', 'LITECOIN']) {
    const [, template = ''] = new RegExp(`^ +- (.*\\{${coin}_RPCAUTH.*)$`, 'm').exec(compose) ?? []
    const argument = template.replace(/\$\{\w+:-\}/, () => given)
    const [, salt = '', hash] =
      /^-rpcauth=beck:([0-9a-f]+)\$([0-9a-f]{64})$/.exec(argument) ?? assert.fail(argument)
    assert.equal(createHmac('sha256', salt).update(word).digest('hex'), hash)
  }
}

test('every way of an upgrade begins with a backup of its own, and names what to return to', async () => {
  const text = await readFile('docs/upgrade.md', 'utf8')
  const ways = text.slice(text.indexOf('\n## Upgrade'), text.indexOf('\n## Go back')).split(/^### /m).slice(1)
  const backups: Readonly<Record<string, RegExp>> = {
    'With systemd': /^systemctl start beck-backup\n.*git describe/s,
    'With containers':
      /^file=.*\ndocker compose --env-file beck\.env run --rm --no-TTY backup > \$file\.part && mv.*images api\ngit describe/s,
  }
  assert.deepEqual(
    ways.map((way) => way.slice(0, way.indexOf('\n'))),
    Object.keys(backups),
  )
  for (const way of ways)
    assert.match(blocksOf(way)[0] ?? '', backups[way.slice(0, way.indexOf('\n'))] ?? assert.fail(way))
  const [, withContainers = ''] = ways
  assert.match(withContainers, /The tag is `local` where `BECK_VERSION` was never set/)
})
