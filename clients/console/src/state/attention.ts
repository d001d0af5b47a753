/** Draws a person's attention to the page: by the count in its title, and by notifications if the person has turned them on. */
import { computed, effect, signal } from '@preact/signals'
import type { Event } from '@svc/contracts/resources.ts'
import { strings } from '../strings.ts'
import { labelOf } from './agent/people.ts'
import type { Workspace } from './agent/workspace.ts'
import { isUnwanted } from './mail/ignored.ts'
import { isUnread } from './mail/unread.ts'
import { route } from './route.ts'
import { workspace } from './session.ts'

const RECORD = 'notifications'

export const wantsNotifications = signal(false)

export function unreadIn(lane: 'inbox' | 'requests', shown: Workspace): number {
  const { mailbox, unread } = shown
  const place = unread.place.value
  return mailbox[lane].value.filter(({ cursor, message }) => {
    return isUnread(place, cursor) && (lane === 'inbox' || !isUnwanted(message, shown))
  }).length
}

const unreadCount = computed(() => {
  const shown = workspace.value
  return shown === undefined ? 0 : unreadIn('inbox', shown) + unreadIn('requests', shown)
})

export function followAttention(): void {
  effect(() => {
    const { page } = route.value
    document.title = strings.title(strings.pages[page], workspace.value?.context.name.value, unreadCount.value)
  })
  effect(() => {
    const shown = workspace.value
    wantsNotifications.value = false
    if (shown === undefined) return
    void shown.context.store.preferences.get(RECORD).then((wanted) => {
      wantsNotifications.value = wanted === true && Notification.permission === 'granted'
    })
    return shown.onArrival((event) => announce(shown, event))
  })
}

/** @returns whether the browser allows it. */
export async function setNotifications(wanted: boolean): Promise<boolean> {
  const isAllowed = !wanted || (await tryNotification())
  wantsNotifications.value = wanted && isAllowed
  await workspace.value?.context.store.preferences.put(RECORD, wantsNotifications.value)
  return isAllowed
}

/** Phone browsers have no notifications of pages, or refuse to make one even though the person has allowed it. */
async function tryNotification(): Promise<boolean> {
  try {
    if ((await Notification.requestPermission()) !== 'granted') return false
    new Notification(strings.settings.notificationsOn)
    return true
  } catch {
    return false
  }
}

/** The text of a message is not shown, because notifications are kept outside the browser. */
function announce({ people }: Workspace, { kind, message }: Event): void {
  const { from, id } = message.envelope
  if (!wantsNotifications.value || document.visibilityState === 'visible' || kind === 'board' || people.isOwn(from))
    return
  const name = labelOf(people, from)
  const title = kind === 'inbox' ? strings.settings.newMessage(name) : strings.settings.newRequest(name)
  const shown = new Notification(title, { tag: id })
  shown.onclick = () => window.focus()
}
