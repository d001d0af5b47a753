import type { JSX } from 'preact'
import type { Opened, Trust } from '../../state/mail/opening.ts'
import { strings } from '../../strings.ts'
import { Icon, type IconName } from './icon.tsx'

type Tone = 'good' | 'plain' | 'bad'

interface BadgeText {
  readonly text: string
  readonly hint: string
  readonly icon: IconName
  readonly tone: Tone
}

const { badges } = strings
const TRUST: Record<Trust, BadgeText> = {
  pinned: { text: badges.pinned, hint: badges.pinnedHint, icon: 'pin', tone: 'good' },
  directory: { text: badges.directory, hint: badges.directoryHint, icon: 'check', tone: 'good' },
  self: { text: badges.self, hint: badges.selfHint, icon: 'pen', tone: 'plain' },
  none: { text: badges.none, hint: badges.noneHint, icon: 'question', tone: 'plain' },
}
const ELSEWHERE: BadgeText = { text: badges.elsewhere, hint: strings.mail.textElsewhere, icon: 'pen', tone: 'plain' }

/** Badges stand outside the box of the text, so a text cannot imitate them. */
export function TrustBadge({ opened }: { opened: Opened | undefined }): JSX.Element {
  if (opened === undefined) return <span class="badge plain">{badges.checking}</span>
  return <Badge {...textOf(opened)} />
}

export function SealBadge({ isSealed }: { isSealed: boolean }): JSX.Element {
  return isSealed ? (
    <Badge text={badges.sealed} hint={badges.sealedHint} icon="lock" tone="plain" />
  ) : (
    <Badge text={badges.signed} hint={badges.signedHint} icon="pen" tone="plain" />
  )
}

/** The badge without its words, for rows of a list. Its text is read out. */
export function TrustMark({ opened }: { opened: Opened | undefined }): JSX.Element {
  if (opened === undefined) return <span class="mark" />
  const { text, icon, tone } = textOf(opened)
  return (
    <span class={`mark ${tone}`} title={text}>
      <Icon name={icon} />
      <span class="hidden-text">{text}</span>
    </span>
  )
}

function Badge({ text, hint, icon, tone }: BadgeText): JSX.Element {
  return (
    <span class={`badge ${tone}`} title={hint}>
      <Icon name={icon} />
      {text}
    </span>
  )
}

function textOf(opened: Opened): BadgeText {
  if (opened.kind === 'elsewhere') return ELSEWHERE
  if (opened.kind === 'failed') return { ...badges.refusals[opened.reason], icon: 'warning', tone: 'bad' }
  return TRUST[opened.trust]
}
