/** The short form of an agent id or a message id. It tells ids apart for people, and proves nothing. */
export function shortId(id: string): string {
  return id.length <= SHOWN + 1 ? id : `${id.slice(0, SHOWN)}…`
}

const SHOWN = 8
