// Runs the reference server: node test/reference/main.ts [--port 8080] [--options '{"difficulty":18}']
import { parseArgs } from 'node:util'
import { startReference } from './server.ts'

const { values } = parseArgs({
  options: { port: { type: 'string', default: '0' }, options: { type: 'string', default: '{}' } },
})
const reference = await startReference({ port: Number(values.port), ...JSON.parse(values.options) })
console.log(`The reference server listens on ${reference.url}. Its authority is ${reference.authority}.`)
