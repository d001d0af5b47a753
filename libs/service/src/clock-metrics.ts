import { defineLevel } from '@svc/telemetry/metrics.ts'

export const databaseClockOffset = defineLevel({
  name: 'agentmsg_database_clock_offset_seconds',
  help: 'How far the clock of the database is ahead of the clock of this process',
  labels: [],
})
