import { testProfile } from './profile.ts'

testProfile('large', {
  env: { SVC_DAILY_FREE_UNITS: '100000', SVC_DAILY_HARD_LIMIT: '100000', SVC_DAILY_INTRODUCTIONS: '1000' },
})
