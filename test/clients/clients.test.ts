/**
 * The clients for Python and PHP, each run by its own interpreter: their guides as they stand against a running Beck, every
 * operation of the document, a server that fails, and webhooks that are forged.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { after, before, describe } from 'node:test'
import { promisify } from 'node:util'
import { signatureHeaders } from '../../src/events/signature.ts'
import { call, testApp, testMerchant } from '../api.ts'
import { testGateway } from '../gateway.ts'
import { HALVES, type Half, isHalf, sendHalf } from '../half-answers.ts'
import { IDEMPOTENCY_KEYS } from '../idempotency-keys.ts'
import { losingServer } from '../lost-answers.ts'

const exec = promisify(execFile)
const gateway = await testGateway({ freshPerChain: 60 })
const app = await testApp(gateway)
const base = `${await app.listen({ port: 0, host: '127.0.0.1' })}/v1`
const { key } = await testMerchant(gateway.db)
const folder = await mkdtemp(join(tmpdir(), 'beck-clients-'))
after(() => rm(folder, { recursive: true, force: true }))

interface Language {
  readonly file: string
  readonly command: readonly string[]
  /** Before each program. */
  readonly head: string
  /**
   * Calls every public method with `a` for each argument that has to be given, and a body where one is taken, and prints each answer as a
   * line of JSON. It waits for nothing between tries.
   */
  readonly everyMethod: string
  /** Creates a payment at the variable BECK_URL and prints its id, or the name of what was thrown. */
  readonly create: string
  /** Does so with each of KEYS as its Idempotency-Key, and prints a line for each. */
  readonly createWithKeys: string
  /** Makes a payment with the metadata of each of IDS, as it was read, and prints its id. */
  readonly giveBack: string
  /** Reads `{ body, headers, secrets }` as JSON from the variable SENT and prints the type, or the name of what was thrown. */
  readonly verify: string
}

const root = process.cwd()
const LANGUAGES: Readonly<Record<string, Language>> = {
  python: {
    file: 'program.py',
    command: ['python3', '-W', 'error'],
    head: `import sys\nsys.dont_write_bytecode = True\nsys.path.insert(0, ${JSON.stringify(join(root, 'clients/python'))})\n`,
    everyMethod: `
import inspect, json, os
import beck
from beck import Beck
beck._pause = lambda *_: None
client = Beck("bk_test_x", os.environ["BECK_URL"])
for group in vars(client).values():
    for name, method in inspect.getmembers(group, inspect.ismethod):
        if name.startswith("_"):
            continue
        needed = [p for p in inspect.signature(method).parameters.values() if p.kind == p.POSITIONAL_OR_KEYWORD and p.default is p.empty]
        answer = method(*["a" for _ in needed])
        if inspect.isgenerator(answer):
            answer = list(answer)
        print(name, json.dumps(answer))
`,
    create: `
import os
from decimal import Decimal
import beck
try:
    client = beck.Beck(os.environ.get("BECK_API_KEY"), os.environ.get("BECK_URL"), timeout=2)
    print(client.payments.create(asset="LTC", fiat_amount=Decimal("49.90"))["id"], end="")
except Exception as error:
    print(type(error).__name__, getattr(error, "reason", ""), end="")
`,
    createWithKeys: `
import json, os
import beck
client = beck.Beck(os.environ["BECK_API_KEY"], os.environ["BECK_URL"])
for key in json.loads(os.environ["KEYS"]):
    try:
        print(client.payments.create(asset="LTC", fiat_amount=5, idempotency_key=key)["status"])
    except Exception as error:
        print(type(error).__name__)
`,
    giveBack: `
import json, os
import beck
client = beck.Beck(os.environ["BECK_API_KEY"], os.environ["BECK_URL"])
for id in json.loads(os.environ["IDS"]):
    metadata = client.payments.retrieve(id)["metadata"]
    print(client.payments.create(asset="LTC", fiat_amount=5, metadata=metadata)["id"])
`,
    verify: `
import json, os
import beck
sent = json.loads(os.environ["SENT"])
try:
    print(beck.verify_webhook(sent["body"].encode(), sent["headers"], *sent["secrets"])["type"], end="")
except Exception as error:
    print(type(error).__name__, end="")
`,
  },
  php: {
    file: 'program.php',
    command: ['php', '-d', 'display_errors=stderr', '-d', 'error_reporting=-1'],
    head: `<?php\n${['errors', 'Json', 'Beck', 'Webhook'].map((name) => `require ${JSON.stringify(join(root, `clients/php/src/${name}.php`))};\n`).join('')}`,
    everyMethod: `
eval('namespace Beck; function usleep() {}');
$client = new Beck\\Beck('bk_test_x', getenv('BECK_URL'));
foreach ((new ReflectionClass($client))->getMethods(ReflectionMethod::IS_PUBLIC) as $method) {
    if ($method->isConstructor() || $method->getName() === 'each') continue;
    $given = [];
    foreach ($method->getParameters() as $parameter)
        if (!$parameter->isOptional()) $given[] = (string) $parameter->getType() === 'array' ? ['x' => 1] : 'a';
    echo $method->getName(), ' ', json_encode($method->invokeArgs($client, $given)), "\\n";
}
foreach ($client->each('payments') as $nothing);
`,
    create: `
try {
    $client = new Beck\\Beck(getenv('BECK_API_KEY') ?: null, getenv('BECK_URL') ?: null, timeoutSeconds: 2);
    echo $client->createPayment(['asset' => 'LTC', 'fiat_amount' => '49.90'])['id'];
} catch (Throwable $error) {
    echo str_replace(['Beck\\\\', 'Exception'], ['', 'Error'], $error::class), ' ', $error->reason ?? '';
}
`,
    createWithKeys: `
$client = new Beck\\Beck(getenv('BECK_API_KEY'), getenv('BECK_URL'));
foreach (json_decode(getenv('KEYS')) as $key) {
    try {
        echo $client->createPayment(['asset' => 'LTC', 'fiat_amount' => 5], $key)['status'], "\\n";
    } catch (Throwable $error) {
        echo str_replace(['Beck\\\\', 'Exception'], ['', 'Error'], $error::class), "\\n";
    }
}
`,
    giveBack: `
$client = new Beck\\Beck(getenv('BECK_API_KEY'), getenv('BECK_URL'));
foreach (json_decode(getenv('IDS')) as $id) {
    $metadata = $client->payment($id)['metadata'];
    is_array($metadata) || throw new TypeError('metadata is an array');
    echo $client->createPayment(['asset' => 'LTC', 'fiat_amount' => 5, 'metadata' => $metadata])['id'], "\\n";
}
`,
    verify: `
$sent = json_decode(getenv('SENT'), true);
try {
    echo Beck\\Webhook::verify($sent['body'], $sent['headers'], $sent['secrets'])['type'];
} catch (Throwable $error) {
    echo str_replace(['Beck\\\\', 'Exception'], ['', 'Error'], $error::class);
}
`,
  },
}

async function run(language: Language, program: string, variables: Record<string, string>): Promise<string> {
  const file = join(folder, language.file)
  await writeFile(file, language.head + program)
  const [command = '', ...options] = language.command
  const { stdout, stderr } = await exec(command, [...options, file], {
    env: { PATH: process.env.PATH, ...variables },
  })
  assert.equal(stderr, '')
  return stdout
}

/** A server that answers as it is told and keeps what it was asked. */
const asked: { method: string; path: string; key: string | undefined; body: string }[] = []
let answers: (number | 'cut' | 'in flight' | Half)[] = []
const failing = createServer((request, reply) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => {
    const { method = '', url = '', headers } = request
    const body = Buffer.concat(chunks).toString()
    asked.push({ method, path: url, key: headers['idempotency-key']?.toString(), body })
    const answer = answers.shift() ?? 200
    if (answer === 'cut') return request.socket.destroy()
    if (isHalf(answer)) return sendHalf(request.socket, answer)
    const data = { id: 'pay_1', items: [], total: 0, page: 1, limit: 25, total_pages: 0, has_more: false }
    const reason = answer === 'in flight' ? 'idempotency_key_in_flight' : 'no_rate'
    const error = { message: 'no', reason, code: 'X', details: [], request_id: 'req_1' }
    reply.writeHead(answer === 'in flight' ? 409 : answer, {
      'content-type': 'application/json',
      ...(answer === 503 && { 'retry-after': '1' }),
    })
    reply.end(
      JSON.stringify(
        answer === 200 ? { data: { ...data, cursor: null }, error: null } : { data: null, error },
      ),
    )
  })
})
let failingUrl = ''
before(async () => {
  await new Promise<void>((resolve) => failing.listen(0, '127.0.0.1', resolve))
  failingUrl = `http://127.0.0.1:${(failing.address() as AddressInfo).port}`
})
after(() => failing.close())

for (const [name, language] of Object.entries(LANGUAGES)) {
  describe(`the client for ${name}`, () => {
    test('its guide runs as it stands', async () => {
      const guide = await readFile(`clients/${name}/README.md`, 'utf8')
      const blocks = [...guide.matchAll(new RegExp(`^\`\`\`${name}\\n(.*?)^\`\`\`$`, 'gms'))]
      assert.equal(blocks.length, 2, 'a payment and a webhook')
      const program = blocks
        .map(([, block = '']) => block)
        .join('\n')
        .replace('http://127.0.0.1:8080/v1', base)
      const variables = { BECK_API_KEY: key }
      assert.match(
        await run(language, program, variables),
        /^send exactly 0\.4999 LTC to tltc1q\w+(\npay_\w+ \w+)+\n$/,
      )
    })

    test('it has every operation of the document, and asks for no other', async () => {
      asked.length = 0
      answers = []
      await run(language, language.everyMethod, { BECK_URL: failingUrl })
      const document = JSON.parse(await readFile('docs/openapi.json', 'utf8'))
      const operations = Object.entries(document.paths as Record<string, object>).flatMap(([path, methods]) =>
        Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replace(/\{\w+\}/g, 'a')}`),
      )
      const used = new Set(
        asked.map(({ method, path }) => `${method} ${path.replace('/v1', '').split('?')[0]}`),
      )
      assert.deepEqual([...used].sort(), operations.sort())
    })

    test('each method whose first answer is lost returns what it returns without that', async () => {
      const answersOf = async (losing: boolean) => {
        const server = losingServer(losing)
        await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
        const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
        const told = await run(language, language.everyMethod, { BECK_URL: url }).finally(() =>
          server.close(),
        )
        return told.split('\n')
      }
      const whole = await answersOf(false)
      assert.ok(whole.length > 30, 'each prints its answer')
      assert.deepEqual(await answersOf(true), whole)
    })

    test('what it sends as an Idempotency-Key is what Beck takes, and nothing else is sent', async () => {
      // The number of an order is a key, too.
      const all = [...IDEMPOTENCY_KEYS, [1001, true] as const]
      const taken = all.map(([each, isTaken]) => [JSON.stringify(each), isTaken])
      const keys = JSON.stringify(all.map(([each]) => each))
      const own = await testMerchant(gateway.db)
      const variables = { BECK_API_KEY: own.key, BECK_URL: base, KEYS: keys }
      const told = await run(language, language.createWithKeys, variables)
      const outcomes = told.trimEnd().split('\n')
      assert.deepEqual(new Set(outcomes), new Set(['pending', 'ConfigurationError']))
      assert.deepEqual(
        taken.map(([each], at) => [each, outcomes[at] === 'pending']),
        taken,
      )
    })

    test('metadata that it read is taken when it is given back, and stays what it was', async () => {
      const given = [
        {},
        { a: {}, b: [], c: [{}, [], { d: {} }] },
        { 0: 'x' },
        { a: { 0: 1, 1: 2 }, b: { 1: 1 }, c: [1, 2] },
        { metadata: {}, a: { metadata: { 0: {} } } },
        { '': { '': [] }, n: null, f: 1.5, t: true },
      ]
      const ids: string[] = []
      for (const metadata of given)
        ids.push((await call(app, key, 'POST', '/payments', { body: { asset: 'LTC', fiat_amount: 5, metadata } })).data.id) // biome-ignore format: short
      const variables = { BECK_API_KEY: key, BECK_URL: base, IDS: JSON.stringify(ids) }
      const again = (await run(language, language.giveBack, variables)).trimEnd().split('\n')
      const kept: unknown[] = []
      for (const id of again) kept.push((await call(app, key, 'GET', `/payments/${id}`)).data.metadata)
      assert.deepEqual(kept, given)
    })

    test('what is cut off or fails is tried again under one key; a number keeps its digits', async () => {
      asked.length = 0
      answers = ['cut', 503, 200]
      const variables = { BECK_API_KEY: 'bk_test_x', BECK_URL: failingUrl }
      assert.equal(await run(language, language.create, variables), 'pay_1')
      assert.equal(asked.length, 3)
      assert.ok(asked[0]?.key)
      assert.equal(new Set(asked.map((each) => each.key)).size, 1)
      assert.match(asked[0]?.body ?? '', /"fiat_amount": ?49\.90[,}]/)
    })

    test('a success of which half comes is no answer: tried again under one key', async () => {
      const variables = { BECK_API_KEY: 'bk_test_x', BECK_URL: failingUrl }
      for (const half of Object.keys(HALVES) as Half[]) {
        asked.length = 0
        answers = [half, 200]
        assert.equal(await run(language, language.create, variables), 'pay_1', half)
        assert.equal(asked.length, 2)
        assert.equal(asked[0]?.key, asked[1]?.key)
      }
      answers = Array(3).fill('cut without a word of its length')
      assert.equal(await run(language, language.create, variables), 'ConnectionError ')
    })

    test('a call whose first try is still under way is answered with what became of it', async () => {
      asked.length = 0
      answers = ['cut', 'in flight', 200]
      const variables = { BECK_API_KEY: 'bk_test_x', BECK_URL: failingUrl }
      assert.equal(await run(language, language.create, variables), 'pay_1')
      assert.equal(asked.length, 3)
      assert.equal(new Set(asked.map((each) => each.key)).size, 1)
    })

    test('refusals, silence and settings that cannot work are told apart', async () => {
      const variables = { BECK_API_KEY: 'bk_test_x', BECK_URL: failingUrl }
      asked.length = 0
      answers = [409]
      assert.equal(await run(language, language.create, variables), 'ConflictError no_rate')
      assert.equal(asked.length, 1)
      answers = ['cut', 'cut', 'cut']
      assert.equal(await run(language, language.create, variables), 'ConnectionError ')
      asked.length = 0
      for (const wrong of [
        {},
        { BECK_API_KEY: 'bk_test_…', BECK_URL: failingUrl },
        { BECK_API_KEY: 'bk_test_x\n', BECK_URL: failingUrl },
        { BECK_API_KEY: 'bk_test_x' },
        { BECK_API_KEY: 'bk_test_x', BECK_URL: 'localhost:8080' },
      ])
        assert.equal(
          await run(language, language.create, wrong as Record<string, string>),
          'ConfigurationError ',
        )
      assert.equal(asked.length, 0)
    })

    test('a webhook of ours is taken, a forged or late one is not, and a secret that is none stops', async () => {
      const secret = Buffer.alloc(32, 1)
      const shown = `whsec_${secret.toString('base64')}`
      const other = `whsec_${Buffer.alloc(32, 2).toString('base64')}`
      const body = '{"id":"evt_1","type":"payment.completed","data":{"reference":"Straße"}}'
      const sent = (at: Date, by: Uint8Array) => signatureHeaders({ id: 'evt_1', at, body }, [by])
      const now = sent(new Date(), secret)
      const verify = (text: string, headers: object, secrets: readonly unknown[]) =>
        run(language, language.verify, { SENT: JSON.stringify({ body: text, headers, secrets }) })
      assert.equal(await verify(body, now, [shown]), 'payment.completed')
      assert.equal(await verify(body, now, [other, shown]), 'payment.completed')
      const refused = 'WebhookVerificationError'
      assert.equal(await verify(`${body} `, now, [shown]), refused)
      assert.equal(await verify(body, now, [other]), refused)
      assert.equal(await verify(body, sent(new Date(Date.now() - 301_000), secret), [shown]), refused)
      assert.equal(await verify(body, {}, [shown]), refused)
      assert.equal(await verify(body, sent(new Date(), new Uint8Array()), [shown]), refused)
      for (const bad of ['', 'undefined', 'whsec_', 'whsec_…', shown.slice(6), `${shown}\n`, null])
        assert.equal(await verify(body, now, [bad]), 'WebhookSecretError', String(bad))
      assert.equal(await verify(body, now, []), 'WebhookSecretError')
    })
  })
}
