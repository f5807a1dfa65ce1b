/** The page around every content. */
import type { Accent } from '../colour.ts'
import { HOME_ICON_PATH } from '../home-icon.ts'
import { type Html, html, trusted } from '../html.ts'
import { LANGUAGES } from '../language.ts'
import type { Frame } from '../view.ts'
import { loadWebFiles } from '../web-files.ts'

export interface Sheet {
  readonly title: string
  /** Beside the title wherever the link is shown: what is paid for, and its price. */
  readonly description?: string
  /** A page behind a counter. */
  readonly keypad?: { readonly manifest: string }
  readonly content: Html
  /** Named on the page for scripts and tests. */
  readonly state: string
  /** What the open page has seen; null when nothing can change any more. */
  readonly version?: string | null
  /** Without a script the page asks again after so many seconds; null when it should stay as it is. */
  readonly refreshSeconds?: number | null
}

/** The document: complete without a script, so that it is painted before any is there. */
export function layout(frame: Frame, sheet: Sheet): Html {
  const { language, merchant, nonce, base } = frame
  const { words } = language
  const { refreshSeconds = null } = sheet
  const { paths, inlined } = loadWebFiles()
  const script = (path: string) => html`<script type="module" src="${base}${path}" nonce="${nonce}"></script>`
  return html`<!doctype html>
<html lang="${language.tag}" dir="${language.direction}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">
<title>${sheet.title}</title>
${refreshSeconds !== null && html`<noscript><meta http-equiv="refresh" content="${refreshSeconds}"></noscript>`}
<meta name="theme-color" content="#f3f4f7" media="(prefers-color-scheme: light)">
<meta name="theme-color" content="#0d0f14" media="(prefers-color-scheme: dark)">
<meta property="og:type" content="website">
<meta property="og:title" content="${sheet.title}">
${sheet.description && html`<meta name="description" property="og:description" content="${sheet.description}">`}
${merchant && html`<meta property="og:site_name" content="${merchant.name}">`}
${merchant?.logo && html`<meta property="og:image" content="${frame.origin}${merchant.logo}">`}
<link rel="icon" href="data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Crect width='32' height='32' rx='8' fill='%232c52d0'/%3E%3Cpath d='M9 16.5l5 5 9-10' fill='none' stroke='%23fff' stroke-width='3.5'/%3E%3C/svg%3E">
${!frame.isPart && html`<style nonce="${nonce}">${trusted(inlined['checkout.css'])}${sheet.keypad && trusted(inlined['pos.css'])}${merchant && accentStyle(merchant.accent)}</style>`}
${(frame.path || sheet.keypad) && script(paths['checkout.js'])}
${sheet.keypad && html`${script(paths['pos.js'])}<link rel="manifest" href="${sheet.keypad.manifest}"><link rel="apple-touch-icon" href="${base}${HOME_ICON_PATH}">`}
${frame.path === null && refreshSeconds !== null && script(paths['retry.js'])}
</head>
<body${frame.path && html` data-frame-origins="${merchant?.frameOrigins.join(' ')}"`}>
${
  merchant &&
  html`<header${frame.isTest && html` class="of-test"`}>${merchant.logo && html`<img class="logo" src="${merchant.logo}" alt="" width="40" height="40">`}<p class="merchant">${merchant.name}</p>${frame.isTest && html`<p class="test">${words.test_notice}</p>`}</header>`
}
<p class="offline" role="status" hidden>${words.offline}</p>
<main id="content" data-state="${sheet.state}"${frame.path && html` data-path="${frame.path}"`}${sheet.version && html` data-version="${sheet.version}"`}>
${sheet.content}
</main>
<p class="announcement" role="status" aria-live="polite"></p>
<footer>${
    merchant &&
    merchant.links.length > 0 &&
    html`<p class="links">${merchant.links.map(({ text, url }) => html`<a href="${url}" target="_blank" rel="noopener noreferrer">${words[text]}</a> `)}</p>`
  }<nav aria-label="${words.language}">${LANGUAGES.map(
    ({ tag, name }) =>
      html`<a href="${frame.here}?${frame.carried}lang=${tag}" lang="${tag}" hreflang="${tag}"${tag === language.tag && trusted(' aria-current="true"')}>${name}</a> `,
  )}</nav></footer>
</body>
</html>
`
}

/** Hexadecimal colours only, made by `accentOf`. */
const accentStyle = ({ light, dark }: Accent): Html =>
  trusted(
    `:root{--accent:${light.fill};--on-accent:${light.on}}@media(prefers-color-scheme:dark){:root{--accent:${dark.fill};--on-accent:${dark.on}}}`,
  )
