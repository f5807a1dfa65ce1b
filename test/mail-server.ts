/** A real SMTP server on loopback: it keeps what it takes, and refuses what it is told to. */
import { after } from 'node:test'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { selfSigned } from './certificate.ts'

export interface TakenMail {
  readonly to: readonly string[]
  /** Headers and text, lines joined as quoted-printable says. */
  readonly source: string
  readonly isEncrypted: boolean
  readonly user: string | null
}

export interface MailServer {
  readonly port: number
  readonly mails: readonly TakenMail[]
  /** Conversations that have ended. */
  readonly ended: () => number
  /** Its certificate, which is its own authority. */
  readonly ca: string
  close(): Promise<void>
}

export const MAIL_USER = 'beck'
export const MAIL_PASSWORD = 'p@ss word/7'

/**
 * @param options.isTls - TLS from the first byte; otherwise STARTTLS, unless `hidesStartTls`.
 * @param options.refuse - The answer to a recipient: a code of SMTP, or null to take him.
 * @param options.refuseSender - The answer to a sender, likewise.
 * @param options.answerAt - When recipients are answered.
 * @param options.takeAt - When mails are taken.
 */
export async function openMailServer(
  options: {
    readonly port?: number
    readonly isTls?: boolean
    readonly hidesStartTls?: boolean
    readonly refuse?: (recipient: string) => number | null
    readonly refuseSender?: (sender: string) => number | null
    readonly answerAt?: (recipient: string) => Promise<void>
    readonly takeAt?: () => Promise<void>
  } = {},
): Promise<MailServer> {
  const { key, cert } = selfSigned(['127.0.0.1', 'localhost'])
  const mails: TakenMail[] = []
  let ended = 0
  const answer = (code: number | null, address: string, done: (error?: Error) => void) => {
    if (code === null) done()
    else
      done(
        Object.assign(new Error(`${code === 550 ? '5.1.1 ' : ''}no mail for ${address}`), {
          responseCode: code,
        }),
      )
  }
  const settings: SMTPServerOptions = {
    secure: options.isTls ?? false,
    key,
    cert,
    hideSTARTTLS: options.hidesStartTls ?? false,
    authOptional: true,
    onAuth({ username, password }, _session, done) {
      if (username === MAIL_USER && password === MAIL_PASSWORD) done(null, { user: username })
      else done(new Error('Invalid username or password'))
    },
    onMailFrom: ({ address }, _session, done) =>
      answer(options.refuseSender?.(address) ?? null, address, done),
    async onRcptTo({ address }, _session, done) {
      await options.answerAt?.(address)
      answer(options.refuse?.(address) ?? null, address, done)
    },
    onClose() {
      ended += 1
    },
    onData(stream, session, done) {
      let raw = ''
      stream.setEncoding('utf8')
      stream.on('data', (chunk: string) => {
        raw += chunk
      })
      stream.on('end', async () => {
        await options.takeAt?.()
        mails.push({
          to: session.envelope.rcptTo.map(({ address }) => address),
          source: raw.replace(/(?<!\?)=\r\n/g, '').replaceAll('=3D', '='),
          isEncrypted: session.secure,
          user: typeof session.user === 'string' ? session.user : null,
        })
        done()
      })
    },
  }
  const server = new SMTPServer(settings)
  // A client that gives up in the middle of TLS is no trouble of the server's.
  server.on('error', () => {})
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, '127.0.0.1', resolve))
  let closed: Promise<void> | null = null
  const close = () => {
    closed ??= new Promise<void>((resolve) => server.close(() => resolve()))
    return closed
  }
  after(close)
  const address = server.server.address()
  return {
    port: typeof address === 'object' && address ? address.port : 0,
    mails,
    ended: () => ended,
    ca: cert,
    close,
  }
}
