import type { Workspace } from './workspace.ts'

/** The messages that this browser keeps, one JSON object per line, with the texts of sealed ones as far as they can be opened. */
export async function exportKept({ archive, opener, outbox }: Workspace): Promise<string> {
  const lines: string[] = []
  for (const { message } of archive.entries.value) {
    const sent = outbox.sent.value.get(message.envelope.id)
    // The keys of some senders may not be known here. Then the envelope is saved as it is.
    const opened = sent === undefined ? await opener.open(message, 'mail').catch(() => undefined) : undefined
    if (sent !== undefined) lines.push(JSON.stringify({ ...message, sent_body: sent.body }))
    else if (opened?.kind === 'open' && opened.sealed)
      lines.push(JSON.stringify({ ...message, opened_body: opened.body }))
    else lines.push(JSON.stringify(message))
  }
  return lines.map((line) => `${line}\n`).join('')
}
