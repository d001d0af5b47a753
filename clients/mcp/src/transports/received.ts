import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/server'
import { readCall } from '../tools/arguments.ts'

/**
 * A message whose arguments of a tool are an object or absent. Some clients send `null` or JSON text, which the library refuses before
 * a tool sees it.
 */
export function withArguments<T>(message: T): T {
  const { method, params } = (message ?? {}) as { method?: unknown; params?: { arguments?: unknown } | null }
  if (method !== 'tools/call' || typeof params !== 'object' || params === null) return message
  return { ...message, params: { ...params, arguments: readCall(params.arguments) } }
}

/** A POST whose body has the arguments as `withArguments` gives them. What is not JSON stays, and the library refuses it. */
export async function requestWithArguments(request: Request): Promise<Request> {
  if (request.method !== 'POST') return request
  const text = await request.text()
  try {
    const body: unknown = JSON.parse(text)
    const read = Array.isArray(body) ? body.map(withArguments) : withArguments(body)
    return new Request(request, { body: JSON.stringify(read) })
  } catch {
    return new Request(request, { body: text })
  }
}

/**
 * A transport that passes on what `read` makes of each message.
 * @param read returns undefined for a message that it has dealt with.
 */
export function mapReceived(
  inner: Transport,
  read: (message: JSONRPCMessage) => JSONRPCMessage | undefined,
): Transport {
  const outer: Transport = {
    async start() {
      inner.onclose = () => outer.onclose?.()
      inner.onerror = (error) => outer.onerror?.(error)
      inner.onmessage = (message, extra) => {
        const passed = read(message)
        if (passed !== undefined) outer.onmessage?.(passed, extra)
      }
      await inner.start()
    },
    send: (message, options) => inner.send(message, options),
    close: () => inner.close(),
  }
  return outer
}
