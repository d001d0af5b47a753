/** Something that the specification does not allow. */
export interface Violation {
  /** The name of the check that found it, such as `durability`. */
  readonly rule: string
  readonly text: string
}
