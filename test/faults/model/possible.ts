/** The possible values: `[true, false]` if the value is unknown. */
export const MAYBE: readonly boolean[] = [true, false]
export const YES: readonly boolean[] = [true]
export const NO: readonly boolean[] = [false]

/**
 * @param certain whether the value is certainly true.
 * @param possible whether the value may be true.
 */
export function trilean(certain: boolean, possible: boolean): readonly boolean[] {
  if (certain) return YES
  return possible ? MAYBE : NO
}

type Sets<State> = { readonly [Name in keyof State]: Iterable<State[Name]> }

/** Every combination of the possible values of the members. */
export function* statesOf<State extends object>(sets: Sets<State>): Generator<State> {
  const names = Object.keys(sets) as (keyof State)[]
  yield* complete<State>(names, sets, {})
}

function* complete<State extends object>(
  [name, ...rest]: (keyof State)[],
  sets: Sets<State>,
  begun: Partial<State>,
): Generator<State> {
  if (name === undefined) {
    yield begun as State
    return
  }
  for (const value of sets[name]) yield* complete(rest, sets, { ...begun, [name]: value })
}
