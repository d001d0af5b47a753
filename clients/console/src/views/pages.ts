/** The pages of an open agent. */
import type { FunctionComponent } from 'preact'
import type { Page } from '../state/route.ts'
import { BoardsPage } from './boards/boards-page.tsx'
import { InboxPage, RequestsPage } from './mail/list/mail-page.tsx'
import { DraftsPage } from './mail/write/drafts-page.tsx'
import { WritePage } from './mail/write/write-page.tsx'
import { ContactsPage } from './settings/contacts-page.tsx'
import { SettingsPage } from './settings/settings-page.tsx'

export const PAGES: Readonly<Record<Page, FunctionComponent>> = {
  inbox: InboxPage,
  requests: RequestsPage,
  drafts: DraftsPage,
  write: WritePage,
  boards: BoardsPage,
  contacts: ContactsPage,
  settings: SettingsPage,
}
