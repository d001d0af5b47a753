/** The steps that watch what a server sends by itself: event streams and webhook deliveries. */
import type { Agent } from '../http/agent.ts'
import { EventStream, openStream } from '../http/event-stream.ts'
import type { World } from './case.ts'
import { checkAnswer } from './every-answer.ts'
import { mismatch } from './match.ts'
import { evaluate, type Scope } from './value.ts'

interface Watching {
  readonly open?: string
  readonly headers?: Readonly<Record<string, unknown>>
  readonly gateway?: number
  readonly deliveries?: string
  readonly expect?: unknown
}

/** @returns a stream whose history is replayed. */
export async function openedStream(step: Watching, agent: Agent, scope: Scope, world: World): Promise<EventStream> {
  const target = String(evaluate(step.open, scope)).replace('GET ', '')
  const headers = evaluate(step.headers ?? {}, scope) as Record<string, string>
  const { answer, stream } = await openStream(agent, target, {
    headers,
    gateway: step.gateway,
    observe: world.observe,
  })
  if (stream === undefined)
    throw new Error(`GET ${target} opened no stream (spec 9.7): ${answer.status} ${answer.text}`)
  world.atEnd(() => stream[Symbol.dispose]())
  try {
    const problem = checkAnswer(answer)
    if (problem !== undefined) throw new Error(`GET ${target}: ${problem}`)
    await stream.until('cursor')
    return stream
  } catch (error) {
    stream.close() // A step that is repeated would reach the limit of streams, and hide the reason.
    throw error
  }
}

export function closeStream(stream: unknown): void {
  if (!(stream instanceof EventStream)) throw new Error('only a stream can be closed')
  stream.close()
}

/** @returns the deliveries, in the order of their arrival. */
export function checkDeliveries(step: Watching, scope: Scope, world: World): unknown {
  const path = String(evaluate(step.deliveries, scope))
  const came = world.receiver.at(path).map(({ method, headers, body, isGivenUp }) => ({
    id: headers['x-svc-message-id'],
    method,
    headers,
    text: body.toString(),
    given_up: isGivenUp,
  }))
  const problem =
    step.expect === undefined ? undefined : mismatch(came, evaluate(step.expect, scope), `the deliveries to ${path}`)
  if (problem !== undefined) throw new Error(problem)
  return came
}
