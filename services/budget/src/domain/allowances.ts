/** What every agent gets for each UTC day; the operator's to choose. */
export interface Allowances {
  freeUnits: number
  /** No credits pay for more than this. */
  hardLimit: number
  introductions: number
}
