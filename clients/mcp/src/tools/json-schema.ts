import type { JsonSchemaType, StandardSchemaWithJSON } from '@modelcontextprotocol/server'
import { type TProperties, Type } from '@sinclair/typebox'
import { AnswerError } from '@svc/sdk/errors.ts'

/** The schema of a closed object. It is plain JSON, because a client in this process gets this very object, not a copy. */
export function jsonSchema(properties: TProperties): JsonSchemaType {
  return JSON.parse(JSON.stringify(Type.Object(properties, { additionalProperties: false }))) as JsonSchemaType
}

/** Checks a result before a client sees it. @throws AnswerError if it does not fit the schema, without the value. */
export async function assertFits(schema: StandardSchemaWithJSON, value: unknown): Promise<void> {
  const { issues } = await schema['~standard'].validate(value)
  if (issues !== undefined) throw new AnswerError('the answer of the service does not fit its contract')
}
