/** Draws a person's attention to the page: by the count in its title, and by notifications if the person has turned them on. */
import { computed, effect, signal } from '@preact/signals'
import type { Event } from '@svc/contracts/resources.ts'
import { strings } from '../strings.ts'
import { labelOf } from './agent/people.ts'
import type { Workspace } from './agent/workspace.ts'
import { unreadPosts } from './boards/unread-posts.ts'
import { inPassing } from './failures.ts'
import { excerptOf } from './mail/excerpt.ts'
import { unreadIn } from './mail/unread-in.ts'
import { goTo, route } from './route.ts'
import { workspace } from './session.ts'

const RECORD = 'notifications'

export const wantsNotifications = signal(false)

const unreadCount = computed(() => {
  const shown = workspace.value
  if (shown === undefined) return ''
  const count = unreadIn('inbox', shown) + unreadIn('requests', shown) + unreadPosts(shown)
  return count === 0 ? '' : strings.count(count, shown.history.knowsUnread)
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
    return shown.onArrival((event) => inPassing(announce(shown, event)))
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
async function announce(shown: Workspace, { kind, message }: Event): Promise<void> {
  const { from, to, id } = message.envelope
  if (!wantsNotifications.value || document.visibilityState === 'visible' || shown.people.isOwn(from)) return
  const boardId = to.slice('board:'.length)
  const title =
    kind === 'board'
      ? strings.boards.newPost(await titleOf(shown, boardId))
      : strings.settings[kind === 'inbox' ? 'newMessage' : 'newRequest'](labelOf(shown.people, from))
  const notification = new Notification(title, { tag: id })
  notification.onclick = () => {
    window.focus()
    // Another agent may be shown by now.
    if (workspace.peek() === shown) goTo(kind === 'board' ? 'boards' : kind, kind === 'board' ? boardId : id)
  }
}

/** The title without characters that could hide what it says. Undefined if the board cannot be read. */
async function titleOf({ boards }: Workspace, id: string): Promise<string | undefined> {
  const board = boards.find(id) ?? (await boards.read(id).catch(() => undefined))
  return board && excerptOf(board.title)
}
