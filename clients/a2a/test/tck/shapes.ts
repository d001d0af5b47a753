/** The objects of A2A 1.0 in their JSON form: their fields, and which of them must be there. */
import type { Json } from './bindings.ts'

type Check = (value: unknown, path: string) => string[]
interface Fields {
  /** A name with `!` is a required field. */
  readonly [name: string]: Check
}

const text: Check = (value, path) => (typeof value === 'string' ? [] : [`${path}: not a string`])
const flag: Check = (value, path) => (typeof value === 'boolean' ? [] : [`${path}: not a boolean`])
const count: Check = (value, path) => (Number.isInteger(value) ? [] : [`${path}: not an integer`])
const any: Check = () => []
const time: Check = (value, path) =>
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(String(value)) ? [] : [`${path}: not a time in UTC: ${value}`]

function oneOf(prefix: string, ...names: string[]): Check {
  return (value, path) => (names.some((name) => value === prefix + name) ? [] : [`${path}: ${JSON.stringify(value)}`])
}

function listOf(check: Check, least = 0): Check {
  return (value, path) => {
    if (!Array.isArray(value)) return [`${path}: not a list`]
    if (value.length < least) return [`${path}: empty`]
    return value.flatMap((item, at) => check(item, `${path}[${at}]`))
  }
}

function mapOf(check: Check): Check {
  return (value, path) =>
    isObject(value)
      ? Object.entries(value).flatMap(([name, item]) => check(item, `${path}.${name}`))
      : [`${path}: no object`]
}

/** No other fields are allowed, so a field of the wrong name is found. */
function object(fields: Fields): Check {
  const checks = new Map(Object.entries(fields).map(([name, check]) => [name.replace('!', ''), check]))
  const required = Object.keys(fields).flatMap((name) => (name.endsWith('!') ? [name.slice(0, -1)] : []))
  return (value, path) => {
    if (!isObject(value)) return [`${path}: no object`]
    const missing = required.filter((name) => !(name in value)).map((name) => `${path}.${name}: missing`)
    const found = Object.entries(value).flatMap(([name, item]) =>
      (checks.get(name) ?? unknownField)(item, `${path}.${name}`),
    )
    return [...missing, ...found]
  }
}

const unknownField: Check = (_, path) => [`${path}: unknown field`]

/** Exactly one of these fields, beside common ones. */
function choice(cases: Fields, common: Fields = {}): Check {
  const fields = object({ ...cases, ...common })
  return (value, path) => {
    const chosen = isObject(value) ? Object.keys(cases).filter((name) => name in value) : []
    return chosen.length === 1 ? fields(value, path) : [`${path}: has ${chosen.length} of ${Object.keys(cases)}`]
  }
}

const part = choice({ text, raw: text, url: text, data: any }, { metadata: any, filename: text, mediaType: text })
const message = object({
  'messageId!': text,
  contextId: text,
  taskId: text,
  'role!': oneOf('ROLE_', 'USER', 'AGENT'),
  'parts!': listOf(part, 1),
  metadata: any,
  extensions: listOf(text),
  referenceTaskIds: listOf(text),
})
const status = object({
  'state!': oneOf(
    'TASK_STATE_',
    ...['SUBMITTED', 'WORKING', 'COMPLETED', 'FAILED', 'CANCELED', 'INPUT_REQUIRED', 'REJECTED', 'AUTH_REQUIRED'],
  ),
  message,
  timestamp: time,
})
const artifact = object({
  'artifactId!': text,
  name: text,
  description: text,
  'parts!': listOf(part, 1),
  metadata: any,
  extensions: listOf(text),
})
const task = object({
  'id!': text,
  contextId: text,
  'status!': status,
  artifacts: listOf(artifact),
  history: listOf(message),
  metadata: any,
})
const security = listOf(object({ schemes: mapOf(object({ list: listOf(text) })) }))
const agentInterface = object({ 'url!': text, 'protocolBinding!': text, tenant: text, 'protocolVersion!': text })

const SHAPES = {
  Task: task,
  AgentInterface: agentInterface,
  SendMessageResponse: choice({ task, message }),
  StreamResponse: choice({
    task,
    message,
    statusUpdate: object({ 'taskId!': text, 'contextId!': text, 'status!': status, metadata: any }),
    artifactUpdate: object({
      'taskId!': text,
      'contextId!': text,
      'artifact!': artifact,
      append: flag,
      lastChunk: flag,
      metadata: any,
    }),
  }),
  ListTasksResponse: object({
    'tasks!': listOf(task),
    'nextPageToken!': text,
    'pageSize!': count,
    'totalSize!': count,
  }),
  TaskPushNotificationConfig: object({
    tenant: text,
    id: text,
    taskId: text,
    'url!': text,
    token: text,
    authentication: object({ 'scheme!': text, credentials: text }),
  }),
  AgentCard: object({
    'name!': text,
    'description!': text,
    'supportedInterfaces!': listOf(agentInterface, 1),
    provider: object({ 'url!': text, 'organization!': text }),
    'version!': text,
    documentationUrl: text,
    'capabilities!': object({ streaming: flag, pushNotifications: flag, extendedAgentCard: flag, extensions: any }),
    securitySchemes: mapOf(
      choice({
        apiKeySecurityScheme: any,
        httpAuthSecurityScheme: object({ 'scheme!': text, bearerFormat: text, description: text }),
        oauth2SecurityScheme: any,
        openIdConnectSecurityScheme: any,
        mtlsSecurityScheme: any,
      }),
    ),
    securityRequirements: security,
    'defaultInputModes!': listOf(text),
    'defaultOutputModes!': listOf(text),
    'skills!': listOf(
      object({
        'id!': text,
        'name!': text,
        'description!': text,
        'tags!': listOf(text),
        examples: listOf(text),
        inputModes: listOf(text),
        outputModes: listOf(text),
        securityRequirements: security,
      }),
    ),
    signatures: any,
    iconUrl: text,
  }),
} as const

/** @returns what is wrong with the value; an empty list if nothing is. */
export function misfits(shape: keyof typeof SHAPES, value: unknown): string[] {
  return SHAPES[shape](value, shape)
}

/** The names of all fields, at any depth. */
export function fieldNames(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(fieldNames)
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([name, item]) => [name, ...fieldNames(item)])
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
