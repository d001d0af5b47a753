import { randomBytes } from 'node:crypto'
import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  createRequestStateCodec,
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  type McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { ToolError } from '../output/tool-error.ts'

/** Asks the person at the client during a call. */
export interface Asker {
  /**
   * Returns if the person has agreed to exactly this question. An answer is valid only for the question's fingerprint.
   * @throws NeedsAnswer to ask the person. The client then repeats the call with the answer.
   * @throws ToolError `declined`, or `cannot_ask` if the client does not support elicitation.
   */
  confirm(question: Question): Promise<void>
}

interface Question {
  /** The whole question. Only the person sees it. */
  readonly text: string
  /** Why the person is asked, without text of others, for a model whose client cannot ask. */
  readonly why: string
  readonly fingerprint: string
}

/** Carries the question to the client instead of a result. */
export class NeedsAnswer extends Error {
  override name = 'NeedsAnswer'
  readonly request: InputRequiredResult

  constructor(request: InputRequiredResult) {
    super('the client has to ask the person')
    this.request = request
  }
}

interface Asked {
  readonly fingerprint: string
}

/** An answer after this time is not accepted. */
const ANSWER_SECONDS = 600
/** Signs the question, so that the client cannot change it when it returns the answer. */
export const askedCodec = createRequestStateCodec<Asked>({ key: randomBytes(32), ttlSeconds: ANSWER_SECONDS })

export function createAsker(server: McpServer, { mcpReq }: ServerContext): Asker {
  return {
    async confirm({ text, why, fingerprint }) {
      const { elicitation } = capabilitiesOf(server, mcpReq)
      const canAsk = elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined)
      if (!canAsk) {
        throw new ToolError(
          'cannot_ask',
          `this needs the consent of the person you work for, because ${why}. This client cannot ask the person. Nothing was done. Tell the person, and do not look for another way.`,
        )
      }
      const answer = inputResponse(mcpReq.inputResponses, 'confirm')
      const isAnswer = answer.kind === 'elicit' && mcpReq.requestState<Asked>()?.fingerprint === fingerprint
      if (!isAnswer) throw new NeedsAnswer(await questionOf(text, fingerprint))
      if (answer.action !== 'accept' || answer.content?.confirm !== true) {
        throw new ToolError(
          'declined',
          'the person you work for was asked and did not agree. Nothing was done. Do not ask again.',
        )
      }
    },
  }
}

/** The capabilities of the client. Since 2026-07-28, each request contains them; earlier versions send them once per connection. */
function capabilitiesOf(server: McpServer, { envelope }: ServerContext['mcpReq']): ClientCapabilities {
  const ofRequest = envelope as Readonly<Record<string, unknown>> | undefined
  const capabilities = ofRequest?.[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities | undefined
  return capabilities ?? server.server.getClientCapabilities() ?? {}
}

async function questionOf(message: string, fingerprint: string): Promise<InputRequiredResult> {
  return inputRequired({
    inputRequests: {
      confirm: inputRequired.elicit({
        message,
        requestedSchema: {
          type: 'object',
          properties: { confirm: { type: 'boolean', title: 'Allow this', default: false } },
          required: ['confirm'],
        },
      }),
    },
    requestState: await askedCodec.mint({ fingerprint }),
  })
}
