import type {
  CallToolResult,
  JsonSchemaType,
  McpServer,
  ServerContext,
  StandardSchemaWithJSON,
} from '@modelcontextprotocol/server'
import type { Static, TObject, TProperties } from '@sinclair/typebox'
import type { Call } from '../call.ts'
import type { Mailbox } from '../mailbox.ts'
import { errorText, explainError } from '../output/explain-error.ts'
import { createFence } from '../output/fence.ts'
import { render } from '../output/render.ts'
import type { Reach } from '../policy.ts'
import { UnreadSchema, unreadText } from '../schemas.ts'
import { createAsker, NeedsAnswer } from '../send/asker.ts'
import { argumentFault } from './argument-faults.ts'
import { readArguments } from './arguments.ts'
import { createBorder } from './border.ts'
import { assertFits, checkOf, jsonSchema } from './json-schema.ts'

interface ToolHints {
  readonly destructive?: boolean
  readonly idempotent?: boolean
}

interface ToolSpec<I extends TProperties, O extends TProperties> {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly reach: Reach
  readonly hints?: ToolHints
  readonly input: I
  readonly output: O
  /** @throws ToolError, or errors of the SDK. Both become error results. */
  run(mailbox: Mailbox, args: Static<TObject<I>>, call: Call): Promise<Static<TObject<O>>>
}

/** A tool that can be registered with any number of servers. */
export interface Tool {
  readonly name: string
  readonly reach: Reach
  /** Every result is checked against it. Clients do not see it: the schemas of all results are three times as long as all the rest. */
  readonly output: JsonSchemaType
  register(server: McpServer, mailbox: Mailbox): void
}

/**
 * Makes a tool. Its result has the output and `unread`, as structured content and as text. Every error becomes a result with
 * `isError`, so that the model reads it.
 */
export function defineTool<I extends TProperties, O extends TProperties>(spec: ToolSpec<I, O>): Tool {
  const { name, title, description, reach, hints = {} } = spec
  const input = jsonSchema(spec.input)
  const output = jsonSchema({ ...spec.output, unread: UnreadSchema })
  const inputSchema = argumentSchema<Static<TObject<I>>>(input)
  const outputSchema = checkOf<object>(output)
  const isReading = reach === 'read'
  // The list of tools is part of every conversation, so hints that say the default are left out.
  const annotations = {
    readOnlyHint: isReading,
    ...(isReading ? {} : { destructiveHint: hints.destructive ?? false }),
    ...(isReading || hints.idempotent !== true ? {} : { idempotentHint: true }),
  }
  return {
    name,
    reach,
    output,
    register(server, mailbox) {
      const config = { title, description, inputSchema, annotations }
      server.registerTool(`${mailbox.toolPrefix}${name}`, config, async (args, context) => {
        const startedMs = Date.now()
        const log = (outcome: string): void => mailbox.log('tool', { name, outcome, ms: Date.now() - startedMs })
        const call = createCall(server, context)
        try {
          await mailbox.ready(call.signal)
          const border = createBorder(mailbox)
          const value = border.show(output, await spec.run(mailbox, border.read(input, args), call))
          const result = await withUnread(mailbox, value, call.signal)
          await assertFits(outputSchema, result.structuredContent)
          log('ok')
          return result
        } catch (error) {
          if (error instanceof NeedsAnswer) {
            log('asks')
            return error.request
          }
          const explained = call.signal.aborted ? CANCELLED : explainError(error)
          log(explained.code)
          if (explained.code === 'internal') mailbox.log('fault', faultOf(error))
          return failed(mailbox, explained.code, errorText(explained, call.fence), call.signal)
        }
      })
    },
  }
}

/**
 * The schema of arguments. Arguments in other types are understood too. Clients do not see the patterns, which are long, and which not
 * every client supports; the descriptions say the same in words.
 */
function argumentSchema<T>(schema: JsonSchemaType): StandardSchemaWithJSON<T, T> {
  const { validate } = checkOf<T>(schema)['~standard']
  const listed = checkOf<T>(withoutPatterns(schema) as JsonSchemaType)['~standard']
  return {
    '~standard': {
      ...listed,
      validate(value, options) {
        const args = readArguments(schema, value)
        const fault = argumentFault(schema, args)
        return fault === undefined ? validate(args, options) : { issues: [{ message: fault }] }
      },
    },
  }
}

/** Removes the keyword, but keeps a property of this name. */
function withoutPatterns(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutPatterns)
  if (typeof schema !== 'object' || schema === null) return schema
  const kept = Object.entries(schema).filter(([name, value]) => name !== 'pattern' || typeof value !== 'string')
  return Object.fromEntries(kept.map(([name, value]) => [name, withoutPatterns(value)]))
}

function createCall(server: McpServer, context: ServerContext): Call {
  const { signal, _meta, notify } = context.mcpReq
  const progressToken = _meta?.progressToken
  return {
    signal,
    fence: createFence(),
    asker: createAsker(server, context),
    async progress(progress, total, message) {
      if (progressToken === undefined) return
      await notify({ method: 'notifications/progress', params: { progressToken, progress, total, message } })
    },
  }
}

/** The client has cancelled the call or disconnected, so nobody reads this. */
const CANCELLED = { code: 'cancelled', text: 'the call was cancelled.' }

const AWAY: ReadonlySet<string> = new Set(['unavailable', 'no_answer', 'misconfigured'])

/** The name and the stack of an error, without its message, which may contain text of others. */
function faultOf(error: unknown): { error: string; at: string } {
  const stack = error instanceof Error ? (error.stack ?? '') : ''
  const frames = stack
    .replace(error instanceof Error ? error.message : '', '')
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
  return { error: error instanceof Error ? error.name : typeof error, at: frames.slice(0, 5).join(' ').trim() }
}

async function withUnread(mailbox: Mailbox, output: object, signal: AbortSignal): Promise<CallToolResult> {
  const unread = (await mailbox.unread.count(signal)) ?? null
  const text = [render(output), unreadText(unread)].join('\n\n')
  return { content: [{ type: 'text', text }], structuredContent: { ...output, unread } }
}

async function failed(mailbox: Mailbox, code: string, text: string, signal: AbortSignal): Promise<CallToolResult> {
  // If the service does not answer, do not wait for the count either.
  const canCount = !signal.aborted && !AWAY.has(code)
  const unread = canCount ? ((await mailbox.unread.count(signal)) ?? null) : null
  return {
    isError: true,
    content: [{ type: 'text', text: [text, unreadText(unread)].join('\n\n') }],
  }
}
