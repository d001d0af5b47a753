import type { Message } from '@svc/contracts/resources.ts'
import { useEffect, useState } from 'preact/hooks'
import type { Opened } from '../../../state/mail/opening.ts'
import { useWorkspace } from '../../workspace-context.ts'

/** Opens and verifies a message while it is shown. Undefined until the answer is known. */
export function useOpened(message: Message): Opened | undefined {
  const { opener, people } = useWorkspace()
  const [, setTurn] = useState(0)
  const known = people.known.value
  const opened = opener.peek(message)
  useEffect(() => {
    if (opened !== undefined) return
    let isShown = true
    // If the message itself is not the cause, e.g. if the network failed, it stays unopened until it is shown again.
    void opener.open(message).then(
      () => isShown && setTurn((turn) => turn + 1),
      () => undefined,
    )
    return () => {
      isShown = false
    }
  }, [message.envelope.id, known, opened === undefined])
  return opened
}
