/**
 * The messages of two sidecars to each other. Each is compressed, and cut into pieces. A piece is the body of one direct message.
 * Objects of A2A are in their JSON form. `turn` is the id of the message that began a turn, and `task` that of the task's first turn.
 */
import { createHash } from 'node:crypto'
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { RequestMalformedError } from '@a2a-js/sdk/errors'
import { type Static, type TProperties, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import type { JsonValue } from '@svc/envelope/json-value.ts'

/** The JSON form of an object of A2A. */
export type Json = { readonly [name: string]: JsonValue }

/** In base64 and sealed, a piece is below the 16 KiB of a message. */
const PIECE_BYTES = 11 * 1024
const MAX_PIECES = 32
const MAX_BYTES = 1024 * 1024
/** Bytes that a message has besides the text of its piece, rounded up. */
const FRAME_BYTES = 400

const id = Type.String({ pattern: '^[A-Za-z0-9_-]{8,80}$' })
const json = Type.Unsafe<Json>(Type.Object({}))
const of = <K extends string, P extends TProperties>(kind: K, members: P) =>
  Type.Object({ kind: Type.Literal(kind), ...members })

const Wire = Type.Union([
  /** Begins a turn: a message for the recipient's agent. */
  of('send', { turn: id, task: id, request: json }),
  /**
   * How things stand: the task, or the agent's message, as a stream response of A2A. It replaces those with a lower `seq`. `last`:
   * the turn is over. Others may leave out history and artifacts.
   */
  of('state', { turn: id, seq: Type.Integer({ minimum: 1 }), last: Type.Boolean(), response: json }),
  /** The turn has failed: the agent has not taken it, or its result cannot be sent. */
  of('refused', { turn: id, reason: Type.String() }),
  of('cancel', { task: id }),
  of('card', { card: json }),
])
const Piece = Type.Object({
  a2a: Type.Literal(1),
  group: id,
  index: Type.Integer({ minimum: 0, maximum: MAX_PIECES - 1 }),
  count: Type.Integer({ minimum: 1, maximum: MAX_PIECES }),
  text: Type.String(),
})
export type Wire = Static<typeof Wire>
export type Piece = Static<typeof Piece>

/** @throws RequestMalformedError if it is too large. */
export function encodeWire(wire: Wire): Piece[] {
  const text = JSON.stringify(wire)
  const packed = text.length > MAX_BYTES ? undefined : deflateRawSync(text)
  const count = Math.ceil((packed?.length ?? 0) / PIECE_BYTES)
  if (packed === undefined || count > MAX_PIECES)
    throw new RequestMalformedError({
      message: `too large: ${Math.ceil(text.length / 1024)} KiB. At most 1,024 KiB can be sent, and ${(MAX_PIECES * PIECE_BYTES) / 1024} KiB when compressed. Send files by URL`,
    })
  const group = createHash('sha256').update(packed).digest('base64url')
  return Array.from({ length: count }, (_, index) => {
    const part = packed.subarray(index * PIECE_BYTES, (index + 1) * PIECE_BYTES)
    return { a2a: 1, group, index, count, text: part.toString('base64') }
  })
}

/** How many units it costs to send the pieces. */
export function unitsOf(pieces: readonly Piece[]): number {
  return pieces.reduce((sum, { text }) => sum + Math.ceil((text.length + FRAME_BYTES) / 1024), 0)
}

/** @returns undefined for any other body. */
export function decodePiece(body: unknown): Piece | undefined {
  return Value.Check(Piece, body) && body.index < body.count ? body : undefined
}

/** @param texts the texts of all pieces, in order. */
export function joinPieces(texts: readonly string[]): Wire | undefined {
  try {
    const packed = Buffer.concat(texts.map((text) => Buffer.from(text, 'base64')))
    const value: unknown = JSON.parse(inflateRawSync(packed, { maxOutputLength: 4 * MAX_BYTES }).toString('utf8'))
    return Value.Check(Wire, value) ? value : undefined
  } catch {
    return undefined
  }
}
