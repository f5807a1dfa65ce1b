import assert from 'node:assert/strict'
import { createServer, type Socket } from 'node:net'
import { after, test } from 'node:test'
import { type TestGateway, testGateway } from '../../test/gateway.ts'
import { MAIL_PASSWORD, MAIL_USER, openMailServer } from '../../test/mail-server.ts'
import { until } from '../../test/wait-for.ts'
import { listAlerts } from '../alerts/alerts.sql.ts'
import { openSecrets } from '../core/secrets.ts'
import { freePort } from '../db/embedded/embedded.ts'
import { listMails, pruneMails, queueMails } from '../mails/mails.sql.ts'
import { openMailSender } from '../mails/send-mail.ts'
import { readSmtpUrl, type SmtpServer } from '../mails/smtp-url.ts'
import { openLog } from '../process/log.ts'
import { startMailer } from './send-mails.ts'

const FROM = { name: 'Beck', address: 'beck@shop.example' }
const LETTER = { subject: 'Grüße', text: 'https://beck.example/dashboard/join/very-secret-token\n' }

const serverAt = (port: number, changes: Partial<SmtpServer> = {}): SmtpServer => ({
  host: '127.0.0.1',
  port,
  isTls: false,
  needsStartTls: true,
  user: MAIL_USER,
  password: MAIL_PASSWORD,
  ...changes,
})

let causes = 0
const queue = (gateway: TestGateway, to: string) =>
  queueMails(gateway.db, gateway.secrets, [
    { cause: `test:${++causes}`, kind: 'reset', to: [to], letter: LETTER },
  ])

/** A mailer whose log is kept; stopped when the test file ends. */
function mailer(
  given: TestGateway,
  server: SmtpServer,
  {
    slowMs = 10_000,
    drainMs = 100,
    ...options
  }: { ca?: string; deadlineMs?: number; slowMs?: number; drainMs?: number } = {},
) {
  const lines: string[] = []
  const gateway = { ...given, log: openLog('debug', (line) => lines.push(line)) }
  const loop = startMailer(gateway, openMailSender({ server, from: FROM, ...options }), {
    idleMs: 20,
    slowMs,
    drainMs,
  })
  after(() => loop.stop())
  return { loop, lines }
}

const stateOf = async (gateway: TestGateway, to: string) =>
  (await listMails(gateway.db, 100)).find(({ recipient }) => recipient === to)
const isState = (gateway: TestGateway, to: string, status: string) => async () =>
  (await stateOf(gateway, to))?.status === status
/** As if the pause were over. */
const makeDue = (gateway: TestGateway) =>
  gateway.db.query(`update mails set next_attempt_at = now() where status = 'queued'`)

test('a mail goes out over STARTTLS, signed in, once, and its text is gone from the database then', async () => {
  const gateway = await testGateway()
  const server = await openMailServer()
  const { loop, lines } = mailer(gateway, serverAt(server.port), { ca: server.ca })
  await queue(gateway, 'ada@example.com')
  await until('sent', isState(gateway, 'ada@example.com', 'sent'))
  await loop.stop()
  const [mail, ...others] = server.mails
  assert.equal(others.length, 0)
  assert.deepEqual([mail?.to, mail?.isEncrypted, mail?.user], [['ada@example.com'], true, MAIL_USER])
  assert.match(mail?.source ?? '', /very-secret-token/)
  assert.match(mail?.source ?? '', /^Subject: =\?UTF-8\?Q\?Gr=C3=BC=C3=9Fe\?=/m)
  assert.match(mail?.source ?? '', /^From: Beck <beck@shop\.example>/m)
  assert.match(mail?.source ?? '', /^Message-ID: <[0-9a-f-]{36}@shop\.example>/im)
  assert.match(mail?.source ?? '', /^Auto-Submitted: auto-generated/im)
  const { rows } = await gateway.db.query('select 1 from mails where content_sealed is not null')
  assert.equal(rows.length, 0)
  assert.doesNotMatch(lines.join(''), /very-secret|p@ss|p%40ss|ada@example/)
})

test('what keeps new mails from being written keeps none from being sent, and is logged', async () => {
  const gateway = await testGateway()
  const server = await openMailServer()
  await gateway.db.query('alter table audit_log rename to elsewhere')
  const { loop, lines } = mailer(gateway, serverAt(server.port), { ca: server.ca })
  await queue(gateway, 'reset@example.com')
  await until('sent', isState(gateway, 'reset@example.com', 'sent'))
  await until('it is said', async () => /a turn of the mail loop failed/.test(lines.join('')))
  await loop.stop()
})

test('TLS from the first byte, and on no terms a certificate that nobody vouches for', async () => {
  const gateway = await testGateway()
  const server = await openMailServer({ isTls: true })
  const blind = mailer(gateway, serverAt(server.port, { isTls: true }))
  await queue(gateway, 'tls@example.com')
  await until('tried', async () => (await stateOf(gateway, 'tls@example.com'))?.trouble != null)
  await blind.loop.stop()
  assert.equal(server.mails.length, 0)
  assert.match((await stateOf(gateway, 'tls@example.com'))?.trouble ?? '', /certificate/i)
  await makeDue(gateway)
  mailer(gateway, serverAt(server.port, { isTls: true }), { ca: server.ca })
  await until('sent', isState(gateway, 'tls@example.com', 'sent'))
  assert.equal(server.mails[0]?.isEncrypted, true)
})

test('a server that hides STARTTLS is told neither password nor mail, unless it is this machine', async () => {
  const gateway = await testGateway()
  const server = await openMailServer({ hidesStartTls: true })
  const strict = mailer(gateway, serverAt(server.port))
  await queue(gateway, 'plain@example.com')
  await until('tried', async () => (await stateOf(gateway, 'plain@example.com'))?.trouble != null)
  await strict.loop.stop()
  assert.equal(server.mails.length, 0)
  assert.equal((await stateOf(gateway, 'plain@example.com'))?.status, 'queued')
  await makeDue(gateway)
  const here = readSmtpUrl(`smtp://127.0.0.1:${server.port}`)
  assert.ok(here)
  mailer(gateway, here)
  await until('sent', isState(gateway, 'plain@example.com', 'sent'))
  assert.equal(server.mails[0]?.isEncrypted, false)
})

test('a dead server is tried again later, ever more rarely; the mail goes out once it is back', async () => {
  const gateway = await testGateway()
  const port = await freePort()
  const { lines } = mailer(gateway, serverAt(port, { needsStartTls: false, user: null }))
  await queue(gateway, 'late@example.com')
  for (let attempts = 1; attempts <= 4; attempts++) {
    await until(`attempt ${attempts}`, async () => {
      const mail = await stateOf(gateway, 'late@example.com')
      return mail?.attempts === attempts && mail.trouble !== null
    })
    const { rows } = await gateway.db.query<{ pause: number }>(
      `select extract(epoch from next_attempt_at - now())::float8 as pause from mails where status = 'queued'`,
    )
    const [low = 0, high = 0] = [
      [40, 73],
      [90, 145],
      [230, 361],
      [470, 721],
    ][attempts - 1] ?? [0, 0]
    const pause = rows[0]?.pause ?? 0
    assert.ok(pause > low && pause < high, `attempt ${attempts}: ${pause} s`)
    if (attempts < 4) {
      await gateway.db.query('update mails set trouble = null')
      await makeDue(gateway)
    }
  }
  await until('an alert', async () =>
    (await listAlerts(gateway.db, { all: false, limit: 5 })).some(({ kind }) => kind === 'mail_server'),
  )
  const server = await openMailServer({ port })
  await makeDue(gateway)
  await until('sent', isState(gateway, 'late@example.com', 'sent'))
  assert.equal(server.mails.length, 1)
  assert.doesNotMatch(lines.join(''), /very-secret|late@example/)
})

test('what is too old to be of use is given up, and its text goes', async () => {
  const gateway = await testGateway()
  await queue(gateway, 'old@example.com')
  await gateway.db.query(`update mails set expires_at = now() + interval '10 seconds'`)
  mailer(gateway, serverAt(await freePort()))
  await until('given up', isState(gateway, 'old@example.com', 'given_up'))
  const { rows } = await gateway.db.query('select 1 from mails where content_sealed is not null')
  assert.equal(rows.length, 0)
  assert.equal(await pruneMails(gateway.db, 10), 0, 'the operator can still see it')
  await gateway.db.query(`update mails set finished_at = now() - interval '31 days'`)
  assert.equal(await pruneMails(gateway.db, 10), 1)
})

test('what went stale in the queue is not sent', async () => {
  const gateway = await testGateway()
  const server = await openMailServer()
  await queue(gateway, 'stale@example.com')
  await gateway.db.query(`update mails set expires_at = now()`)
  await queue(gateway, 'fresh@example.com')
  mailer(gateway, serverAt(server.port), { ca: server.ca })
  await until('sent', isState(gateway, 'fresh@example.com', 'sent'))
  await until('given up', isState(gateway, 'stale@example.com', 'given_up'))
  assert.deepEqual(
    server.mails.flatMap(({ to }) => to),
    ['fresh@example.com'],
  )
})

test('a mail that was sealed with a lost key is given up, told, and holds up no other', async () => {
  const gateway = await testGateway()
  const server = await openMailServer()
  const lost = openSecrets(Buffer.alloc(32, 9))
  for (let number = 0; number < 6; number++)
    await queueMails(gateway.db, lost, [
      { cause: `lost:${number}`, kind: 'reset', to: [`lost${number}@example.com`], letter: LETTER },
    ])
  await queue(gateway, 'good@example.com')
  const { lines } = mailer(gateway, serverAt(server.port), { ca: server.ca })
  await until('sent', isState(gateway, 'good@example.com', 'sent'))
  for (let number = 0; number < 6; number++)
    await until('given up', isState(gateway, `lost${number}@example.com`, 'given_up'))
  const mail = await stateOf(gateway, 'lost0@example.com')
  assert.deepEqual([mail?.attempts, mail?.trouble?.includes('BECK_SECRET_KEY')], [1, true])
  assert.match(lines.join(''), /does not open with BECK_SECRET_KEY/)
})

test('a recipient who is refused for good is not tried again; one who is refused for now is', async () => {
  const gateway = await testGateway()
  const server = await openMailServer({
    refuse: (to) => (to.startsWith('gone') ? 550 : to.startsWith('full') ? 452 : null),
  })
  const { lines } = mailer(gateway, serverAt(server.port), { ca: server.ca })
  for (const to of ['gone@example.com', 'full@example.com', 'here@example.com']) await queue(gateway, to)
  await until('refused', isState(gateway, 'gone@example.com', 'refused'))
  await until('sent', isState(gateway, 'here@example.com', 'sent'))
  await until('tried', async () => (await stateOf(gateway, 'full@example.com'))?.trouble != null)
  const full = await stateOf(gateway, 'full@example.com')
  assert.deepEqual([full?.status, full?.attempts], ['queued', 1])
  assert.match((await stateOf(gateway, 'gone@example.com'))?.trouble ?? '', /550/)
  assert.deepEqual(
    server.mails.flatMap(({ to }) => to),
    ['here@example.com'],
  )
  assert.doesNotMatch(lines.join(''), /very-secret|example\.com/)
})

test('a sender that the server refuses is the operator’s to mend: no mail is lost for it', async () => {
  const gateway = await testGateway()
  let code: number | null = 553
  const server = await openMailServer({ refuseSender: () => code })
  const { loop } = mailer(gateway, serverAt(server.port), { ca: server.ca })
  await queue(gateway, 'waits@example.com')
  await until('tried', async () => (await stateOf(gateway, 'waits@example.com'))?.trouble != null)
  const waiting = await stateOf(gateway, 'waits@example.com')
  assert.deepEqual([waiting?.status, waiting?.trouble?.includes('553')], ['queued', true])
  code = null
  await makeDue(gateway)
  await until('sent', isState(gateway, 'waits@example.com', 'sent'))
  await loop.stop()
})

test('a conversation that is cut off ends there: the server takes nothing of it afterwards', async () => {
  const gateway = await testGateway()
  const held = Promise.withResolvers<void>()
  const server = await openMailServer({ answerAt: () => held.promise })
  const { loop } = mailer(gateway, serverAt(server.port), { ca: server.ca, deadlineMs: 1_000 })
  await queue(gateway, 'cut@example.com')
  await until('cut off', async () => (await stateOf(gateway, 'cut@example.com'))?.trouble != null)
  assert.match((await stateOf(gateway, 'cut@example.com'))?.trouble ?? '', /no answer within 1 s/)
  held.resolve()
  await until('ended', async () => server.ended() === 1)
  assert.deepEqual(server.mails, [])
  await loop.stop()
})

test('stopping waits for what the server says of a mail that it has', async () => {
  const gateway = await testGateway()
  const [has, taken] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const server = await openMailServer({
    takeAt() {
      has.resolve()
      return taken.promise
    },
  })
  const { loop } = mailer(gateway, serverAt(server.port), { ca: server.ca, drainMs: 60_000 })
  await queue(gateway, 'under-way@example.com')
  await has.promise
  const stopped = loop.stop()
  await new Promise(setImmediate)
  taken.resolve()
  await stopped
  const mail = await stateOf(gateway, 'under-way@example.com')
  assert.deepEqual([mail?.status, mail?.attempts, server.mails.length], ['sent', 1, 1])
})

test('mails that the server is slow with hold up no others', async () => {
  const gateway = await testGateway()
  const held = Promise.withResolvers<void>()
  const server = await openMailServer({
    answerAt: async (to) => (to.startsWith('slow') ? held.promise : undefined),
  })
  for (let number = 0; number < 5; number++) await queue(gateway, `slow${number}@example.com`)
  await gateway.db.query("update mails set next_attempt_at = now() - interval '1 minute'")
  const { loop } = mailer(gateway, serverAt(server.port), { ca: server.ca, slowMs: 50 })
  await queue(gateway, 'quick@example.com')
  await until('sent', isState(gateway, 'quick@example.com', 'sent'), 10_000)
  held.resolve()
  for (let number = 0; number < 5; number++)
    await until('sent', isState(gateway, `slow${number}@example.com`, 'sent'))
  await loop.stop()
  assert.equal(server.mails.length, 6)
})

test('a server that takes the connection and says nothing holds nobody up; stopping counts no attempt', async () => {
  const gateway = await testGateway()
  const sockets = new Set<Socket>()
  const silent = createServer((socket) => void sockets.add(socket))
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  after(() => {
    for (const socket of sockets) socket.destroy()
    silent.close()
  })
  const address = silent.address()
  const port = typeof address === 'object' && address ? address.port : 0
  const short = mailer(gateway, serverAt(port), { deadlineMs: 200 })
  await queue(gateway, 'slow@example.com')
  await until('cut off', async () => (await stateOf(gateway, 'slow@example.com'))?.trouble != null)
  await short.loop.stop()
  await makeDue(gateway)
  const patient = mailer(gateway, serverAt(port), { deadlineMs: 60_000 })
  await until('claimed', async () => (await stateOf(gateway, 'slow@example.com'))?.attempts === 2)
  await patient.loop.stop()
  assert.deepEqual((await stateOf(gateway, 'slow@example.com'))?.attempts, 1)
})

test('the doctor says whether the mail server lets Beck in', async () => {
  const server = await openMailServer()
  const look = (changes: Partial<SmtpServer>) =>
    openMailSender({ server: serverAt(server.port, changes), from: FROM, ca: server.ca }).trouble()
  assert.equal(await look({}), null)
  const wrong = await look({ password: 'another one' })
  assert.match(wrong ?? '', /535|Invalid/)
  assert.doesNotMatch(wrong ?? '', /another one/)
  assert.match((await look({ port: await freePort() })) ?? '', /ECONNREFUSED/)
})

test('nobody gets two mails of one cause', async () => {
  const gateway = await testGateway()
  const draft = {
    cause: 'act:1',
    kind: 'notice',
    to: ['a@example.com', 'b@example.com'],
    letter: LETTER,
  } as const
  await queueMails(gateway.db, gateway.secrets, [draft])
  await queueMails(gateway.db, gateway.secrets, [draft])
  assert.equal((await listMails(gateway.db, 10)).length, 2)
})
