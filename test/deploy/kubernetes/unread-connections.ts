/**
 * `node unread-connections.ts <count>`: a server writes without end to clients. They read at first, so that the kernel's buffers grow,
 * and then stop reading. Prints how many bytes the kernel holds for the server. Needs a network of its own (socket-buffers.test.ts).
 */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

const READ_BYTES = 4 * 1024 * 1024
const CHUNK = Buffer.alloc(64 * 1024)
const SETTLED_MS = 200

const server = createServer((socket) => {
  socket.on('error', () => {})
  const write = (): void => {
    while (socket.writable && socket.write(CHUNK));
  }
  socket.on('drain', write)
  write()
}).listen(0, '127.0.0.1')
await once(server, 'listening')
const { port } = server.address() as AddressInfo

const clients: Socket[] = []
for (let at = 0; at < Number(process.argv[2]); at += 1) {
  const client = connect(port, '127.0.0.1')
  clients.push(client)
  while (client.bytesRead < READ_BYTES) await once(client, 'data')
  client.pause()
}
let [held, before] = [bytesHeld(), -1]
while (held !== before) {
  await sleep(SETTLED_MS)
  before = held
  held = bytesHeld()
}
console.log(held)
process.exit()

/** What the buffers of the server's connections count as memory: received (`r`), and written but not acknowledged (`w`). */
function bytesHeld(): number {
  const text = execFileSync('ss', ['-Htnmo', 'state', 'established', `( sport = :${port} )`], { encoding: 'utf8' })
  const sizes = [...text.matchAll(/skmem:\(r(\d+),.*?,w(\d+),/g)]
  return sizes.reduce((sum, [, received, written]) => sum + Number(received) + Number(written), 0)
}
