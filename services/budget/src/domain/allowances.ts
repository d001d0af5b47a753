/** The allowances of every agent for each UTC day, set by the operator. */
export interface Allowances {
  freeUnits: number
  /** Maximum number of units per day; credits cannot raise it. */
  hardLimit: number
  introductions: number
}
