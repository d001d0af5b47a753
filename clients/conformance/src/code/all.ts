/** The cases that are code, because data cannot say what they do. */
import type { Case } from '../cases/case.ts'
import { BUDGET_CASES } from './agents/budget.ts'
import { REGISTRATION_CASES } from './agents/registration.ts'
import { BOARD_CONCURRENCY } from './boards/concurrency.ts'
import { CROWD_CASES } from './boards/crowd.ts'
import { SCENARIO } from './events/scenario.ts'
import { STREAMS } from './events/streams.ts'
import { JSON_BODIES } from './formats/json.ts'
import { ORDER_OF_FAULTS } from './messages/order-of-faults.ts'
import { READERS } from './messages/readers.ts'
import { SHUTTING } from './messages/shutting.ts'
import { DESCRIPTION } from './operations/description.ts'
import { FRAMING } from './requests/framing.ts'
import { PAGES } from './requests/pages.ts'
import { RATES } from './requests/rates.ts'
import { VERDICTS } from './requests/verdicts.ts'
import { DELIVERIES } from './webhooks/deliveries.ts'

export const CODE_CASES: readonly Case[] = [
  ...BUDGET_CASES,
  ...REGISTRATION_CASES,
  ...BOARD_CONCURRENCY,
  ...CROWD_CASES,
  SCENARIO,
  ...STREAMS,
  ...JSON_BODIES,
  ORDER_OF_FAULTS,
  READERS,
  ...SHUTTING,
  DESCRIPTION,
  ...FRAMING,
  PAGES,
  ...RATES,
  ...VERDICTS,
  ...DELIVERIES,
]
