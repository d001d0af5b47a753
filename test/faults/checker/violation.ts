/** Something that the specification does not allow. */
export interface Violation {
  /** With its source: `durability (issue 5, 3)`. */
  readonly rule: string
  readonly text: string
}
