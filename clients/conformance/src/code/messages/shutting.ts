/** A recipient that shuts somebody out while messages arrive. */
import type { Case } from '../../cases/case.ts'
import { answered, check, got } from '../../cases/check.ts'
import { outcomeOf } from '../../cases/outcome.ts'
import { readPages } from '../../cases/pages.ts'
import type { Agent } from '../../http/agent.ts'

const WORKERS = 8
/** Within the free units of a day, because each message costs one. */
const MOST = 80
const BEFORE = 15
const AFTER_EACH = 4

interface Shutting {
  readonly name: string
  readonly refusal: string
  readonly shut: (recipient: Agent, sender: Agent) => ReturnType<Agent['call']>
}

const SHUTTINGS: readonly Shutting[] = [
  {
    name: 'a block',
    refusal: '403 admission_denied',
    shut: (recipient, sender) => recipient.put(`/v2/contacts/${sender.id}`, { state: 'blocked' }),
  },
  {
    name: 'closing the inbox',
    refusal: '403 admission_denied',
    shut: (recipient) => recipient.patch('/v2/me', { inbox_policy: 'closed' }),
  },
  {
    name: 'revocation',
    refusal: '404 recipient_unavailable',
    shut: (recipient) => recipient.post('/v2/me/revoke', { confirm_agent_id: recipient.id }),
  },
]

export const SHUTTING: readonly Case[] = SHUTTINGS.map(({ name, refusal, shut }) => ({
  id: `messages/shutting/${name.replaceAll(' ', '-')}`,
  title: `Admission while messages arrive: once the answer is there, no more messages get in (${name})`,
  spec: name === 'revocation' ? ['7.6', '5.11'] : ['7.6'],
  needs: [],
  agents: 2,
  async run(world) {
    const [sender, recipient] = await Promise.all([world.agent(), world.agent()])
    await got(recipient.patch('/v2/me', { inbox_policy: 'open' }))
    const accepted: string[] = []
    const enough = Promise.withResolvers<void>()
    const isShut = Promise.withResolvers<void>()
    let shutAnswered = false
    /** A message that was on its way may get in or not. */
    const send = async (gateway: number): Promise<string> => {
      const envelope = sender.envelope(recipient)
      const answer = await answered(() => sender.post('/v2/messages', envelope, { gateway: gateway + 1 }))
      const outcome = outcomeOf(answer).replace('200', '202')
      check(outcome, { $one_of: ['202', refusal] }, 'the answer')
      if (outcome === '202') accepted.push(envelope.id)
      if (accepted.length >= BEFORE) enough.resolve()
      return outcome
    }
    const flooding = Array.from({ length: WORKERS }, async (_, worker) => {
      for (let begun = 0; begun < MOST / WORKERS && !shutAnswered; begun += 1) await send(worker)
      await isShut.promise
      for (let late = 0; late < AFTER_EACH; late += 1) check(await send(worker), refusal, `a message after ${name}`)
    })
    const flood = Promise.all(flooding)
    await Promise.race([enough.promise, flood])
    await got(answered(() => shut(recipient, sender)))
    // The sender's export also shows what it has got no answer for yet.
    const exported = readPages(sender, '/v2/export?limit=100')
    shutAnswered = true
    isShut.resolve()
    const { ids } = await exported
    await flood
    check(ids.toSorted(), accepted.toSorted(), 'the messages that are there after the answer')
    check((await readPages(sender, '/v2/export?limit=100')).ids, ids, 'the messages that are there at the end')
  },
}))
