import { testProfile } from './profile.ts'

/** The default rates of spec 3.15. */
testProfile('rates', {
  env: {
    SVC_RATE_PER_SECOND: '100',
    SVC_RATE_BURST: '200',
    SVC_REGISTRATION_RATE_PER_SECOND: '1',
    SVC_REGISTRATION_RATE_BURST: '30',
  },
})
