/** A file of the repository, as the checks read it. */
export interface SourceFile {
  /** Path from the root of the repository. */
  readonly path: string
  readonly text: string
}
