import { Type } from '@sinclair/typebox'
import { type Call, defineCall } from './define.ts'
import { closed } from './resources.ts'

/** Asks one process of a service whether it is ready: its database answers and its loops run (spec 5.2). */
export function healthOf(service: string): Call<Record<never, never>, { ready: boolean }> {
  return defineCall({ subject: `svc.${service}.health`, request: closed({}), reply: closed({ ready: Type.Boolean() }) })
}
