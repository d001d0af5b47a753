// Runs the reference server: node test/reference/main.ts [--port 8080] [--authority messages.example] [--difficulty 18]
import { parseArgs } from 'node:util'
import { startReference } from './server.ts'

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    authority: { type: 'string', default: '' },
    difficulty: { type: 'string', default: '4' },
  },
})
const { port, authority, difficulty } = values
const reference = await startReference({ port: Number(port), authority, difficulty: Number(difficulty) })
console.log(`The reference server listens on ${reference.url}. Its authority is ${reference.authority}.`)
