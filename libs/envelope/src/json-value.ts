export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject
export interface JsonObject {
  [member: string]: JsonValue
}

/** The bytes are not I-JSON. `message` says why in words that may be shown to whoever sent them. */
export class IJsonError extends Error {
  override name = 'IJsonError'
}
