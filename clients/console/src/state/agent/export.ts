import type { Workspace } from './workspace.ts'

interface ExportOptions {
  readonly signal: AbortSignal
  /** Messages so far. */
  readonly onProgress: (count: number) => void
}

const PAGE_SIZE = 100

/**
 * Everything that the agent sent and received, one JSON object per line. Adds the texts of sent messages that this
 * browser kept.
 */
export async function exportMessages({ context, outbox }: Workspace, options: ExportOptions): Promise<string> {
  const lines: string[] = []
  const signal = AbortSignal.any([options.signal, context.ended])
  for await (const message of context.client.export({ pageSize: PAGE_SIZE, signal })) {
    const kept = outbox.sent.value.get(message.envelope.id)
    lines.push(JSON.stringify(kept === undefined ? message : { ...message, sent_body: kept.body }))
    options.onProgress(lines.length)
  }
  return lines.map((line) => `${line}\n`).join('')
}
