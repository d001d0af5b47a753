import { fromJsonSchema, type JsonSchemaType, type StandardSchemaWithJSON } from '@modelcontextprotocol/server'
import { type TProperties, Type } from '@sinclair/typebox'
import { AnswerError } from '@svc/sdk/errors.ts'

/** The schema of a closed object. It is plain JSON, because a client in this process gets this very object, not a copy. */
export function jsonSchema(properties: TProperties): JsonSchemaType {
  return JSON.parse(JSON.stringify(Type.Object(properties, { additionalProperties: false }))) as JsonSchemaType
}

/**
 * The schema as a check that is compiled when it is first used. To compile the schemas of all tools takes most of the time of a start,
 * and a conversation uses few of them.
 */
export function checkOf<T>(schema: JsonSchemaType): StandardSchemaWithJSON<T, T> {
  let compiled: StandardSchemaWithJSON<T, T>['~standard'] | undefined
  return {
    '~standard': {
      version: 1,
      vendor: 'svc',
      jsonSchema: { input: () => schema, output: () => schema },
      validate(value, options) {
        compiled ??= fromJsonSchema<T>(schema)['~standard']
        return compiled.validate(value, options)
      },
    },
  }
}

/** Checks a result before a client sees it. @throws AnswerError if it does not fit the schema, without the value. */
export async function assertFits(schema: StandardSchemaWithJSON, value: unknown): Promise<void> {
  const { issues } = await schema['~standard'].validate(value)
  if (issues !== undefined) throw new AnswerError('the answer of the service does not fit its contract')
}
