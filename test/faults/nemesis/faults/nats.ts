/** Faults of the NATS server. */
import type { Fault } from '../fault.ts'

export const killNats: Fault = {
  name: 'kill-nats',
  target: 'nats',
  holdMs: [0, 2_000],
  async inject({ nats }) {
    await nats.kill()
    return { detail: 'nats', heal: () => nats.start() }
  },
}

export const restartNats: Fault = {
  name: 'restart-nats',
  target: 'nats',
  holdMs: [0, 500],
  async inject({ nats }) {
    await nats.stop()
    return { detail: 'nats', heal: () => nats.start() }
  },
}

export const pauseNats: Fault = {
  name: 'pause-nats',
  target: 'nats',
  holdMs: [300, 7_000],
  async inject({ nats, signal }) {
    const pids = nats.pids()
    for (const pid of pids) signal(pid, 'SIGSTOP')
    return {
      detail: 'nats',
      async heal() {
        for (const pid of pids) signal(pid, 'SIGCONT')
      },
    }
  },
}

/** Kills NATS and deletes everything it had stored: streams, consumers and acknowledged messages. */
export const wipeNats: Fault = {
  name: 'wipe-nats',
  target: 'nats',
  holdMs: [0, 1_000],
  async inject({ nats }) {
    await nats.kill()
    return { detail: 'nats', heal: () => nats.start({ wipe: true }) }
  },
}
