import type { Envelope, Message } from '@svc/contracts/resources.ts'
import { jcsBytes } from '@svc/envelope/jcs.ts'
import type { JSX } from 'preact'
import type { Opened } from '../../../state/mail/opening.ts'
import { strings } from '../../../strings.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { ForeignText } from '../../parts/text.tsx'

const { mail } = strings
const decoder = new TextDecoder()

/** The envelope as it is, and the bytes that its sender signed. */
export function JsonView(properties: {
  message: Message
  opened: Opened | undefined
  onClose: () => void
}): JSX.Element {
  const { message, opened, onClose } = properties
  const signed = signedBytesOf(message.envelope, opened)
  return (
    <Dialog title={mail.jsonTitle} onClose={onClose} isWide>
      <h3>{mail.jsonEnvelope}</h3>
      <Code label={mail.jsonEnvelope} text={JSON.stringify(message.envelope, null, 2)} />
      <h3>{mail.jsonSigned}</h3>
      {signed === undefined ? (
        <p class="hint">{mail.jsonUnknown}</p>
      ) : (
        <>
          <p class="hint">{mail.jsonSignedHint(signed.length)}</p>
          <Code label={mail.jsonSigned} text={decoder.decode(signed)} />
        </>
      )}
    </Dialog>
  )
}

function Code({ label, text }: { label: string; text: string }): JSX.Element {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards must be able to scroll it
    <section class="body json" aria-label={label} tabIndex={0}>
      <ForeignText text={text} />
    </section>
  )
}

/** A signature covers the canonical JSON of the envelope with its body and without its signature (spec 6.3). */
function signedBytesOf(envelope: Envelope, opened: Opened | undefined): Uint8Array | undefined {
  if (opened?.kind !== 'open') return undefined
  const { body: _, sig, body_enc, ephemeral_pub, ...head } = envelope as Partial<Record<string, unknown>>
  try {
    return jcsBytes({ ...head, body: opened.body })
  } catch {
    return undefined
  }
}
