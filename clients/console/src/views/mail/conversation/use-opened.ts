import type { Message } from '@svc/contracts/resources.ts'
import { useEffect, useState } from 'preact/hooks'
import { digestOf } from '../../../state/mail/digest.ts'
import type { Opened, ReadFrom } from '../../../state/mail/opening.ts'
import { useWorkspace } from '../../workspace-context.ts'

/** Opens and verifies a message while it is shown. Undefined until the answer is known. */
export function useOpened(message: Message, readFrom: ReadFrom): Opened | undefined {
  const { opener, people } = useWorkspace()
  const [, setTurn] = useState(0)
  // Learning who the sender is changes the answer.
  const sender = people.find(message.envelope.from)
  const opened = opener.peek(message, readFrom)
  useEffect(() => {
    if (opened !== undefined) return
    let isShown = true
    // If the message itself is not the cause, e.g. if the network failed, it stays unopened until it is shown again.
    void opener.open(message, readFrom).then(
      () => isShown && setTurn((turn) => turn + 1),
      () => undefined,
    )
    return () => {
      isShown = false
    }
  }, [digestOf(message.envelope), readFrom, sender, opened === undefined])
  return opened
}
