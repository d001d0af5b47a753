/** The cases that are code, because data cannot say what they do. */
import type { Case } from '../cases/case.ts'

export const CODE_CASES: readonly Case[] = []
