import { testProfile } from './profile.ts'

const RETENTION_SECONDS = 30

testProfile(
  'small',
  {
    env: {
      SVC_DAILY_FREE_UNITS: '10',
      SVC_DAILY_HARD_LIMIT: '20',
      SVC_DAILY_INTRODUCTIONS: '5',
      SVC_RETENTION_DAYS: String(RETENTION_SECONDS / 86_400),
      SVC_STREAM_MAX_SECONDS: '5',
    },
  },
  RETENTION_SECONDS,
)
