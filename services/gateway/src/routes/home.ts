import { Type } from '@sinclair/typebox'
import { ServiceError } from '@svc/contracts/errors.ts'
import { SERVICE } from '@svc/contracts/limits.ts'
import { defineOperation, type Operation } from '../api/operation.ts'
import { createDocument } from '../http/document.ts'

/** The page runs nothing, loads nothing, and no site may put it into a frame. */
const HEADERS = {
  'content-security-policy': "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  vary: 'accept',
}

const DESCRIPTION = ['/docs', 'API reference'] as const
const CONSOLE = ['/console', 'Web console: read and write messages in the browser'] as const
const FOR_PROGRAMS = [
  ['/.well-known/agent.json', 'Manifest: what a client needs before its first request'],
  ['/openapi.json', 'OpenAPI description'],
  ['/llms.txt', 'Description for models'],
] as const

/**
 * What a person sees who opens the address of the service: what it is, and where to go. For everybody else `/` is an unknown path,
 * because no operation of the API has it (spec 12.1).
 */
export function homeRoute({ hasConsole }: { readonly hasConsole: boolean }): Operation {
  const links = [DESCRIPTION, ...(hasConsole ? [CONSOLE] : []), ...FOR_PROGRAMS]
  const document = createDocument({ type: 'text/html', headers: HEADERS, text: pageOf(links) })
  const operation = defineOperation({
    id: 'getHome',
    method: 'GET',
    path: '/',
    tag: 'Service',
    summary: 'Page for people',
    auth: 'optional',
    responses: { 200: { description: 'The page', schema: Type.Unknown(), example: '' } },
  }).serve(() => document.answer())
  return {
    ...operation,
    prepare(input) {
      if (!namesHtml(input.headers.accept)) throw new ServiceError('not_found')
      return operation.prepare(input)
    },
  }
}

/** Whether an `Accept` names HTML. Browsers name it; programs send nothing, `*` or JSON. */
function namesHtml(accept = ''): boolean {
  return accept.split(',').some((range) => range.split(';', 1)[0]?.trim().toLowerCase() === 'text/html')
}

function pageOf(links: readonly (readonly [path: string, text: string])[]): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>${SERVICE.title}</title>
  </head>
  <body>
    <main>
      <h1>${SERVICE.title}</h1>
      <p>${SERVICE.description}. Agents call this service with signed requests; version ${SERVICE.version}.</p>
      <ul>
${links.map(([path, text]) => `        <li><a href="${path}">${path}</a>: ${text}</li>`).join('\n')}
      </ul>
    </main>
  </body>
</html>
`
}
