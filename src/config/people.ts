/** Settings for the people of the dashboard: the mail server that writes to them, the provider that vouches for them. */
import { readMailFrom, readSmtpUrl } from '../mails/smtp-url.ts'
import { readIssuer, type SingleSignOnSettings } from '../users/single-sign-on.ts'
import { hidden, type Read, type Variables } from './variables.ts'

/** @returns Null when SMTP_URL is not set: then nothing is mailed. */
export function readMailSettings(read: Read, dashboardUrl: string) {
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

/** All of it or nothing: half a provider is a slip. */
export function readSingleSignOn({ read, report }: Variables): SingleSignOnSettings | null {
  const text = (value: string) => value
  const issuer = read('BECK_OIDC_ISSUER', null, readIssuer, 'an https URL such as https://login.example.com')
  const clientId = read('BECK_OIDC_CLIENT_ID', null, text, 'the client id that the provider gave')
  const clientSecret = read(
    'BECK_OIDC_CLIENT_SECRET',
    null,
    text,
    'the secret that the provider gave',
    hidden,
  )
  const domains = read('BECK_OIDC_DOMAINS', [], domainsOf, 'domains such as example.com, comma-separated')
  const name = read('BECK_OIDC_NAME', null, text, 'what the button says')
  if (issuer === null && clientId === null && clientSecret === null) return null
  if (issuer === null || clientId === null || clientSecret === null) {
    report(
      'BECK_OIDC_ISSUER, BECK_OIDC_CLIENT_ID and BECK_OIDC_CLIENT_SECRET are set together, or none of them',
    )
    return null
  }
  return { issuer, clientId, clientSecret, domains, name: name ?? new URL(issuer).hostname }
}

function domainsOf(text: string): string[] | null {
  const domains = text.split(',').map((part) => part.trim().toLowerCase())
  return domains.every((domain) => /^[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(domain)) ? domains : null
}
