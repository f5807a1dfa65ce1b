/** The reference at `/docs`: the OpenAPI document as one page, drawn here, without a script and without a third party. */
import { createHash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { onFirstUse } from '../core/on-first-use.ts'
import { escapeText } from './hosted/html.ts'
import { type OpenApiDocument, type Operation, openApiDocument } from './openapi.ts'
import { withResources } from './openapi-resources.ts'
import type { Route } from './route.ts'

export function registerReference(app: FastifyInstance, routes: readonly Route[]): void {
  const styleHash = createHash('sha256').update(STYLE).digest('base64')
  // Most processes are never asked for what this makes: megabytes of objects on the way to two texts.
  const answers = onFirstUse(() => {
    const document = openApiDocument(routes)
    return { json: JSON.stringify(document), page: drawReference(withResources(document)) }
  })
  app.get('/openapi.json', (_request, reply) =>
    reply
      .type('application/json; charset=utf-8')
      .header('Access-Control-Allow-Origin', '*')
      .send(answers().json),
  )
  app.get('/docs', (_request, reply) =>
    reply
      .type('text/html; charset=utf-8')
      .header(
        'Content-Security-Policy',
        `default-src 'none'; style-src 'sha256-${styleHash}'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`,
      )
      .header('X-Content-Type-Options', 'nosniff')
      .send(answers().page),
  )
}

interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly format?: string
  readonly description?: string
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly maxLength?: number
  readonly default?: unknown
}

interface Content {
  readonly description?: string
  readonly content?: {
    readonly 'application/json'?: { readonly schema?: Schema; readonly example?: unknown }
  }
}

const jsonOf = (content: Content | undefined) => content?.content?.['application/json']

/** The whole page as HTML. */
function drawReference(document: OpenApiDocument): string {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  )
  const shared = (document.components as { responses: Record<string, Content> }).responses
  const groups = document.tags.map((tag) => {
    const { name, description } = tag as { name: string; description: string }
    return { name, description, operations: operations.filter(({ operation }) => operation.tags[0] === name) }
  })
  const { title, summary, description } = document.info as Record<string, string>
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${text(title)} API reference</title>
<style>${STYLE}</style>
</head>
<body>
<nav aria-label="Operations">
<p><a href="#top">${text(title)} API</a></p>
${groups
  .map(
    (group) => `<h2>${text(group.name)}</h2>
<ul>${group.operations.map((one) => `<li><a href="#${text(one.operation.operationId)}">${text(one.operation.summary)}</a></li>`).join('')}</ul>`,
  )
  .join('\n')}
<p><a href="/openapi.json">openapi.json</a></p>
</nav>
<main id="top">
<h1>${text(title)} API reference</h1>
<p>${prose(summary)}. All paths begin with <code>/v1</code>.</p>
<p>${prose(description)}</p>
<h2>Keys and limits</h2>
<p>${prose('Send a secret key in `X-API-Key` or as `Authorization: Bearer`. Every answer to a key carries `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset`. A POST with an `Idempotency-Key` may be repeated safely for 24 hours.')}</p>
<h2>Errors that every operation may answer</h2>
<table><thead><tr><th>Status</th><th>Meaning</th></tr></thead><tbody>
${Object.entries(shared)
  .map(
    ([name, { description: meaning }]) =>
      `<tr><td>${text(name.replace('Refused', ''))}</td><td>${prose(meaning)}</td></tr>`,
  )
  .join('')}
</tbody></table>
${groups
  .map(
    (group) => `<section><h2>${text(group.name)}</h2><p>${prose(group.description)}</p>
${group.operations.map((one) => drawOperation(one.method, one.path, one.operation)).join('\n')}</section>`,
  )
  .join('\n')}
</main>
</body>
</html>
`
}

function drawOperation(method: string, path: string, operation: Operation): string {
  const parameters = operation.parameters as readonly {
    name?: string
    in?: string
    required?: boolean
    description?: string
    schema?: Schema
  }[]
  const named = parameters.filter((parameter) => parameter.name !== undefined)
  const body = jsonOf(operation.requestBody as Content | undefined)
  const [status, success] = Object.entries(operation.responses)[0] ?? ['', {}]
  const answer = jsonOf(success as Content)
  const refusals = Object.entries(operation.responses).filter(
    ([code, response]) => code >= '400' && !Object.hasOwn(response as object, '$ref'),
  )
  return `<article id="${text(operation.operationId)}">
<h3>${text(operation.summary)}${operation['x-origin'] === 'beck' ? ' <small>addition of Beck</small>' : ''}</h3>
<p class="route"><b>${method}</b> <code>/v1${text(path)}</code></p>
<p>${prose(operation.description)}</p>
${named.length > 0 ? `<h4>Parameters</h4>${table(named.map((one) => row(one.name ?? '', one.schema ?? {}, one.required === true, one.description)))}` : ''}
${body?.schema ? `<h4>Body</h4>${table(rows(body.schema))}` : ''}
${body?.example === undefined ? '' : `<pre tabindex="0">${text(JSON.stringify(body.example, null, 2))}</pre>`}
<h4>Answer ${text(status)}: <code>data</code></h4>
${answer?.schema?.properties?.data ? table(rows(answer.schema.properties.data)) : ''}
${answer?.example === undefined ? '' : `<details><summary>Example</summary><pre tabindex="0">${text(JSON.stringify(answer.example, null, 2))}</pre></details>`}
<h4>Refusals of its own</h4>
<ul>${refusals.map(([code, response]) => `<li><b>${text(code)}</b> ${prose((response as Content).description)}</li>`).join('')}</ul>
</article>`
}

const table = (lines: readonly string[]): string =>
  `<table><thead><tr><th>Field</th><th>Type</th><th>Meaning</th></tr></thead><tbody>${lines.join('')}</tbody></table>`

function row(name: string, schema: Schema, required: boolean, description = schema.description): string {
  return `<tr><td><code>${text(name)}</code>${required ? '' : ' <small>optional</small>'}</td><td>${text(typeOf(schema))}</td><td>${prose([description, boundsOf(schema)].filter(Boolean).join('; '))}</td></tr>`
}

/** One row per field, those of inner objects and lists after their own (`deposit.address`, `items[].id`). */
function rows(schema: Schema, prefix = ''): string[] {
  if (schema.items) return rows(schema.items, `${prefix.replace(/\.$/, '')}[].`)
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => [
    row(prefix + name, field, prefix.includes('[') || schema.required?.includes(name) === true),
    ...rows(field, `${prefix}${name}.`),
  ])
}

const typeOf = (schema: Schema): string =>
  [schema.type]
    .flat()
    .filter((type) => type !== undefined)
    .join(' or ') || 'any'

function boundsOf(schema: Schema): string {
  const lines: string[] = []
  if (schema.enum) lines.push(`one of ${schema.enum.map((choice) => `\`${choice}\``).join(', ')}`)
  if (schema.const !== undefined) lines.push(`always \`${schema.const}\``)
  if (schema.minimum !== undefined && schema.minimum > Number.MIN_SAFE_INTEGER)
    lines.push(`at least ${schema.minimum}`)
  if (schema.maximum !== undefined && schema.maximum < Number.MAX_SAFE_INTEGER)
    lines.push(`at most ${schema.maximum}`)
  if (schema.maxLength !== undefined) lines.push(`at most ${schema.maxLength} characters`)
  if (schema.default !== undefined) lines.push(`default \`${schema.default}\``)
  return lines.join('; ')
}

const text = (value: string | undefined): string => escapeText(value ?? '')

/** Text whose `code` is set as code. */
const prose = (value: string | undefined): string => text(value).replace(/`([^`]+)`/g, '<code>$1</code>')

const STYLE = `
:root { color-scheme: light dark; --line: #8884; --soft: #8881; }
* { box-sizing: border-box; }
body { margin: 0; font: 16px/1.5 system-ui, sans-serif; display: grid; grid-template-columns: 16rem minmax(0, 1fr); }
nav { position: sticky; top: 0; height: 100vh; overflow: auto; padding: 1rem; border-right: 1px solid var(--line); font-size: .9rem; }
nav h2 { font-size: .8rem; text-transform: uppercase; letter-spacing: .05em; margin: 1rem 0 .25rem; }
nav ul { list-style: none; margin: 0; padding: 0; }
nav a { display: inline-block; padding: .15rem 0; min-height: 24px; }
main { padding: 1rem 2rem 4rem; max-width: 60rem; }
article { border-top: 1px solid var(--line); padding: 1rem 0; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem .3rem 0; border-bottom: 1px solid var(--line); }
td code, td small, p.route { overflow-wrap: anywhere; }
code, pre { font-family: ui-monospace, monospace; font-size: .9em; }
code { background: var(--soft); padding: 0 .2em; border-radius: 3px; }
pre { background: var(--soft); padding: 1rem; overflow: auto; border-radius: 6px; }
small { opacity: .75; }
@media (max-width: 50rem) { body { display: block; } nav { position: static; height: auto; border-right: 0; } main { padding: 1rem; } }
`
