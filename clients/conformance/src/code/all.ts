/** The cases that are code, because data cannot say what they do. */
import type { Case } from '../cases/case.ts'
import { SCENARIO } from './events/scenario.ts'
import { STREAMS } from './events/streams.ts'
import { DELIVERIES } from './webhooks/deliveries.ts'

export const CODE_CASES: readonly Case[] = [SCENARIO, ...STREAMS, ...DELIVERIES]
