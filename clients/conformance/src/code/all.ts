/** The cases that are code, because data cannot say what they do. */
import type { Case } from '../cases/case.ts'
import { CONCURRENCY } from './events/concurrency.ts'
import { SCENARIO } from './events/scenario.ts'
import { DELIVERIES } from './webhooks/deliveries.ts'

export const CODE_CASES: readonly Case[] = [...CONCURRENCY, SCENARIO, ...DELIVERIES]
