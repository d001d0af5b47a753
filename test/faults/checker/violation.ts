/** Something that the specification does not allow. */
export interface Violation {
  /** With its source: `durability`. */
  readonly rule: string
  readonly text: string
}
