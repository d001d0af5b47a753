import { testProfile } from './profile.ts'

testProfile('default')
