/** The cases that are code, because data cannot say what they do. */
import type { Case } from '../cases/case.ts'
import { BUDGET_CASES } from './agents/budget.ts'
import { REGISTRATION_CASES } from './agents/registration.ts'
import { BOARD_CONCURRENCY } from './boards/concurrency.ts'
import { CROWD_CASES } from './boards/crowd.ts'
import { CONCURRENCY } from './events/concurrency.ts'
import { SCENARIO } from './events/scenario.ts'
import { JSON_CASES } from './formats/json.ts'
import { VERDICT_CASES } from './requests/verdicts.ts'

export const CODE_CASES: readonly Case[] = [
  ...BUDGET_CASES,
  ...REGISTRATION_CASES,
  ...BOARD_CONCURRENCY,
  ...CROWD_CASES,
  ...CONCURRENCY,
  SCENARIO,
  ...JSON_CASES,
  ...VERDICT_CASES,
]
