/** SMTP_URL: `smtps://user:password@host` speaks TLS from the first byte, `smtp://` asks for it with STARTTLS. */
import { isThisMachine } from '../core/networks.ts'

export interface SmtpServer {
  readonly host: string
  readonly port: number
  /** TLS from the first byte. */
  readonly isTls: boolean
  /** Otherwise nothing is said before STARTTLS; on this very machine it may go without. */
  readonly needsStartTls: boolean
  readonly user: string | null
  readonly password: string | null
}

const SUBMISSION_PORT = 587
const TLS_PORT = 465

/** @returns Null when it is no such URL. */
export function readSmtpUrl(text: string): SmtpServer | null {
  const url = URL.parse(text)
  if (!url || !['smtp:', 'smtps:'].includes(url.protocol) || !url.hostname) return null
  if (url.search || url.hash || !['', '/'].includes(url.pathname)) return null
  const isTls = url.protocol === 'smtps:'
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  try {
    return {
      host,
      port: url.port ? Number(url.port) : isTls ? TLS_PORT : SUBMISSION_PORT,
      isTls,
      needsStartTls: !isTls && host !== 'localhost' && !isThisMachine(host),
      user: url.username ? decodeURIComponent(url.username) : null,
      password: url.username ? decodeURIComponent(url.password) : null,
    }
  } catch {
    return null
  }
}

/** `Name <address>` or an address. @returns Null when it is neither. */
export function readMailFrom(text: string): { readonly name: string; readonly address: string } | null {
  const [, name = '', address = ''] = /^(?:([^<>"\r\n]*)<)?([^\s<>@,"]+@[^\s<>@,"]+)>?$/.exec(text) ?? []
  return address && text.endsWith('>') === text.includes('<') ? { name: name.trim(), address } : null
}
