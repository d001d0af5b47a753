import type { Shelf } from '@svc/sdk/store/shelf.ts'
import { joinPieces, type Piece, type Wire } from './wire.ts'

interface Group {
  readonly atMs: number
  readonly texts: readonly (string | null)[]
}
export type Groups = Shelf<Group>

/** Unfinished groups of one sender. Beyond this number, the oldest is forgotten. */
const MAX_GROUPS = 8

/**
 * Joins the pieces of a sender, which may come in any order.
 * @param onWhole called with the whole, and again after a crash if it was not done.
 */
export async function takePiece(
  groups: Groups,
  sender: string,
  { group, index, count, text }: Piece,
  onWhole: (wire: Wire) => Promise<void>,
): Promise<void> {
  const name = `${sender}/${group}`
  const known = groups.get(name) ?? { atMs: Date.now(), texts: Array.from({ length: count }, () => null) }
  if (known.texts.length !== count) return
  const texts = known.texts.with(index, text)
  if (texts.includes(null)) {
    const others = groups.entries.filter(([other]) => other !== name && other.startsWith(`${sender}/`))
    if (others.length >= MAX_GROUPS) await groups.delete(others[0]?.[0] ?? '')
    await groups.put(name, { ...known, texts })
    return
  }
  const wire = joinPieces(texts as string[])
  if (wire !== undefined) await onWhole(wire)
  await groups.delete(name)
}
