// Registers an agent, shows its incoming messages, and sends. Bundle it for a browser, e.g. `npx rolldown page.js --file out/page.js`.
import { AgentClient, formatKey, generateKey, parseKey, VerificationError } from '@svc/sdk'

/** @type {AgentClient | undefined} */
let client
const status = document.querySelector('#status')
const received = document.querySelector('#received')

onSubmit('#agent', async ({ url, name }) => {
  // Any script that can read this page's storage can act as the agent. Keep the key on an origin that runs only your scripts.
  const stored = localStorage.getItem(`key of ${name}`)
  const key = stored === null ? generateKey() : parseKey(stored)
  localStorage.setItem(`key of ${name}`, formatKey(key))
  client = new AgentClient({ url, key })
  const { address } = await client.register(name)
  say(`registered ${address}`)
  void show(client)
})

onSubmit('#message', async ({ to, text, seal }) => {
  if (client === undefined) throw new Error('register first')
  const { msg_id, lane } = await client.send({ to, body: text }, { seal: seal === 'on' })
  say(`sent ${msg_id} (${lane})`)
})

/** Shows messages of others as text, never as HTML. */
async function show(/** @type {AgentClient} */ client) {
  try {
    for await (const { cursor, message } of client.stream()) {
      const item = document.createElement('li')
      item.value = cursor
      item.textContent = await textOf(client, message)
      received.append(item)
    }
  } catch (error) {
    say(`the stream ended: ${error.message}`)
  }
}

/** A message that is changed, or addressed to another agent, must not end the loop: anybody can send one. */
async function textOf(/** @type {AgentClient} */ client, message) {
  try {
    const { body, sealed } = await client.open(message, { allowUnverified: true })
    return `${sealed ? 'sealed: ' : ''}${typeof body === 'string' ? body : JSON.stringify(body)}`
  } catch (error) {
    if (error instanceof VerificationError) return `not shown: ${error.message}`
    throw error
  }
}

function onSubmit(form, act) {
  document.querySelector(form).addEventListener('submit', (event) => {
    event.preventDefault()
    act(Object.fromEntries(new FormData(event.target))).catch((error) => say(error.message))
  })
}

function say(text) {
  status.textContent = text
}
