/** The cases that are code, because data cannot say what they do. */
import type { Case } from '../cases/case.ts'
import { JSON_CASES } from './formats/json.ts'
import { DESCRIPTION_CASES } from './operations/description.ts'
import { STREAM_CASES } from './operations/streams.ts'
import { FRAMING_CASES } from './requests/framing.ts'
import { RATE_CASES } from './requests/rates.ts'
import { VERDICT_CASES } from './requests/verdicts.ts'

export const CODE_CASES: readonly Case[] = [
  ...JSON_CASES,
  ...DESCRIPTION_CASES,
  ...STREAM_CASES,
  ...FRAMING_CASES,
  ...RATE_CASES,
  ...VERDICT_CASES,
]
