/** Reads an answer, and makes it a value of the API or an error. */
import { AnswerError, ApiError } from '../errors.ts'
import { parseAnswer } from './answer-json.ts'
import { errorOf, type Shape } from './answers.ts'
import { isTransientStatus } from './retry.ts'
import { retryAfterOf } from './retry-after.ts'

/** The parts of an operation that its answer depends on. */
interface Expected<T> {
  readonly method: string
  readonly path: string
  readonly shape: Shape<T>
  readonly alsoStatus?: number
}

/** The largest answer that is read, several times the largest page, so that a hostile server cannot fill the memory. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024

/** @returns what was read before the connection broke, if the status already says that the request must be repeated later. */
export async function readText(response: Response): Promise<string> {
  try {
    return await readWhole(response)
  } catch (failure) {
    if (isTransientStatus(response.status)) return ''
    throw failure
  }
}

async function readWhole(response: Response): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  // React Native has no body to read in parts.
  if (!response.body) return response.text()
  const reader = response.body.getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return text + decoder.decode()
    bytes += value.length
    if (bytes > MAX_ANSWER_BYTES) {
      await reader.cancel()
      throw new AnswerError(`the answer is larger than ${MAX_ANSWER_BYTES} bytes`, describe(response))
    }
    text += decoder.decode(value, { stream: true })
  }
}

export function readAnswer<T>(operation: Expected<T>, response: Response, text: string, nowMs: number): T {
  const value = parseAnswer(text)
  if (response.ok || response.status === operation.alsoStatus) {
    try {
      return operation.shape(value)
    } catch (cause) {
      // `alsoStatus` can also come with an error of the API. A body of another shape is read as an error below.
      if (response.ok) throw answerError(operation, response, (cause as Error).message, { nowMs, cause })
    }
  }
  const error = errorOf(value)
  if (error === undefined) throw answerError(operation, response, 'its body is not an error of this API', { nowMs })
  throw new ApiError({ ...error, ...describe(response), retryAfterSeconds: retryAfterOf(response.headers, nowMs) })
}

export function answerError(
  operation: Expected<unknown>,
  response: Response,
  problem: string,
  { nowMs, cause }: { nowMs: number; cause?: unknown },
): AnswerError {
  const what = `${operation.method} ${operation.path} answered ${response.status}, but ${problem}`
  const retryAfterSeconds = retryAfterOf(response.headers, nowMs)
  return new AnswerError(what, { ...describe(response), retryAfterSeconds, cause })
}

function describe(response: Response): { status: number; requestId: string | undefined } {
  return { status: response.status, requestId: response.headers.get('x-request-id') ?? undefined }
}
