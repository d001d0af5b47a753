export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject
export interface JsonObject {
  [member: string]: JsonValue
}

/** The bytes are not I-JSON. `message` gives the reason, and may be shown to the sender. */
export class IJsonError extends Error {
  override name = 'IJsonError'
}
