import type { InboxPolicy, Settings } from '@svc/contracts/resources.ts'
import { describe, expect, test } from 'vitest'
import { applySettings, settingsPrice } from './settings.ts'

const POLICIES: InboxPolicy[] = ['requests', 'open', 'contacts', 'closed']
const DISCOVERABLE = [true, false]

describe('spec 5.10, 11.2: a PATCH costs 1 unit if it changes anything besides closing the inbox', () => {
  const rows = POLICIES.flatMap((from) =>
    DISCOVERABLE.flatMap((shown) =>
      [...POLICIES, undefined].flatMap((to) =>
        [...DISCOVERABLE, undefined].map((show) => {
          const policyChanges = to !== undefined && to !== from
          const listingChanges = show !== undefined && show !== shown
          const price = listingChanges ? 1 : !policyChanges ? 'nothing' : to === 'closed' ? 0 : 1
          return { from, shown, to, show, price }
        }),
      ),
    ),
  )

  test.each(rows)('$from/$shown to $to/$show: $price', ({ from, shown, to, show, price }) => {
    const before = { inbox_policy: from, discoverable: shown }
    const settings: Settings = {
      ...(to === undefined ? {} : { inbox_policy: to }),
      ...(show === undefined ? {} : { discoverable: show }),
    }
    const after = applySettings(before, settings)
    expect(after).toEqual({ inbox_policy: to ?? from, discoverable: show ?? shown })
    expect(settingsPrice(before, after)).toBe(price)
  })

  test('spec 11.2: closing alone is free, also if the PATCH repeats other settings', () => {
    const before = { inbox_policy: 'open', discoverable: true } as const
    expect(settingsPrice(before, applySettings(before, { inbox_policy: 'closed', discoverable: true }))).toBe(0)
  })
})
