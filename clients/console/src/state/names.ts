/** The name that a person means by a typed text. Names have no capital letters and no spaces (spec 2.8). */
export function nameFrom(typed: string): string {
  return typed.toLowerCase().replaceAll(/\s+/g, '-')
}
