/** Hands a mail to the operator's mail server. The library is loaded with the first mail. */
import { withoutCredentials } from '../core/errors.ts'
import { isFinal, type Letter, type MailOutcome } from './mail.ts'
import type { SmtpServer } from './smtp-url.ts'

export interface MailSender {
  /**
   * @param id - Of the mail: a receiver that gets it twice, after a crash, can tell.
   * @returns Null when it was cut off by the signal.
   */
  send(id: string, to: string, letter: Letter, signal: AbortSignal): Promise<MailOutcome | null>
  /** Connects and signs in, and sends nothing. @returns What is wrong; null for nothing. */
  trouble(): Promise<string | null>
}

export interface MailSenderOptions {
  readonly server: SmtpServer
  readonly from: { readonly name: string; readonly address: string }
  /** For one exchange as a whole, however slowly the server goes on answering. */
  readonly deadlineMs?: number
  /** Certificates to trust besides the system's; for tests. */
  readonly ca?: string
}

/** A server may take its time over a recipient or a mail; what it took shortly behind this comes twice. Shorter than a claim. */
const DEADLINE_MS = 240_000
/** One that is not there is waited for no longer than this, nor one that does not greet. */
const CONNECT_MS = 30_000
const TROUBLE_LENGTH_MAX = 300

export function openMailSender({
  server,
  from,
  deadlineMs = DEADLINE_MS,
  ca,
}: MailSenderOptions): MailSender {
  const connect = async () => {
    const { createTransport } = await import('nodemailer')
    return createTransport({
      host: server.host,
      port: server.port,
      secure: server.isTls,
      requireTLS: server.needsStartTls,
      // On this very machine there is nobody between, and mail servers there show certificates that nobody vouches for.
      ignoreTLS: !server.isTls && !server.needsStartTls,
      ...(server.user === null ? {} : { auth: { user: server.user, pass: server.password ?? '' } }),
      ...(ca === undefined ? {} : { tls: { ca } }),
      connectionTimeout: Math.min(CONNECT_MS, deadlineMs),
      greetingTimeout: Math.min(CONNECT_MS, deadlineMs),
      socketTimeout: deadlineMs,
      // Nothing of a mail is read from a file or fetched.
      disableFileAccess: true,
      disableUrlAccess: true,
    })
  }
  return {
    async trouble() {
      const transport = await connect()
      try {
        await transport.verify()
        return null
      } catch (error) {
        const outcome = outcomeOf(error)
        return 'trouble' in outcome ? outcome.trouble : null
      } finally {
        transport.close()
      }
    },
    async send(id, to, letter, signal) {
      const transport = await connect()
      const until = AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)])
      const domain = from.address.split('@')[1]
      try {
        // Cut off, the conversation ends with it.
        await transport.sendMail({
          from,
          to: { name: '', address: to },
          subject: letter.subject,
          text: letter.text,
          messageId: `<${id}@${domain}>`,
          // RFC 3834: no vacation answers this.
          headers: { 'Auto-Submitted': 'auto-generated' },
          signal: until,
        })
        return { kind: 'sent' }
      } catch (error) {
        if ((error as { code?: string }).code !== 'EABORT') return outcomeOf(error)
        if (signal.aborted) return null
        return { kind: 'failed', trouble: `no answer within ${deadlineMs / 1_000} s` }
      } finally {
        transport.close()
      }
    },
  }
}

function outcomeOf(error: unknown): MailOutcome {
  const { code, command, response, message } = error as Record<string, string | undefined>
  const isOfMail = code === 'EMESSAGE' || command === 'RCPT TO'
  return {
    kind: isOfMail && isFinal(response ?? '') ? 'refused' : 'failed',
    trouble: withoutCredentials(message ?? String(error))
      .replace(/\p{Cc}+/gu, ' ')
      .slice(0, TROUBLE_LENGTH_MAX),
  }
}
