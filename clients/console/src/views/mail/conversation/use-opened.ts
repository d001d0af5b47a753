import type { Message } from '@svc/contracts/resources.ts'
import { useEffect, useState } from 'preact/hooks'
import { digestOf } from '../../../state/mail/digest.ts'
import type { Opened, ReadFrom } from '../../../state/mail/opening.ts'
import { useWorkspace } from '../../workspace-context.ts'

/**
 * Opens and verifies a message while it is shown. Undefined until the answer is known.
 * @param delayMs rows that are scrolled past sooner are not opened, because a signature takes a millisecond of the page's time.
 */
export function useOpened(message: Message, readFrom: ReadFrom, delayMs = 0): Opened | undefined {
  const { opener, people } = useWorkspace()
  const [, setTurn] = useState(0)
  // Learning who the sender is changes the answer.
  const sender = people.find(message.envelope.from)
  const opened = opener.peek(message, readFrom)
  useEffect(() => {
    if (opened !== undefined) return
    let isShown = true
    // If the message itself is not the cause, e.g. if the network failed, it stays unopened until it is shown again.
    const open = (): void =>
      void opener.open(message, readFrom).then(
        () => isShown && setTurn((turn) => turn + 1),
        () => undefined,
      )
    const timer = delayMs > 0 ? setTimeout(open, delayMs) : undefined
    if (timer === undefined) open()
    return () => {
      isShown = false
      clearTimeout(timer)
    }
  }, [digestOf(message.envelope), readFrom, sender, opened === undefined])
  return opened
}
