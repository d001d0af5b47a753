/**
 * Request rates (spec 3.15). The allowance grows all the time, so a count has a lower bound, and an upper bound that
 * includes what grew while the requests ran. The cases need a server that nobody else asks from this address, and run one after the other.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { createKeyPair } from '@svc/svc1/key-pair.ts'
import { formatPublicKey } from '@svc/svc1/public-key.ts'
import type { Case, World } from '../../cases/case.ts'
import { check } from '../../cases/check.ts'
import { checkAnswer } from '../../cases/every-answer.ts'
import { outcomeOf } from '../../cases/outcome.ts'
import type { Answer } from '../../http/exchange.ts'
import { headOf, openRaw, type RawConnection } from '../../http/raw.ts'

const RATE = 100
const BURST = 200
const REGISTRATION_RATE = 1
const REGISTRATION_BURST = 30
/** Over any number of servers, a client gets no more than so many times the burst. */
const SLACK = 1.2
const TRIES = 10
/** Enough to exceed the rate even on a slow server. */
const FLOOD = 10 * BURST

/** Sends requests over one connection for each URL, without waiting for answers in between. */
async function flood(
  urls: readonly string[],
  count: number,
  request: (url: string) => string,
): Promise<{ admitted: number; seconds: number; answers: Answer[] }> {
  const startMs = performance.now()
  const share = Math.ceil(count / urls.length)
  const connections = urls.map((url): [RawConnection, string] => [openRaw(url), request(url).repeat(share)])
  for (const [connection, bytes] of connections) connection.write(bytes)
  const answers = (await Promise.all(connections.map(([connection]) => connection.answers(share)))).flat()
  const seconds = (performance.now() - startMs) / 1_000
  for (const [connection] of connections) connection[Symbol.dispose]()
  check(answers.length, share * urls.length, 'answers to pipelined requests')
  for (const answer of answers) check(checkAnswer(answer), undefined, 'what is wrong with an answer')
  const outcomes = answers.map(outcomeOf)
  return { answers, seconds, admitted: outcomes.filter((outcome) => outcome !== '429 rate_limited').length }
}

const GET = (url: string): string => headOf(url, 'GET /v2/nowhere')

function askForChallenge(url: string): string {
  const body = JSON.stringify({ pubkey: formatPublicKey(createKeyPair().publicKey) })
  const headers = { 'content-type': 'application/json', 'content-length': `${body.length}` }
  return headOf(url, 'POST /v2/challenges', headers) + body
}

async function expectBurst(urls: readonly string[]): Promise<void> {
  await sleep((BURST / RATE) * 1_000 + 500)
  const { admitted, seconds, answers } = await flood(urls, FLOOD, GET)
  check(admitted, { $within: [BURST, SLACK * BURST + RATE * seconds] }, 'admitted requests')
  const refused = answers.find(({ status }) => status === 429)
  check(Number(refused?.headers.get('retry-after')), { $within: [1, 10] }, 'the Retry-After of a refused request')
  await sleep(1_500)
  const again = await flood(urls, RATE, GET)
  check(again.admitted, RATE, 'requests that are admitted 1.5 s later')
}

/** Uses up the allowance and sends these bytes, up to `TRIES` times, until they are refused for the rate. */
async function expectRefused({ server }: World, bytes: (url: string) => string, what: string): Promise<void> {
  const [url = ''] = server.urls
  for (let left = TRIES; ; left -= 1) {
    using connection = openRaw(url)
    connection.write(GET(url).repeat(2 * BURST) + bytes(url))
    const last = (await connection.answers(2 * BURST + 1)).at(-1)
    if (last !== undefined && outcomeOf(last) === '429 rate_limited') return
    if (left === 1) check(last && outcomeOf(last), '429 rate_limited', what)
  }
}

const REFUSED: Record<string, (url: string) => string> = {
  'an Authorization that is malformed': (url) => headOf(url, 'GET /v2/me', { authorization: 'junk' }),
  'a body that is too large': (url) => headOf(url, 'PATCH /v2/me', { 'content-length': '98305' }),
  'an unknown method': (url) => headOf(url, 'PURGE /v2/me'),
  'no Host': () => 'GET /v2/health HTTP/1.1\r\n\r\n',
  health: (url) => headOf(url, 'GET /v2/health'),
  'a forwarded address, which is not believed': (url) =>
    headOf(url, 'GET /v2/me', { 'x-forwarded-for': `198.18.${randomBytes(1)[0]}.${randomBytes(1)[0]}` }),
}

function caseOf(
  name: string,
  title: string,
  run: Case['run'],
  { spec = ['3.15'], needs = [] }: Partial<Case> = {},
): Case {
  const all: Case['needs'] = ['default rates', ...needs]
  return { id: `requests/rates/${name}`, title: `Request rates: ${title}`, spec, needs: all, agents: 0, run }
}

export const RATES: readonly Case[] = [
  caseOf(
    'burst',
    'a client gets the full burst and rate over a single connection, and then 429 rate_limited',
    ({ server }) => expectBurst(server.urls.slice(0, 1)),
  ),
  caseOf(
    'gateways',
    'over two gateways a client gets no more than 1.2 times the burst',
    ({ server }) => expectBurst(server.urls),
    { needs: ['gateways'] },
  ),
  ...Object.entries(REFUSED).map(([about, bytes], at) =>
    caseOf(
      `first-${at + 1}`,
      `the limit is checked before anything else: ${about}`,
      (world) => expectRefused(world, bytes, about),
      {
        spec: about.startsWith('a forwarded') ? ['3.15', '3.16'] : ['3.15', '3.5'],
      },
    ),
  ),
  caseOf(
    'nonce',
    'a request that was refused for its rate has not used its nonce',
    async (world) => {
      await sleep(1_000)
      const agent = await world.agent()
      const sign = { timestamp: Math.floor(Date.now() / 1_000), nonce: randomBytes(16).toString('hex') }
      const { headers } = agent.sign('GET', '/v2/me', undefined, sign)
      const [url = ''] = world.server.urls
      using connection = openRaw(url)
      // The last of them may be admitted if the server is slow. Then its repeat is the one that used the nonce.
      connection.write(GET(url).repeat(3 * BURST) + headOf(url, 'GET /v2/me', headers))
      const last = (await connection.answers(3 * BURST + 1)).at(-1)
      await sleep(1_000)
      const again = await agent.get('/v2/me', { sign })
      const wasRefused = last?.status === 429
      check(outcomeOf(again), wasRefused ? '200' : '409 nonce_replayed', 'the repeat')
    },
    { spec: ['3.15', '3.7'] },
  ),
  caseOf('registration', 'challenges and registrations together have a smaller burst', async ({ server }) => {
    await sleep((REGISTRATION_BURST / REGISTRATION_RATE) * 1_000 + 1_000)
    const { admitted, seconds, answers } = await flood(server.urls, 3 * REGISTRATION_BURST, askForChallenge)
    const most = SLACK * REGISTRATION_BURST + REGISTRATION_RATE * seconds
    check(admitted, { $within: [REGISTRATION_BURST, most] }, 'admitted challenges')
    check(
      answers.every(({ status }) => status === 201 || status === 429),
      true,
      'each is 201 or 429',
    )
    const [url = ''] = server.urls
    const register = await flood([url], 1, (at) => headOf(at, 'POST /v2/agents/register', { 'content-length': '0' }))
    check(
      register.answers.map(outcomeOf),
      { $each: { $one_of: ['429 rate_limited', '401 unauthenticated'] } },
      'a registration',
    )
    const others = await flood([url], 10, GET)
    check(others.admitted, 10, 'other requests that are admitted')
  }),
]
