/** The cases that are code, because data cannot say what they do. */
import type { Case } from '../cases/case.ts'
import { CONCURRENCY } from './events/concurrency.ts'
import { SCENARIO } from './events/scenario.ts'
import { JSON_CASES } from './formats/json.ts'
import { ORDER_OF_FAULTS } from './messages/order-of-faults.ts'
import { READERS } from './messages/readers.ts'
import { SHUTTING } from './messages/shutting.ts'
import { VERDICT_CASES } from './requests/verdicts.ts'

export const CODE_CASES: readonly Case[] = [
  ORDER_OF_FAULTS,
  READERS,
  ...SHUTTING,
  ...CONCURRENCY,
  SCENARIO,
  ...JSON_CASES,
  ...VERDICT_CASES,
]
