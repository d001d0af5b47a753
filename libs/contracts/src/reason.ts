import { Type } from '@sinclair/typebox'

/** Why an operator changes something, in one line. Every change needs it; a dry run does not. */
export const Reason = Type.String({ minLength: 1, maxLength: 500, pattern: '^[^\\u0000-\\u001f\\u007f]*$' })
