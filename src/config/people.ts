/** Settings for the people of the dashboard: the mail server that writes to them. */
import { readMailFrom, readSmtpUrl, type SmtpServer } from '../mails/smtp-url.ts'
import { hidden, type Read } from './variables.ts'

export interface MailSettings {
  readonly server: SmtpServer
  readonly from: { readonly name: string; readonly address: string }
}

/** @returns Null when SMTP_URL is not set: then nothing is mailed. */
export function readMailSettings(read: Read, dashboardUrl: string): MailSettings | null {
  const server = read(
    'SMTP_URL',
    null,
    readSmtpUrl,
    'smtp://user:password@host:587, or smtps:// for TLS from the first byte',
    hidden,
  )
  const from = read(
    'BECK_MAIL_FROM',
    { name: 'Beck', address: `beck@${new URL(dashboardUrl).hostname}` },
    readMailFrom,
    'an address such as beck@example.com, or Name <beck@example.com>',
  )
  return server === null ? null : { server, from }
}
